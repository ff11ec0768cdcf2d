"""Mask known secrets in a foreign text, however they were encoded there.

In: an answer, an error or a log line of another program, and the secrets that it was given. Out: the text with ``****``
in their place. A server may repeat its input in any encoding: JSON (``\\"``, ``\\u0022``), percent-encoding, a form,
HTML, base64, Python's ``repr``, or several of these nested. So the text is decoded in every order, and each secret
found in a result is masked at its origin. This needs the secrets; :func:`ticdc_emit.config.secrets.mask_text` guesses
without them.
"""

from __future__ import annotations

import html
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

__all__ = ["hide"]

_MASK = "****"
_ROUNDS = 3
_A_WORD = 4
"""A shorter secret is a part of many words, so it is masked only as a whole word."""
_BACKSLASHES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "0": "\0"}
_ESCAPE = re.compile(
    r"(?P<utf16>(?:\\u[0-9A-Fa-f]{4})+)|(?P<bytes>(?:\\x[0-9A-Fa-f]{2})+)|\\U00(?P<code>[0-9A-Fa-f]{6})|\\(?P<char>.)",
    re.DOTALL,
)
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_FORM = re.compile(r"(?:%[0-9A-Fa-f]{2})+|\+")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[a-z]{2,5});")


class _View(NamedTuple):
    """A decoded text. ``places``: where each character begins in the original text, and where the last one ends."""

    text: str
    places: list[int]


def hide(text: str, secrets: Iterable[str | bytes]) -> str:
    """Return ``text`` with every secret masked, in each of the encodings and in up to three nested ones."""
    wanted = set(_forms(secrets))
    if not wanted or not text:
        return text
    spans = sorted({span for view in _views(text) for form in wanted for span in _spans(view, form)})
    shown, at = [], 0
    for start, end in spans:
        if start >= at:
            shown += [text[at:start], _MASK]
        at = max(at, end)
    return "".join([*shown, text[at:]])


def _forms(secrets: Iterable[str | bytes]) -> Iterator[str]:
    for secret in secrets:
        data = secret.encode("utf-8", "surrogateescape") if isinstance(secret, str) else secret
        if not data:
            continue
        yield data.decode("utf-8", "replace")
        for encode in (b64encode, urlsafe_b64encode) if len(data) > _A_WORD else ():
            for before in range(3):  # without the letters that depend on the neighbours of the secret
                coded = encode(bytes(before) + data).decode()
                yield coded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]


def _spans(view: _View, form: str) -> Iterator[tuple[int, int]]:
    at = view.text.find(form)
    while at >= 0:
        end = at + len(form)
        beside = view.text[max(at - 1, 0) : at] + view.text[end : end + 1]
        if len(form) >= _A_WORD or not any(char.isalnum() for char in beside):
            yield view.places[at], view.places[end]
        at = view.text.find(form, at + 1)


def _views(text: str) -> Iterator[_View]:
    level = [_View(text, list(range(len(text) + 1)))]
    seen = {text}
    for _ in range(_ROUNDS + 1):
        yield from level
        decoded = (_decoded(view, pattern, decode) for view in level for pattern, decode in _DECODERS)
        level = []
        for view in decoded:
            if view.text not in seen:
                seen.add(view.text)
                level.append(view)


def _decoded(view: _View, pattern: re.Pattern[str], decode: Callable[[re.Match[str]], list[tuple[str, int]]]) -> _View:
    pieces, places, at = [], [], 0
    for match in pattern.finditer(view.text):
        pieces.append(view.text[at : match.start()])
        places += view.places[at : match.start()]
        at = match.start()
        for char, width in decode(match):
            pieces.append(char)
            places += [view.places[at]] * len(char)
            at += width
        at = match.end()
    return _View("".join([*pieces, view.text[at:]]), places + view.places[at:])


def _unescaped(match: re.Match[str]) -> list[tuple[str, int]]:
    if match["utf16"]:
        code_units = bytes.fromhex(match["utf16"].replace("\\u", ""))
        return [(char, 12 if char > "\uffff" else 6) for char in code_units.decode("utf-16-be", "replace")]
    if match["bytes"]:
        data = bytes.fromhex(match["bytes"].replace("\\x", ""))
        try:
            return _characters(data, 4, errors="strict")
        except UnicodeDecodeError:  # of text, not of bytes
            return [(chr(code), 4) for code in data]
    if match["code"]:
        return [(chr(min(int(match["code"], 16), 0x10FFFF)), 10)]
    return [(_BACKSLASHES.get(match["char"], match["char"]), 2)]


def _unquoted(match: re.Match[str]) -> list[tuple[str, int]]:
    return [(" ", 1)] if match[0] == "+" else _characters(bytes.fromhex(match[0].replace("%", "")), 3)


def _entity(match: re.Match[str]) -> list[tuple[str, int]]:
    return [(html.unescape(match[0]), len(match[0]))]


def _characters(data: bytes, width: int, errors: str = "surrogateescape") -> list[tuple[str, int]]:
    """Return the characters of UTF-8 and the length of text that each takes, if every byte takes ``width``."""
    text = data.decode("utf-8", errors)
    return [(char, width * len(char.encode("utf-8", "surrogateescape"))) for char in text]


_DECODERS = ((_ESCAPE, _unescaped), (_PERCENT, _unquoted), (_FORM, _unquoted), (_ENTITY, _entity))
