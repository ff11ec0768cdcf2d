"""JSON text of single values, as TiCDC's Go writers print them (semantics 2.0.1 and 2.0.2), and of schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa

from ticdc_emit.columnar.escape import GO_STD, JsonWriter, quoted
from ticdc_emit.columnar.floats import number_text

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | bytes | bool | int | None"
"""A JSON value; ``bytes`` are JSON text already."""


def json_value(value: Json, writer: JsonWriter, *, by_name: bool = False) -> bytes:
    """Return JSON text. ``by_name``: members in the order of their names, as Go prints a map."""
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


def float_text(value: float) -> str:
    """Return the shortest digits of a float64, with an exponent only for very small and very large values."""
    return str(number_text(pa.array([value], pa.float64()), exponent_digits=1)[0].as_py())


def schema_text(value: Json) -> str:
    """Return a schema, or a part of one, with the members of its objects in the order of their names."""
    return json_value(value, GO_STD, by_name=True).decode()
