"""Open Protocol, read.

In: a record. Out: the content of its frames, records of one row each, and their events with canonical text. A key
begins with a version; each key and value has its length before it, 64 bits, big-endian.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ticdc_emit.protocols.canonical_text import (
    Convert,
    by_column,
    converted,
    enum_label,
    per_object,
    raw_text,
    set_labels,
)
from ticdc_emit.protocols.decoder import (
    MAX_DECOMPRESSED_BYTES,
    Claims,
    EventReader,
    Part,
    ReaderInputs,
    Recognizer,
    decompressor,
)
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


def records_of(key: bytes | None, value: bytes | None) -> list[Part]:
    """Return one record per row of a record; raises the errors of :func:`contents`."""
    parts = contents(key, value)
    if len(parts) == 1:
        return [(key, value)]
    return [(key_frame(own), frame(content)) for own, content in parts]


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

    @property
    def is_unsigned(self) -> bool:
        return bool(self.flags & Flag.UNSIGNED)


class OpenRow(NamedTuple):
    """A row change. ``data`` is the row after the change (for a delete: before it). ``old`` is the row before an
    update, with only the changed columns under ``only-output-updated-columns``. Both have the message's JSON values;
    ``columns`` describes their columns.

    ``op``: an update without ``old`` is an ``insert``, because nothing distinguishes them. ``row_id``: the row's
    handle, 0 if it is not an integer or unknown; ``partition``: the id of its partition. ``handle_key_only``: the
    message was too large and has only the handle key's columns; ``claim_check``: the same, and the location of the
    whole message.
    """

    schema: str
    table: str
    op: RowOp
    commit_ts: int
    data: Mapping[str, Any]
    old: Mapping[str, Any] | None
    columns: Mapping[str, OpenColumn]
    row_id: int = 0
    partition: int | None = None
    handle_key_only: bool = False
    claim_check: str | None = None


@dataclass(frozen=True, slots=True)
class OpenDdl:
    """A statement; ``action`` is TiDB's number of its kind, ``table`` "" for a database."""

    schema: str
    table: str
    query: str
    action: int
    commit_ts: int


@dataclass(frozen=True, slots=True)
class OpenWatermark:
    """Everything up to ``commit_ts`` has been sent to this partition."""

    commit_ts: int


OpenMessage: TypeAlias = "OpenRow | OpenDdl | OpenWatermark"


_ESCAPE = re.compile(r'\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([abtnvfr"\\])|)')
_LETTERS = {"a": b"\a", "b": b"\b", "t": b"\t", "n": b"\n", "v": b"\v", "f": b"\f", "r": b"\r", '"': b'"', "\\": b"\\"}


def open_convert(column: Column) -> Convert | None:
    """Return a function that converts a column's values to canonical text; ``None`` if they already are."""
    if column.type is MySQLType.ENUM:
        return enum_label(column)
    if column.type is MySQLType.SET:
        return set_labels(column)
    if column.type is MySQLType.DURATION and column.fraction_digits > 0:
        return partial(_with_fraction, column.fraction_digits)
    return _convert(column.type, is_binary=column.is_binary)


def _with_fraction(digits: int, text: str) -> str:
    """Return a TIME, whose fraction some releases leave out."""
    return text if "." in text else f"{text}.{'0' * digits}"


def open_type_convert(column: OpenColumn) -> Convert | None:
    """Return the same for a column that is known only from a message."""
    if column.type in LABEL_TYPES:
        return str
    return _convert(column.type, is_binary=column.is_binary)


def _convert(kind: int, *, is_binary: bool) -> Convert | None:
    if kind in WHOLE_TYPES:
        return _whole
    if kind in FLOAT_TYPES:
        return _single if kind == MySQLType.FLOAT else _double
    if kind in BLOB_TYPES:
        return _blob if is_binary else _base64_text
    return _binary if kind in CHAR_TYPES and is_binary else None


def _whole(value: Any) -> str:
    if type(value) is not int:
        raise ValueError("not a whole number")
    return str(value)


def _single(value: Any) -> str:
    return float_text(float(value), single=True)


def _double(value: Any) -> str:
    return float_text(float(value))


def _blob(value: Any) -> str:
    return raw_text(b64decode(value, validate=True))


def _base64_text(value: Any) -> str:
    return b64decode(value, validate=True).decode()


def _binary(value: Any) -> str:
    return raw_text(unquoted(value))


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
_Told: TypeAlias = "list[tuple[str, Any, Any, Any]]"


class OpenProtocolReader:
    """Reads the records of a topic.

    ``compression``: the changefeed's ``large-message-handle-compression``; ``max_decompressed_bytes``: the limit of a
    value. Raises :class:`~ticdc_emit.errors.ConfigError` for an unknown compression, and
    :class:`~ticdc_emit.errors.MissingDependencyError` without cramjam.
    """

    def __init__(self, compression: str = "none", *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> None:
        self._unpacked = decompressor(compression, max_decompressed_bytes=max_decompressed_bytes)
        self._told: dict[tuple[str, str], tuple[_Told, dict[str, OpenColumn]]] = {}

    def read_all(self, key: bytes | None, value: bytes | None) -> list[OpenMessage]:
        """Return the content of a record: one statement or watermark, or its rows.

        Raises :class:`DecodeError` for a record that is not a message of Open Protocol.
        """
        return [self._message(*content) for content in contents(key, value)]

    def read(self, key: bytes | None, value: bytes | None) -> OpenMessage:
        """Return the content of a record with one row, a statement or a watermark; raises the errors of
        :meth:`read_all`.
        """
        parts = contents(key, value)
        if len(parts) > 1:
            raise DecodeError(f"the record holds {len(parts)} rows", remedy="Read it with read_all")
        return self._message(*parts[0])

    def parts(self, key: bytes | None, value: bytes | None) -> list[Part]:
        return records_of(key, value)

    def _message(self, key: bytes, value: bytes) -> OpenMessage:
        key_members = document(key, "key")
        commit_ts, kind = tso(key_members, "ts"), member(key_members, "t", int, part="key")
        if kind == Kind.WATERMARK:
            if value:
                raise DecodeError("a watermark has no value", part="value")
            return OpenWatermark(commit_ts)
        schema, table = member(key_members, "scm", str, "", part="key"), member(key_members, "tbl", str, "", part="key")
        if kind == Kind.DDL:
            value_members = document(self._unpacked(value), "value")
            return OpenDdl(schema, table, member(value_members, "q", str), member(value_members, "t", int), commit_ts)
        if kind != Kind.ROW:
            raise DecodeError(f"{kind} is not a kind of Open Protocol messages", part="key")
        value_members = document(self._unpacked(value), "value", **GO_NUMBERS)
        op, shown, before = _images(value_members)
        data, columns = _values(shown, "d" if op == "delete" else "u"), self._columns(schema, table, shown)
        old = None
        if before is not None:
            before = {name: each for name, each in before.items() if isinstance(each, dict) or name not in _OF_COLUMN}
            old = _values(before, "p")
        claim = member(key_members, "ccl", str, "", part="key") or None
        return OpenRow(
            schema,
            table,
            op,
            commit_ts,
            data,
            old,
            columns,
            member(key_members, "rid", int, 0, part="key"),
            member(key_members, "ptn", int, part="key") if "ptn" in key_members else None,
            claim is not None or key_members.get("ohk") is True,
            claim,
        )

    def _columns(self, schema: str, table: str, image: Mapping[str, Any]) -> dict[str, OpenColumn]:
        described = [(name, each.get("t"), each.get("f"), each.get("h")) for name, each in image.items()]
        known = self._told.get((schema, table))
        # most rows of a table have the same, so it is checked and stored once
        if known is None or known[0] != described:
            known = self._told[schema, table] = described, {name: _column(each) for name, each in image.items()}
        return known[1]


def _images(images: Mapping[str, Any]) -> tuple[RowOp, dict[str, Any], dict[str, Any] | None]:
    """Return the operation, the current or last image of the row, and the image before an update.

    ``p`` may have members of columns that lost their names (the next lineage, for values that become NULL); they are
    ignored.
    """
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


def _column(column: Mapping[str, Any]) -> OpenColumn:
    return OpenColumn(member(column, "t", int), member(column, "f", int), member(column, "h", bool, False))


class OpenEvents(EventReader):
    """A reader of Open Protocol."""

    def __init__(self, inputs: ReaderInputs) -> None:
        handle = inputs.config.codec.large_message_handle
        self._reader = OpenProtocolReader(handle.compression, max_decompressed_bytes=inputs.max_decompressed_bytes)
        self._claims = Claims(inputs.claims, self._reader.read, raw_value=False)
        self._converts = per_object(_converts_of)
        self._told_converts = per_object(_told_converts_of)

    def parts(self, key: bytes | None, value: bytes | None) -> Sequence[Part]:
        return self._reader.parts(key, value)

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return the event of a record with one row, a statement or a watermark."""
        message = self._reader.read(key, value)
        if isinstance(message, OpenRow):
            return _row(self._claims.whole(message))
        if isinstance(message, OpenDdl):
            return DdlEvent(message.query, message.commit_ts, message.schema, message.table, message=message)
        return WatermarkEvent(message.commit_ts, message)

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        if image is None:
            return None
        message: OpenRow = event.message
        converts = self._told_converts(message.columns) if table is None else self._converts(table)
        return converted(image, converts, table=event.table)

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        message: OpenRow = event.message
        return tuple(name for name, column in message.columns.items() if column.is_handle_key)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        row: OpenRow = event.message
        parts = row.handle_key_only, row.claim_check is not None, row.partition
        return repr((row.op, row.commit_ts, in_any_order(row.data), in_any_order(row.old), parts))


def _converts_of(table: TableInfo) -> dict[str, Convert]:
    return by_column(table.columns, open_convert)


def _told_converts_of(columns: Mapping[str, OpenColumn]) -> dict[str, Convert]:
    converts = {name: open_type_convert(column) for name, column in columns.items()}
    return {name: convert for name, convert in converts.items() if convert is not None}


def _row(message: OpenRow) -> RowEvent:
    deleted = message.op == "delete"
    return RowEvent(
        message.schema,
        message.table,
        message.op,
        message.commit_ts,
        message.data if deleted else message.old,
        None if deleted else message.data,
        handle_key_only=message.handle_key_only,
        claim_check=message.claim_check,
        message=message,
    )


def make_reader(inputs: ReaderInputs) -> EventReader:
    return OpenEvents(inputs)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return a function that accepts only these messages."""
    return {"open-protocol": [OpenProtocolReader().read_all]}
