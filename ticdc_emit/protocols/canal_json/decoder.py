"""Canal-JSON, read.

In: a record. Out: a row, DDL or watermark (:class:`CanalRow` ...), its event, and images in canonical text.

Every value is text, and most are canonical as they are. ENUM and SET are numbers, binary columns are one character per
byte (ISO-8859-1). Without a table, the type comes from ``mysqlType``, which has labels only with
``content-compatible``. Without labels the numbers stay. Rule source: "TiCDC Canal-JSON Protocol" (data types).
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import orjson

from ticdc_emit.json_depth import check_depth
from ticdc_emit.protocols.canonical_text import (
    BINARY_TYPES,
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
    ReaderInputs,
    Recognizer,
    decompressor,
)
from ticdc_emit.protocols.events import (
    DdlEvent,
    DecodeError,
    Event,
    Image,
    RowEvent,
    RowOp,
    WatermarkEvent,
    member,
    millis,
    texts,
    tso,
)
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import MySQLType

# the only float whose shortest digits are a tie, which Go does not round to even
_GO_TIE = {"0.00024414063": "0.00024414062", "-0.00024414063": "-0.00024414062"}
_JSON = json.JSONDecoder()
_NAME = re.compile(r"[a-z_]+")
_LABEL = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPES = {"''": "'", "\\0": "\0", "\\n": "\n", "\\r": "\r"}
_ESCAPE = re.compile(r"''|\\[0nr]")


def canal_convert(column: Column) -> Convert | None:
    """Return a function that converts a column's values to canonical text; ``None`` if they already are."""
    if column.type is MySQLType.ENUM:
        return enum_label(column)
    if column.type is MySQLType.SET:
        return set_labels(column)
    if column.type is MySQLType.FLOAT:
        return _single
    return _binary if column.is_binary else None


def canal_type_convert(mysql_type: str) -> Convert | None:
    """Return the same for a column, if only the message's ``mysqlType`` is known."""
    name = _NAME.match(mysql_type)
    kind = "" if name is None else name[0]
    if kind in ("enum", "set") and "(" in mysql_type:
        labels = tuple(_ESCAPE.sub(lambda found: _ESCAPES[found[0]], text) for text in _LABEL.findall(mysql_type))
        column = Column(0, "", MySQLType.ENUM if kind == "enum" else MySQLType.SET, -1, -1, elems=labels)
        return enum_label(column) if kind == "enum" else set_labels(column)
    if kind == "float":
        return _single
    return _binary if kind in BINARY_TYPES else None


def canal_type_converts(types: Mapping[str, Any]) -> dict[str, Convert]:
    """Return the conversions for a message's ``mysqlType``."""
    return {name: convert for name, kind in types.items() if (convert := canal_type_convert(kind)) is not None}


def _single(value: str) -> str:
    return _GO_TIE.get(value, value)


def _binary(value: str) -> str:
    return raw_text(value.encode("latin-1"))


_ROWS = frozenset({"INSERT", "UPDATE", "DELETE"})
_WATERMARK = "TIDB_WATERMARK"
_NO_EXTENSION: Mapping[str, Any] = {}
_TEXT_OR_NULL = frozenset({str, type(None)})
_Told: TypeAlias = tuple[tuple[str, ...], dict[str, str], dict[str, int]]


class CanalRow(NamedTuple):
    """A row change. ``op``: ``INSERT``, ``UPDATE`` or ``DELETE``; ``data`` is the row after the change (for a delete:
    before it). ``old`` is the row before an update, with only the changed columns under
    ``only-output-updated-columns``.

    ``es`` is the physical time of the commit in ms, ``ts`` the wall clock of the encoder in ms. ``mysql_type`` and
    ``sql_type`` are by column. ``commit_ts`` (TSO) is ``None`` without ``enable-tidb-extension``; ``handle_key_only``:
    the message was too large and has only the handle key's columns; ``claim_check``: the same, and the location of the
    whole message. ``row_key``: the row's key in TiKV, with ``output-row-key``.
    """

    database: str
    table: str
    op: str
    es: int
    ts: int
    data: Mapping[str, str | None]
    old: Mapping[str, str | None] | None
    pk_names: tuple[str, ...]
    mysql_type: Mapping[str, str]
    sql_type: Mapping[str, int]
    commit_ts: int | None = None
    handle_key_only: bool = False
    claim_check: str | None = None
    row_key: bytes | None = None


@dataclass(frozen=True, slots=True)
class CanalDdl:
    """A statement. ``type``: ``CREATE``, ``RENAME``, ``CINDEX``, ``DINDEX``, ``ERASE``, ``TRUNCATE``, ``ALTER`` or
    ``QUERY``; ``database`` and ``table`` are those after it.
    """

    database: str
    table: str
    type: str
    sql: str
    es: int
    ts: int
    commit_ts: int | None = None


@dataclass(frozen=True, slots=True)
class CanalWatermark:
    """Everything up to ``commit_ts`` has been sent to this partition."""

    commit_ts: int
    es: int
    ts: int


CanalMessage: TypeAlias = "CanalRow | CanalDdl | CanalWatermark"


class CanalJsonReader:
    """Reads the records of a topic.

    ``compression``: the changefeed's ``large-message-handle-compression``; ``max_decompressed_bytes``: the limit of a
    value. Raises :class:`~ticdc_emit.errors.ConfigError` for an unknown compression, and
    :class:`~ticdc_emit.errors.MissingDependencyError` without cramjam.
    """

    def __init__(self, compression: str = "none", *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> None:
        self._unpacked = (
            None if compression == "none" else decompressor(compression, max_decompressed_bytes=max_decompressed_bytes)
        )
        self._told: dict[tuple[str, str], tuple[_Told, tuple[Any, ...]]] = {}

    def read(self, key: bytes | None, value: bytes | None) -> CanalMessage:
        """Return the message in a record. Raises :class:`DecodeError` if it is not a Canal-JSON message of TiCDC."""
        if key:
            raise DecodeError("not a Canal-JSON message: its key should be empty", part="key")
        if not value:
            raise DecodeError("not a Canal-JSON message: it has no value", part="value")
        members = _members(value if self._unpacked is None else self._unpacked(value))
        kind = member(members, "type", str)
        extension = members.get("_tidb", _NO_EXTENSION)
        if not isinstance(extension, dict):
            raise DecodeError("a member is not an object", part="value", member="_tidb")
        if kind in _ROWS and not member(members, "isDdl", bool):
            return self._row(kind, members, extension)
        if kind == _WATERMARK:
            stamp = tso(extension, "watermarkTs") if "watermarkTs" in extension else 0
            return CanalWatermark(stamp, millis(members, "es"), member(members, "ts", int))
        if not member(members, "isDdl", bool):
            raise DecodeError(f"{kind!r} is not a type of Canal-JSON messages", part="value")
        return CanalDdl(
            member(members, "database", str),
            member(members, "table", str),
            kind,
            member(members, "sql", str),
            millis(members, "es"),
            member(members, "ts", int),
            tso(extension, "commitTs") if "commitTs" in extension else None,
        )

    def _row(self, kind: str, members: Mapping[str, Any], extension: Mapping[str, Any]) -> CanalRow:
        data, old, commit_ts, claim = _image(members, "data"), None, None, None
        if kind == "UPDATE":
            old = _image(members, "old")
        if data is None or (kind == "UPDATE" and old is None):
            raise DecodeError(f"{kind} lacks an image", part="value", member="data" if data is None else "old")
        if extension:
            commit_ts = tso(extension, "commitTs")
            claim = extension.get("claimCheckLocation")
            if claim is not None and not isinstance(claim, str):
                raise DecodeError("a member is not text", part="value", member="claimCheckLocation")
        database, table = member(members, "database", str), member(members, "table", str)
        types = members.get("pkNames"), members.get("mysqlType"), members.get("sqlType")
        known = self._told.get((database, table))
        if known is None or known[1] != types:  # most rows of a table have the same, so it is checked and stored once
            known = self._told[database, table] = _told(members), types
        pk_names, mysql_type, sql_type = known[0]
        return CanalRow(
            database,
            table,
            kind,
            millis(members, "es"),
            member(members, "ts", int),
            data,
            old,
            pk_names,
            mysql_type,
            sql_type,
            commit_ts,
            claim is not None or extension.get("onlyHandleKey") is True,
            claim,
            _row_key(extension) if "rowkey" in extension else None,
        )


def _row_key(extension: Mapping[str, Any]) -> bytes:
    try:
        return b64decode(member(extension, "rowkey", str), validate=True)
    except ValueError as fault:
        raise DecodeError(f"the row key is not base64: {fault}", part="value", member="rowkey") from fault


def _told(members: Mapping[str, Any]) -> _Told:
    """Return a row's data about its table: names of the key, types by column; ``null`` means none."""
    names = texts(members, "pkNames") if members.get("pkNames") is not None else ()
    mysql, sql = (
        member(members, name, dict) if members.get(name) is not None else {} for name in ("mysqlType", "sqlType")
    )
    for name, types, kind in (("mysqlType", mysql, str), ("sqlType", sql, int)):
        if not all(isinstance(each, kind) for each in types.values()):
            raise DecodeError(f"a type is not {kind.__name__}", part="value", member=name)
    return names, mysql, sql


def _members(value: bytes) -> dict[str, Any]:
    try:
        members = orjson.loads(value)
        check_depth(members, value)
    except ValueError as fault:
        raise DecodeError(f"the value is not JSON: {fault}", part="value") from fault
    if not isinstance(members, dict):
        raise DecodeError("the value is not a JSON object", part="value")
    return members


def _image(members: Mapping[str, Any], name: str) -> dict[str, str | None] | None:
    """Return the row in a list of one row; ``None`` if there is no list."""
    rows = members.get(name)
    if rows is None:
        return None
    if not isinstance(rows, list) or len(rows) != 1 or not isinstance(rows[0], dict):
        raise DecodeError("TiCDC sends lists of one row", part="value", member=name)
    image: dict[str, str | None] = rows[0]
    if not _TEXT_OR_NULL.issuperset(map(type, image.values())):
        raise DecodeError("a value of Canal-JSON is text or null", part="value", member=name)
    return image


_OPS: dict[str, RowOp] = {"INSERT": "insert", "UPDATE": "update", "DELETE": "delete"}


class CanalEvents(EventReader):
    """A reader of Canal-JSON."""

    def __init__(self, inputs: ReaderInputs) -> None:
        handle = inputs.config.codec.large_message_handle
        self._reader = CanalJsonReader(handle.compression, max_decompressed_bytes=inputs.max_decompressed_bytes)
        self._claims = Claims(inputs.claims, self._reader.read, raw_value=handle.claim_check_raw_value)
        self._converts = per_object(_converts_of)
        self._terminator = inputs.config.codec.terminator

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        message = self._reader.read(key, value)
        if isinstance(message, CanalRow):
            return _row(self._claims.whole(message))
        if isinstance(message, CanalDdl):
            return DdlEvent(message.sql, message.commit_ts, message.database, message.table, message.es, message)
        assert isinstance(message, CanalWatermark)
        return WatermarkEvent(message.commit_ts, message)

    def records(self, data: bytes) -> Iterator[bytes]:
        text, end = data.decode(errors="surrogateescape"), self._terminator
        place = 0
        while place < len(text):
            try:
                _, last = _JSON.raw_decode(text, place)
            except ValueError as fault:
                raise DecodeError(f"the file does not consist of JSON objects: {fault}", part="value") from fault
            if not text.startswith(end, last):
                raise DecodeError("a row of the file lacks its terminator", part="value")
            yield text[place:last].encode(errors="surrogateescape")
            place = last + len(end)

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        if image is None:
            return None
        if table is None:
            message: CanalRow = event.message
            return converted(image, _shown(image, canal_type_converts(message.mysql_type)), table=event.table)
        return converted(image, self._converts(table), table=event.table)

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        message: CanalRow = event.message
        return message.pk_names if event.key is None else super().key_names(event)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        row: CanalRow = event.message
        old = None if row.old is None else frozenset(row.old.items())
        parts = row.handle_key_only, row.claim_check is not None
        return row.op, row.es, row.commit_ts, frozenset(row.data.items()), old, parts


def _converts_of(table: TableInfo) -> dict[str, Convert]:
    return by_column(table.columns, canal_convert)


def _shown(image: Image, converts: dict[str, Convert]) -> dict[str, Convert]:
    return {name: convert for name, convert in converts.items() if name in image}


def _row(message: CanalRow) -> RowEvent:
    deleted = message.op == "DELETE"
    return RowEvent(
        message.database,
        message.table,
        _OPS[message.op],
        message.commit_ts,
        message.data if deleted else message.old,
        None if deleted else message.data,
        None,
        message.es,
        None,
        message.handle_key_only,
        message.claim_check,
        message,
    )


def make_reader(inputs: ReaderInputs) -> EventReader:
    return CanalEvents(inputs)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return a function that accepts only these messages."""
    return {"canal-json": [CanalJsonReader().read]}
