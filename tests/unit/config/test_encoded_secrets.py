"""A known secret is masked as it is, percent-encoded, as JSON escapes it, and in base64."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.config.secrets import hide

SECRET = 'p@ss/w"rd\\ü <&>😀 %41+'

ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda text: json.dumps(text)[1:-1],
    "json in utf-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json with slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "json in go": lambda text: json.dumps(text)[1:-1].replace("<", "\\u003c").replace("&", "\\u0026"),
    "percent": lambda text: quote(text, safe=""),
    "percent in lower case": lambda text: "".join(
        part.lower() if at % 2 else part for at, part in enumerate(re.split(r"(%[0-9A-F]{2})", quote(text, safe="")))
    ),
    "some percent": quote,
    "form": quote_plus,
    "repr": lambda text: repr(text)[1:-1],
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of a login": lambda text: base64.b64encode(b"bob:" + text.encode()).decode(),
    "base64 for a url": lambda text: base64.urlsafe_b64encode(b"a" + text.encode() + b"b").decode(),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_secret_in_an_encoding(encoding: str) -> None:
    text = "you sent " + f"'{ENCODINGS[encoding](SECRET)}'" + " to me"
    masked = hide(text, [SECRET])
    assert "****" in masked
    assert masked.startswith("you sent ")
    assert masked.endswith(" to me")
    for part in ("ss", "rd", "41"):
        assert part not in masked.replace("you sent", "")


def test_what_is_no_secret_stays() -> None:
    text = 'a "text" of 100 %, \\d and &amp; of "abc" and "ab"'
    assert hide(text, ["secret", b"\xff\xfe", "", "ab"]) == text.replace('"ab"', '"****"')
    assert hide(text, []) == text


def test_secrets_beside_and_within_each_other() -> None:
    assert hide("topsecret secretary secret", ["secret", "topsecret"]) == "**** ****ary ****"
    assert hide("aaaaaaaaaa", ["aaaa"]) == "********aa"


@given(st.text(alphabet='\\%&+;#u0x25ab"é', max_size=40), st.text(alphabet='\\%&+"ab', min_size=1, max_size=5))
def test_any_text_and_any_secret(text: str, secret: str) -> None:
    masked = hide(text, [secret])
    assert len(secret) < 4 or secret not in masked
    assert hide(f"-{secret}-", [secret]) == "-****-"
