"""JSON text of single values: the control messages and schemas of all formats, and what they quote.

In: a value, and the Go writer that TiCDC uses. Out: its JSON text. Rule source: semantics 2.0.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from ticdc_emit.columnar.escape import JsonWriter, quoted

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | bytes | bool | int | None"
"""A JSON value; ``bytes`` are JSON text already."""


def json_value(value: Json, writer: JsonWriter, *, by_name: bool = False) -> bytes:
    """Return the JSON text of a value. ``by_name``: with the members of objects in the order of their names, as Go
    prints a map; otherwise in their own.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return quoted(value, writer)
    if value is None:
        return b"null"
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, Mapping):
        members: Iterable[tuple[str, Json]] = sorted(value.items()) if by_name else value.items()
        texts = (quoted(name, writer) + b":" + json_value(each, writer, by_name=by_name) for name, each in members)
        return b"{%s}" % b",".join(texts)
    return b"[%s]" % b",".join(json_value(item, writer, by_name=by_name) for item in value)
