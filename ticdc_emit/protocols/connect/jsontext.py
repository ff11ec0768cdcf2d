"""JSON text as json-iterator writes it, value by value, for the parts of Debezium messages that many rows share.

In: Python values; ``bytes`` are JSON text already. Out: JSON text without blanks, members in their order (semantics
2.0.1). Bytes that are not UTF-8 stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ticdc_emit.columnar.escape import JSONITER

__all__ = ["Json", "json_content", "json_object", "json_string", "json_text"]

Json: TypeAlias = "str | bytes | bool | int | Sequence[Json] | Mapping[str, Json] | None"

_ESCAPED = re.compile(rb'["\\\x00-\x1f]')


def json_content(text: str | bytes) -> bytes:
    """Return text as the content of a JSON string."""
    raw = text.encode() if isinstance(text, str) else text
    return _ESCAPED.sub(lambda match: JSONITER.replacement(match[0][0]), raw)


def json_string(text: str | bytes) -> bytes:
    """Return text as a JSON string with quotes."""
    return b'"%s"' % json_content(text)


def json_text(value: Json) -> bytes:
    """Return any value as JSON text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return json_string(value)
    if value is None:
        return b"null"
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, Mapping):
        return json_object(*value.items())
    return b"[" + b",".join(map(json_text, value)) + b"]"


def json_object(*members: tuple[str, Json]) -> bytes:
    """Return an object of members, in this order."""
    return b"{" + b",".join(json_string(name) + b":" + json_text(value) for name, value in members) + b"}"
