"""Blocks of the wire as the model gets to see them: as text, or as the list of blocks that TRL takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from orl_codegen.errors import printable

Images = Literal["pil", "placeholder", "drop"]

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # what may be decoded: an environment chooses the bytes
PAYLOAD = re.compile(r"(?:data:[^,\s]{0,100},)?[A-Za-z0-9+/_=\r\n-]{201,}")
PLACEHOLDER = "[image]"


class Blocks(list[dict[str, Any]]):
    """TRL's content blocks. `AsyncGRPOTrainer` passes everything through `str()`, which gives the text alone."""

    def __str__(self) -> str:
        return joined(block["text"] if block["type"] == "text" else PLACEHOLDER for block in self)


def rendered(blocks: Sequence[dict[str, Any]], images: Images) -> str | Blocks:
    """Blocks of the wire as a tool result or a prompt: text where no block is a picture.

    Args:
        blocks: `{"type": "text", "text": ...}` and `{"type": "image", "data": base64, "mimeType": ...}`; others are
            shown as their JSON.
        images: What to make of an image: a PIL image in a list of blocks, a line of text, or nothing.
    """
    parts = [part for block in blocks for part in _part(block, images)]
    if all(part["type"] == "text" for part in parts):
        return joined(part["text"] for part in parts)
    return Blocks(parts)


def shortened(result: str | Blocks, limit: int | None) -> str | Blocks:
    """A tool result of which the model is shown so many characters: half of them from its beginning, half from its end,
    with a note in between that says how many were left out. Images count nothing, and stay."""
    parts = result if isinstance(result, Blocks) else [{"type": "text", "text": result}]
    length = sum(len(part.get("text", "")) for part in parts)
    if limit is None or length <= limit:
        return result
    kept = _without(parts, limit - limit // 2, length - limit // 2)
    return Blocks(kept) if isinstance(result, Blocks) else str(kept[0]["text"])


def _without(parts: Iterable[dict[str, Any]], start: int, stop: int) -> list[dict[str, Any]]:
    """Parts without the characters from `start` to `stop`, counted over the texts of all of them."""
    kept: list[dict[str, Any]] = []
    at = 0
    for part in parts:
        text = part.get("text", "")
        note = f"\n[... {stop - start} characters were left out here ...]\n" if at < start <= at + len(text) else ""
        text = text[: max(0, start - at)] + note + text[max(0, stop - at) :]
        at += len(part.get("text", ""))
        if part["type"] != "text":
            kept.append(part)
        elif text:
            kept.append({"type": "text", "text": text})
    return kept


def text_of(blocks: Iterable[dict[str, Any]]) -> str:
    """The text blocks, joined by line breaks."""
    return joined(block["text"] for block in blocks if isinstance(block.get("text"), str))


def joined(texts: Iterable[str]) -> str:
    """Texts that are not empty, joined by line breaks."""
    return "\n".join(text for text in texts if text)


def _part(block: dict[str, Any], images: Images) -> list[dict[str, Any]]:
    if block.get("type") == "text":
        return [{"type": "text", "text": str(block.get("text") or "")}]
    if block.get("type") != "image":
        return [{"type": "text", "text": _as_json(block)}]
    if images == "drop":
        return []
    if images == "placeholder":
        return [{"type": "text", "text": f"[image: {printable(block.get('mimeType'), 40)}]"}]
    return [decoded(block)]


def _as_json(block: dict[str, Any]) -> str:
    import json

    try:
        return json.dumps(_without_payloads(block), ensure_ascii=False)
    except RecursionError:
        return "[a block that cannot be shown: it is nested too deeply]"


def _without_payloads(value: Any) -> Any:
    """JSON with a short note for each string that is base64 and longer than a model could make use of."""
    if isinstance(value, str):
        return f"[{len(value)} characters of base64]" if PAYLOAD.fullmatch(value) else value
    if isinstance(value, list):
        return [_without_payloads(part) for part in value]
    if isinstance(value, dict):
        return {key: _without_payloads(part) for key, part in value.items()}
    return value


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
