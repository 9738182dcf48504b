"""Keys, secrets and passwords are masked in whatever a server says, and nothing else is."""

from __future__ import annotations

import base64
import json
import pickle
import random
import time
from collections.abc import Callable
from html import escape
from typing import Any
from urllib.parse import quote

import pytest

from orl_codegen.ors.endpoint import Endpoint
from orl_codegen.ors.redaction import STARS, Mask

KEY = "sk-live/0123+456789-abcdef=="


def there(url: str = "http://127.0.0.1:1", **options: Any) -> Endpoint:
    """An endpoint of a server that nobody asks."""
    return Endpoint(url, "v", "v", **options)


@pytest.mark.parametrize(
    ("url", "pair"),
    [
        ("http://ada:hunter2@h", "ada:hunter2"),
        ("http://ada:p%C3%A4ss%3Aw%2Frd@h", "ada:pä" + "ss:w/rd"),
        ("http://:no@h", ":no"),
        ("http://a-token@h", "a-token:"),
    ],
)
def test_user_and_password_of_a_url_are_masked_as_the_header_spells_them(url: str, pair: str) -> None:
    """aiohttp sends them in base64, with the user in front; a server may echo its headers."""
    for encoding in ("latin-1", "utf-8"):
        sent = base64.b64encode(pair.encode(encoding)).decode()
        assert (
            there(url).redacted(f"authorization: Basic {sent}, and more") == f"authorization: Basic {STARS}, and more"
        )


def test_what_aiohttp_sends_for_a_url_is_masked() -> None:
    """The header itself, from the library that makes it."""
    from aiohttp.helpers import BasicAuth
    from yarl import URL

    url = "http://ad%61:p%C3%A4ss%3Aw%2Frd@h"
    header = BasicAuth.from_url(URL(url))
    assert header is not None and there(url).redacted(header.encode()) == f"Basic {STARS}"


def test_the_name_of_a_user_is_no_secret() -> None:
    """Of `ada:hunter2`, results may well hold the first half."""
    assert there("http://admin:hunter2@h").redacted("admin said hunter2") == f"admin said {STARS}"


def test_the_header_with_the_secrets_is_masked() -> None:
    """Whole, and where it is found in other text; likewise the JSON in it."""
    where = there(api_key=KEY, secrets={"TOKEN": 'hush "hush" hush', "OTHER": ("another one", ["example.org"])})
    (header,) = where.creation_headers().values()
    assert where.redacted(f"X-Secrets: {header}.") == f"X-Secrets: {STARS}."
    content = where.redacted(base64.b64decode(header).decode())
    assert "hush" not in content and "another" not in content and "0123" not in content


@pytest.mark.parametrize("before", ["", "u", "u:", "user:", "Bearer "])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_of_a_text_with_a_secret_in_it_is_masked(before: str, encode: Callable[[bytes], bytes]) -> None:
    """Wherever the secret stands in it, no more than one character of the secret could be worked out from the rest."""
    mask = Mask([KEY])
    left = mask.text(encode(f"{before}{KEY}, and more".encode()).decode()).split(STARS)
    assert len(left) == 2
    seen = b"".join(base64.b64decode(part[len(part) % 4 if i else 0 :] + "===", b"-_") for i, part in enumerate(left))
    assert not any(KEY[i : i + 3].encode() in seen for i in range(len(KEY) - 2))


@pytest.mark.parametrize(
    "secret", [KEY, "a\\\\b\"c'd\ne\tf", "<key>&'more'", "\\\\server\\share", "Schlüssel!", "ключ-от-дома"]
)
@pytest.mark.parametrize(
    "spelled",
    [
        *[str, repr, ascii, json.dumps, escape, quote, lambda text: quote(quote(text, safe=""), safe="")],
        *[lambda text: json.dumps(json.dumps({"headers": [f"Bearer {text}"]})), lambda text: repr(repr(text))],
        *[lambda text: repr(text.encode()), lambda text: json.dumps(text).replace("/", "\\/")],
        *[lambda text: json.dumps(text).replace("<", "\\u003c").replace("=", "\\u003D")],
    ],
)
def test_a_secret_is_masked_in_every_spelling(secret: str, spelled: Callable[[str], str]) -> None:
    """As literals, JSON, HTML and URLs spell it, once or twice."""
    shown = Mask([secret]).text(f"it is {spelled(secret)}, you know")
    words = [
        word for word in ("live", "0123", "share", "server", "more", "Schl", "ключ", "ssel", "043a") if word in secret
    ]
    assert STARS in shown and not any(word in shown for word in words)


def test_secrets_that_hold_or_overlap_one_another_are_masked_whole() -> None:
    """The longer one is not left in pieces, and two that share a part are masked as one."""
    mask = Mask(["hush", "hush-hush-more", "abcdef", "defghi"])
    assert mask.text("hush-hush-more, hush-hush, xabcdefghix") == f"{STARS}, {STARS}-{STARS}, x{STARS}x"


@pytest.mark.parametrize("value", ["", "1", "eu", "dev", "true", "None", "text", "user"])
def test_what_is_no_secret_is_left_alone(value: str) -> None:
    """Values of fewer than four characters, and the words that JSON and blocks consist of: results are full of them."""
    text = json.dumps({"type": "text", "text": f"1 eu dev true None null {value}", "user": True})
    assert there(secrets={"SETTING": value}).redacted(text) == text


def test_json_is_masked_in_its_texts_and_keys_alone() -> None:
    """Numbers, order and structure stay, pictures too, and no entry gets lost."""
    mask = Mask(["hush-hush", "20261129", "iVBORw0KGgo"])
    picture = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/hush-hush"}
    value = [
        picture,
        {"hush-hush": 1, "***": 2, "number": 20261129, "in": [["hush-hush"], None, True, 0.5]},
        "hush-hush!",
    ]
    masked = mask.json(json.loads(json.dumps(value)))
    assert json.dumps(masked) == json.dumps(
        [
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/***"},
            {"****": 1, "***": 2, "number": 20261129, "in": [["***"], None, True, 0.5]},
            "***!",
        ]
    )


def test_json_without_a_secret_stays_the_same_object() -> None:
    """Nothing is copied, so nothing can change on the way."""
    value = {"a": ["ü\ud800", {"b": 1.0}], "c": "hush hush"}
    assert Mask(["hush-hush"]).json(value) is value
    assert Mask([]).json(value) is value


def test_json_may_nest_as_deep_as_it_likes() -> None:
    """The parser takes more levels than Python's stack has room for."""
    value: Any = "hush-hush"
    for _ in range(100_000):
        value = [value]
    masked = Mask(["hush-hush"]).json(value)
    while isinstance(masked, list):
        (masked,) = masked
    assert masked == STARS


def test_an_endpoint_that_has_masked_something_pickles_and_shows_nothing() -> None:
    """A factory with it goes to other processes; no repr holds a key."""
    where = there(api_key=KEY)
    assert where.redacted(KEY) == STARS
    assert pickle.loads(pickle.dumps(where)).redacted(KEY) == STARS
    assert "live" not in repr(where) + repr(where.mask)


def test_masking_costs_next_to_nothing() -> None:
    """20 secrets and 100 kB: some 0.8 ms, measured; here with room for a slow machine."""
    draw = random.Random(7)
    mask = Mask([f"sk-{draw.randbytes(20).hex()}" for _ in range(20)])
    value = [{"type": "text", "text": draw.randbytes(50_000).hex()}]
    began = time.process_time()
    for _ in range(10):
        assert mask.json(value) is value
    assert (time.process_time() - began) / 10 < 0.05


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("aa-bb-ccccccc", "ccccccc-bb-" * 20_000),
        ("ü\\\\\\\\\nß", "\\" * 200_000),
        ("key\\\\\\\\\nß", "key" + "\\" * 200_000),
        ("key\n\n\n\n-", "key" + "\\n\\\\" * 50_000),
        ("key%%%%-", "key" + "%25" * 60_000),
        ("hush-hush", "hush-hush" * 20_000),
    ],
)
def test_no_text_takes_long_to_search(secret: str, text: str) -> None:
    """Time grows with the length of the text, and no faster, also where a server knows what would be slow."""
    mask = Mask([secret])
    began = time.process_time()
    mask.text(text)
    assert time.process_time() - began < 2
