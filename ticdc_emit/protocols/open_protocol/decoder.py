"""Open Protocol, read: keys begin with a version; each key and value has its length before it (64 bits, big-endian)."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ticdc_emit.protocols.canonical_text import Convert, converted, label_convert, per_object, per_table, raw_text
from ticdc_emit.protocols.decoder import EventReader, Part, ReaderInputs, RecordReader, record_options
from ticdc_emit.protocols.events import (
    GO_NUMBERS,
    DdlEvent,
    DecodeError,
    Event,
    Image,
    RowEvent,
    RowOp,
    WatermarkEvent,
    document,
    in_any_order,
    member,
    tso,
)
from ticdc_emit.protocols.open_protocol.schema import LENGTH_BYTES, VERSION, Flag, Kind, frame, key_frame
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import BLOB_TYPES, CHAR_TYPES, FLOAT_TYPES, LABEL_TYPES, WHOLE_TYPES, MySQLType


def contents(key: bytes | None, value: bytes | None) -> list[tuple[bytes, bytes]]:
    """Return keys and values without their frames. Raises :class:`DecodeError` for a record without frames."""
    if key is None or not key.startswith(VERSION):
        raise DecodeError("a key of Open Protocol begins with version 1", part="key")
    keys, values = _unframed(key, len(VERSION), "key"), _unframed(value or b"", 0, "value")
    if len(keys) != len(values) or not keys:
        raise DecodeError(f"the record has {len(keys)} keys and {len(values)} values", part="value")
    return list(zip(keys, values, strict=True))


def _unframed(data: bytes, start: int, part: str) -> list[bytes]:
    parts = []
    while start < len(data):
        begin = start + LENGTH_BYTES
        end = begin + int.from_bytes(data[start:begin], "big")
        if begin > len(data) or end > len(data):
            raise DecodeError(f"a frame of the {part} is longer than the {part}", part=part)
        parts.append(data[begin:end])
        start = end
    return parts


class OpenColumn(NamedTuple):
    """A column in a message: its MySQL type code, its flags, and whether it belongs to the handle key."""

    type: int
    flags: int
    is_handle_key: bool

    @property
    def is_binary(self) -> bool:
        """Whether the column's charset is ``binary``, which is also that of numbers."""
        return bool(self.flags & Flag.BINARY)


_ESCAPE = re.compile(r'\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([abtnvfr"\\])|)')
_LETTERS = {"a": b"\a", "b": b"\b", "t": b"\t", "n": b"\n", "v": b"\v", "f": b"\f", "r": b"\r", '"': b'"', "\\": b"\\"}


def open_convert(column: Column) -> Convert | None:
    """Return a function that converts a column's values to canonical text; ``None`` if they already are."""
    if column.type in LABEL_TYPES:
        return label_convert(column)
    if column.type is MySQLType.DURATION and column.fraction_digits > 0:  # some releases leave the fraction out
        return lambda text: text if "." in text else f"{text}.{'0' * column.fraction_digits}"
    return _convert(column.type, is_binary=column.is_binary)


def _convert(kind: int, *, is_binary: bool) -> Convert | None:
    if kind in LABEL_TYPES:  # of a column that is known only from a message
        return str
    if kind in WHOLE_TYPES:
        return _whole
    if kind in FLOAT_TYPES:
        return lambda value: float_text(float(value), single=kind == MySQLType.FLOAT)
    if kind in BLOB_TYPES:
        show = raw_text if is_binary else bytes.decode
        return lambda value: show(b64decode(value, validate=True))
    return (lambda value: raw_text(unquoted(value))) if kind in CHAR_TYPES and is_binary else None


def _whole(value: Any) -> str:
    if type(value) is not int:
        raise ValueError("not a whole number")
    return str(value)


def unquoted(text: str) -> bytes:
    """Return the bytes that ``strconv.Quote`` printed (without the quotes); ``ValueError`` for any other text."""
    if "\\" not in text:
        return text.encode()
    parts, end = [], 0
    for escape in _ESCAPE.finditer(text):
        parts.append(text[end : escape.start()].encode())
        byte, short, long, letter = escape.groups()
        if byte:
            parts.append(bytes.fromhex(byte))
        elif letter:
            parts.append(_LETTERS[letter])
        elif short or long:
            parts.append(chr(int(short or long, 16)).encode())
        else:
            raise ValueError("a backslash without an escape")
        end = escape.end()
    return b"".join([*parts, text[end:].encode()])


_OF_COLUMN = frozenset("thfv")
_VALUES = frozenset({str, int, float, type(None)})
_Described: TypeAlias = "list[tuple[str, Any, Any, Any]]"


class OpenProtocolReader(RecordReader):
    """Reads the records of a topic. Options and errors: see :class:`RecordReader`.

    The ``message`` of a row's event has its columns (:class:`OpenColumn`) by name, that of another event the members of
    its key. An update without the row before it is an ``insert``, because nothing distinguishes them.
    """

    def __init__(self, compression: str = "none", **options: Any) -> None:
        super().__init__(compression, **{**options, "raw_value": False})
        self._described: dict[tuple[str, str], tuple[_Described, dict[str, OpenColumn]]] = {}
        self._converts = per_table(open_convert)
        self._converts_by_type = per_object(_converts_by_type)

    def read_all(self, key: bytes | None, value: bytes | None) -> list[Event]:
        """Return the statement, the watermark or the rows of a record. Raises :class:`DecodeError`."""
        return [self._event_of(*content) for content in contents(key, value)]

    def parts(self, key: bytes | None, value: bytes | None) -> Sequence[Part]:
        parts = contents(key, value)
        return [(key, value)] if len(parts) == 1 else [(key_frame(own), frame(content)) for own, content in parts]

    def _event(self, key: bytes | None, value: bytes | None) -> Event:
        parts = contents(key, value)
        if len(parts) > 1:
            raise DecodeError(f"the record holds {len(parts)} rows", remedy="Read it with read_all")
        return self._event_of(*parts[0])

    def _event_of(self, key: bytes, value: bytes) -> Event:
        key_members = document(key, "key")
        commit_ts, kind = tso(key_members, "ts"), member(key_members, "t", int, part="key")
        if kind == Kind.WATERMARK:
            if value:
                raise DecodeError("a watermark has no value", part="value")
            return WatermarkEvent(commit_ts, key_members)
        schema, table = member(key_members, "scm", str, "", part="key"), member(key_members, "tbl", str, "", part="key")
        if kind == Kind.DDL:
            value_members = document(self._unpacked(value), "value")
            member(value_members, "t", int)
            return DdlEvent(member(value_members, "q", str), commit_ts, schema, table, message=key_members)
        if kind != Kind.ROW:
            raise DecodeError(f"{kind} is not a kind of Open Protocol messages", part="key")
        op, shown, old = _images(document(self._unpacked(value), "value", **GO_NUMBERS))
        data, columns = _values(shown, "d" if op == "delete" else "u"), self._columns(schema, table, shown)
        before = None
        if old is not None:
            old = {name: each for name, each in old.items() if isinstance(each, dict) or name not in _OF_COLUMN}
            before = _values(old, "p")
        for name in ("rid", "ptn"):
            member(key_members, name, int, 0, part="key")
        claim = member(key_members, "ccl", str, "", part="key") or None
        return RowEvent(
            schema,
            table,
            op,
            commit_ts,
            data if op == "delete" else before,
            None if op == "delete" else data,
            handle_key_only=claim is not None or key_members.get("ohk") is True,
            claim_check=claim,
            message=columns,
        )

    def _columns(self, schema: str, table: str, image: Mapping[str, Any]) -> dict[str, OpenColumn]:
        described = [(name, each.get("t"), each.get("f"), each.get("h")) for name, each in image.items()]
        known = self._described.get((schema, table))
        # most rows of a table have the same, so it is checked and stored once
        if known is None or known[0] != described:
            columns = {
                name: OpenColumn(member(each, "t", int), member(each, "f", int), member(each, "h", bool, False))
                for name, each in image.items()
            }
            known = self._described[schema, table] = described, columns
        return known[1]

    def _image(self, event: RowEvent, image: Image, table: TableInfo | None) -> dict[str, str | None]:
        converts = self._converts_by_type(event.message) if table is None else self._converts(table)
        return converted(image, converts, table=event.table)

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        columns: Mapping[str, OpenColumn] = event.message
        return tuple(name for name, column in columns.items() if column.is_handle_key)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        parts = event.handle_key_only, event.claim_check is not None
        return repr((event.op, event.commit_ts, in_any_order(event.before), in_any_order(event.after), parts))


def _images(images: Mapping[str, Any]) -> tuple[RowOp, dict[str, Any], dict[str, Any] | None]:
    if "d" in images:
        return "delete", member(images, "d", dict), None
    if "p" in images:
        return "update", member(images, "u", dict), member(images, "p", dict)
    return "insert", member(images, "u", dict), None


def _values(image: Mapping[str, Any], name: str) -> dict[str, Any]:
    try:
        values = {column: each["v"] for column, each in image.items()}
    except (TypeError, KeyError) as fault:
        raise DecodeError("a column is not an object with a value", part="value", member=name) from fault
    if not _VALUES.issuperset(map(type, values.values())):
        raise DecodeError("a value is neither text, number nor null", part="value", member=name)
    return values


def _converts_by_type(columns: Mapping[str, OpenColumn]) -> dict[str, Convert]:
    converts = {name: _convert(column.type, is_binary=column.is_binary) for name, column in columns.items()}
    return {name: convert for name, convert in converts.items() if convert is not None}


def make_reader(inputs: ReaderInputs) -> EventReader:
    return OpenProtocolReader(**record_options(inputs))
