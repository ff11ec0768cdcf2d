"""Canal-JSON, read. Rule source: "TiCDC Canal-JSON Protocol" (data types).

Every value is text, most of it canonical. ENUM and SET are numbers, binary columns one character per byte (ISO-8859-1).
Without a table, the type is that of ``mysqlType``, which has labels only with ``content-compatible``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import orjson

from ticdc_emit.protocols.canonical_text import (
    BINARY_TYPES,
    Convert,
    converted,
    go_float,
    label_convert,
    per_table,
    raw_text,
)
from ticdc_emit.protocols.decoder import EventReader, ReaderInputs, RecordReader, record_options
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
from ticdc_emit.sql.json_depth import check_depth
from ticdc_emit.sql.types import LABEL_TYPES, MySQLType

_JSON = json.JSONDecoder()
_NAME = re.compile(r"[a-z_]+")
_LABEL = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPES = {"''": "'", "\\0": "\0", "\\n": "\n", "\\r": "\r"}
_ESCAPE = re.compile(r"''|\\[0nr]")


def canal_convert(column: Column) -> Convert | None:
    """Return a function that converts a column's values to canonical text; ``None`` if they already are."""
    if column.type in LABEL_TYPES:
        return label_convert(column)
    if column.type is MySQLType.FLOAT:
        return go_float
    return _binary if column.is_binary else None


def canal_type_convert(mysql_type: str) -> Convert | None:
    """Return the same for a column, if only the message's ``mysqlType`` is known."""
    name = _NAME.match(mysql_type)
    kind = "" if name is None else name[0]
    if kind in ("enum", "set") and "(" in mysql_type:
        labels = tuple(_ESCAPE.sub(lambda found: _ESCAPES[found[0]], text) for text in _LABEL.findall(mysql_type))
        return label_convert(Column(0, "", MySQLType[kind.upper()], -1, -1, elems=labels))
    if kind == "float":
        return go_float
    return _binary if kind in BINARY_TYPES else None


def _binary(value: str) -> str:
    return raw_text(value.encode("latin-1"))


_OPS: Mapping[str, RowOp] = {"INSERT": "insert", "UPDATE": "update", "DELETE": "delete"}
_WATERMARK = "TIDB_WATERMARK"
_NO_EXTENSION: Mapping[str, Any] = {}
_TEXT_OR_NULL = frozenset({str, type(None)})


class CanalJsonReader(RecordReader):
    """Reads the records of a topic, and the rows of a storage sink's files, each of which ends with ``terminator``. The
    ``message`` of an event has the members of its JSON object. Other options and errors: see :class:`RecordReader`.
    """

    def __init__(self, compression: str = "none", *, terminator: str = "\r\n", **options: Any) -> None:
        super().__init__(compression, **options)
        self._terminator = terminator
        self._converts = per_table(canal_convert)
        self._checked: dict[tuple[str, str], tuple[Any, ...]] = {}

    def _event(self, key: bytes | None, value: bytes | None) -> Event:
        if key:
            raise DecodeError("not a Canal-JSON message: its key should be empty", part="key")
        if not value:
            raise DecodeError("not a Canal-JSON message: it has no value", part="value")
        members = _members(self._unpacked(value))
        kind = member(members, "type", str)
        extension = members.get("_tidb", _NO_EXTENSION)
        if not isinstance(extension, dict):
            raise DecodeError("a member is not an object", part="value", member="_tidb")
        member(members, "ts", int)
        es = millis(members, "es")
        if kind in _OPS and not member(members, "isDdl", bool):
            return self._row(_OPS[kind], es, members, extension)
        if kind == _WATERMARK:
            return WatermarkEvent(tso(extension, "watermarkTs") if "watermarkTs" in extension else 0, members)
        if not member(members, "isDdl", bool):
            raise DecodeError(f"{kind!r} is not a type of Canal-JSON messages", part="value")
        database, table = member(members, "database", str), member(members, "table", str)
        commit_ts = tso(extension, "commitTs") if "commitTs" in extension else None
        return DdlEvent(member(members, "sql", str), commit_ts, database, table, es, members)

    def _row(self, op: RowOp, es: int, members: Mapping[str, Any], extension: Mapping[str, Any]) -> RowEvent:
        data, old, commit_ts, claim = _image_in(members, "data"), None, None, None
        if op == "update":
            old = _image_in(members, "old")
        if data is None or (op == "update" and old is None):
            lacking = "data" if data is None else "old"
            raise DecodeError(f"{op.upper()} lacks an image", part="value", member=lacking)
        if extension:
            commit_ts = tso(extension, "commitTs")
            claim = extension.get("claimCheckLocation")
            if claim is not None and not isinstance(claim, str):
                raise DecodeError("a member is not text", part="value", member="claimCheckLocation")
        database, table = member(members, "database", str), member(members, "table", str)
        types = members.get("pkNames"), members.get("mysqlType"), members.get("sqlType")
        if self._checked.get((database, table)) != types:  # most rows of a table have the same
            _check_types(members)
            self._checked[database, table] = types
        before, after = (data, None) if op == "delete" else (old, data)
        is_part = claim is not None or extension.get("onlyHandleKey") is True
        return RowEvent(database, table, op, commit_ts, before, after, None, es, None, is_part, claim, members)

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

    def _image(self, event: RowEvent, image: Image, table: TableInfo | None) -> dict[str, str | None]:
        if table is not None:
            return converted(image, self._converts(table), table=event.table)
        kinds = (event.message.get("mysqlType") or {}).items()
        converts = {name: canal_type_convert(kind) for name, kind in kinds if name in image}
        return converted(image, {name: each for name, each in converts.items() if each}, table=event.table)

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        return tuple(event.message.get("pkNames") or ())

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        images = (None if image is None else frozenset(image.items()) for image in (event.before, event.after))
        parts = event.handle_key_only, event.claim_check is not None
        return event.op, event.commit_ms, event.commit_ts, *images, parts


def _check_types(members: Mapping[str, Any]) -> None:
    if members.get("pkNames") is not None:
        texts(members, "pkNames")
    for name, kind in (("mysqlType", str), ("sqlType", int)):
        types = member(members, name, dict) if members.get(name) is not None else {}
        if not all(isinstance(each, kind) for each in types.values()):
            raise DecodeError(f"a type is not {kind.__name__}", part="value", member=name)


def _members(value: bytes) -> dict[str, Any]:
    try:
        members = orjson.loads(value)
        check_depth(members, value)
    except ValueError as fault:
        raise DecodeError(f"the value is not JSON: {fault}", part="value") from fault
    if not isinstance(members, dict):
        raise DecodeError("the value is not a JSON object", part="value")
    return members


def _image_in(members: Mapping[str, Any], name: str) -> dict[str, str | None] | None:
    rows = members.get(name)
    if rows is None:
        return None
    if not isinstance(rows, list) or len(rows) != 1 or not isinstance(rows[0], dict):
        raise DecodeError("TiCDC sends lists of one row", part="value", member=name)
    image: dict[str, str | None] = rows[0]
    if not _TEXT_OR_NULL.issuperset(map(type, image.values())):
        raise DecodeError("a value of Canal-JSON is text or null", part="value", member=name)
    return image


def make_reader(inputs: ReaderInputs) -> EventReader:
    return CanalJsonReader(terminator=inputs.config.codec.terminator, **record_options(inputs))
