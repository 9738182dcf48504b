"""Blocks of the wire as the model gets to see them: as text, or as the list of blocks that TRL takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from orl_codegen.errors import printable

Images = Literal["pil", "placeholder", "drop"]

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # what may be decoded: an environment chooses the bytes
PLACEHOLDER = "[image]"


class Blocks(list[dict[str, Any]]):
    """TRL's content blocks. `AsyncGRPOTrainer` passes everything through `str()`, which gives the text alone."""

    def __str__(self) -> str:
        return joined(block["text"] if block["type"] == "text" else PLACEHOLDER for block in self)


def rendered(blocks: Sequence[dict[str, Any]], images: Images) -> str | Blocks:
    """Blocks of the wire as a tool result or a prompt: text where no block is a picture.

    Args:
        blocks: `{"type": "text", "text": ...}` and `{"type": "image", "data": base64, "mimeType": ...}`; others are
            passed over, as the SDK's client does.
        images: What to make of an image: a PIL image in a list of blocks, a line of text, or nothing.
    """
    parts = [part for block in blocks for part in _part(block, images)]
    if all(part["type"] == "text" for part in parts):
        return joined(part["text"] for part in parts)
    return Blocks(parts)


def text_of(blocks: Iterable[dict[str, Any]]) -> str:
    """The text blocks, joined by line breaks."""
    return joined(block["text"] for block in blocks if isinstance(block.get("text"), str))


def joined(texts: Iterable[str]) -> str:
    """Texts that are not empty, joined by line breaks."""
    return "\n".join(text for text in texts if text)


def _part(block: dict[str, Any], images: Images) -> list[dict[str, Any]]:
    if block.get("type") == "text":
        return [{"type": "text", "text": str(block.get("text") or "")}]
    if block.get("type") != "image" or images == "drop":
        return []
    if images == "placeholder":
        return [{"type": "text", "text": f"[image: {printable(block.get('mimeType'), 40)}]"}]
    return [decoded(block)]


def decoded(block: dict[str, Any]) -> dict[str, Any]:
    """An image block with its image as a PIL image, or a text block that says why there is none."""
    import base64
    import io

    from PIL import Image

    try:
        with Image.open(io.BytesIO(base64.b64decode(block["data"])), formats=FORMATS) as image:
            return {"type": "image", "image": image.convert("RGB")}
    except Exception as error:  # broken bytes make PIL raise nearly anything, and a bomb its own kind
        return {"type": "text", "text": f"[an image that cannot be shown: {type(error).__name__}]"}
