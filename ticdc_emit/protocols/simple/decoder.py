"""Simple, read: the events of records in both encodings, and the tables that they describe.

Values in Avro have no header: each is a ``Message`` of ``simple_message.avsc``. :class:`AvroMembers` removes the
differences between the encodings: the database is ``schema``, a BIT's default is a number, numbers from 2^63 on are
positive, null members are left out. Rule source: ``pingcap/tiflow: pkg/sink/codec/simple/avro.go``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any, Literal, TypeVar

from ticdc_emit.errors import ConfigError, SchemaError, UnknownTableError, importing
from ticdc_emit.protocols.canonical_text import WORD, converted, per_table
from ticdc_emit.protocols.consumer_tables import Lookup, Outcome, TableRows, Tables, rows_unknown
from ticdc_emit.protocols.decoder import EventReader, ReaderInputs, RecordReader, record_options
from ticdc_emit.protocols.events import (
    BootstrapEvent,
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
from ticdc_emit.protocols.simple.schema import DDL_TYPES, VERSION, described_table
from ticdc_emit.protocols.simple.values import SimpleChecksum, SimpleTimestamp, check_images, simple_convert
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent as SchemaEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.nodes.alter import ChangePartitions, ExchangePartition
from ticdc_emit.sql.nodes.statements import AlterTable
from ticdc_emit.sql.script import parse_ddl

_UNSIGNED = ("commitTs", "schemaVersion")
_NAMESPACE = "com.pingcap.simple.avro."


class AvroMembers:
    """Reads values. Raises :class:`~ticdc_emit.errors.MissingDependencyError` without fastavro."""

    def __init__(self) -> None:
        with importing("reading Simple Avro messages needs fastavro", extra="avro"):
            import fastavro
        text = (files("ticdc_emit.protocols.simple") / "simple_message.avsc").read_text(encoding="utf-8")
        self._read = fastavro.schemaless_reader
        self._schema = fastavro.parse_schema(json.loads(text))

    def __call__(self, value: bytes) -> dict[str, Any]:
        """Return the members of a message. Raises :class:`DecodeError` for other bytes."""
        stream = io.BytesIO(value)
        try:
            # A BIT's default is bytes in a string; in any other place such bytes are refused below.
            read: Any = self._read(
                stream, self._schema, None, return_record_name=True, handle_unicode_errors="surrogateescape"
            )
        except Exception as fault:  # fastavro raises EOFError, IndexError, ValueError and others
            raise DecodeError(f"the value is not a Simple Avro message: {type(fault).__name__} {fault}") from fault
        if stream.tell() != len(value):
            raise DecodeError("the value is not a Simple Avro message: some bytes are left over")
        name, message = read
        if name != f"{_NAMESPACE}Message":
            raise DecodeError(f"the value is a {name}, not a Message")
        branch, payload = message["payload"]
        kind: str = message["type"]
        if branch.removeprefix(_NAMESPACE).upper() != kind:
            raise DecodeError(f"the message says that it is a {kind}, but it holds a {branch}")
        return _members(kind, payload)


def _members(kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    members = {name: member for name, member in payload.items() if member is not None}
    members.setdefault("type", kind)
    for name in ("data", "old"):
        if name in members:
            members[name] = {column: _value(value) for column, value in members[name].items()}
    for name in ("tableSchema", "preTableSchema"):
        if name in members:
            members[name] = _avro_table_schema(members[name])
    if "checksum" in members:
        members["checksum"] = _record(members["checksum"])
    _as_unsigned(members, _UNSIGNED)
    try:  # a string that is not UTF-8 has surrogates
        json.dumps(members, ensure_ascii=False, default=lambda each: getattr(each, "__dict__", None)).encode()
    except UnicodeEncodeError as fault:
        raise DecodeError("a string of the message is not UTF-8") from fault
    return members


def _record(value: Any) -> dict[str, Any]:
    return dict(value[1] if isinstance(value, tuple) else value)


def _as_unsigned(members: dict[str, Any], names: tuple[str, ...]) -> None:
    members.update({name: members[name] & WORD for name in names if name in members})


def _value(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    name, fields = value
    if name == f"{_NAMESPACE}Timestamp":
        return SimpleTimestamp(fields["location"], fields["value"])
    return fields["value"] & WORD


def _avro_table_schema(value: Any) -> dict[str, Any]:
    members = _record(value)
    members["schema"] = members.pop("database")
    members["columns"] = [_avro_column(column) for column in members["columns"]]
    _as_unsigned(members, ("version",))
    return members


def _avro_column(column: Mapping[str, Any]) -> dict[str, Any]:
    kind = {name: member for name, member in column["dataType"].items() if member is not None}
    default = column["default"]
    if kind["mysqlType"] == "bit" and default is not None:
        default = int.from_bytes(default.encode(errors="surrogateescape"), "big")
    return {**column, "dataType": kind, "default": default}


_OPS: Mapping[str, RowOp] = {"INSERT": "insert", "UPDATE": "update", "DELETE": "delete"}
_IMAGES = {"INSERT": ("data",), "UPDATE": ("data", "old"), "DELETE": ("old",)}
_MADE_ANEW = frozenset({"buildTs", "claimCheckLocation"})
_SCHEMAS = ("preTableSchema", "tableSchema")
_T = TypeVar("_T")


class SimpleReader(RecordReader):
    """Reads the records of a topic. Without a table, types are those of DDL and BOOTSTRAP messages.

    The ``message`` of an event has its members: ``tableSchema`` and ``preTableSchema`` as ``TableInfo``, ``checksum``
    as :class:`SimpleChecksum`, TIMESTAMP values as :class:`SimpleTimestamp`.

    ``encoding``: ``json``, or ``avro``, which needs fastavro; ``zone``: the changefeed's time zone;
    ``handle_key_deletes``: its ``delete-only-output-handle-key-columns``. Otherwise as :class:`RecordReader`.
    """

    def __init__(
        self,
        encoding: Literal["json", "avro"] = "json",
        compression: str = "none",
        *,
        zone: str = "UTC",
        handle_key_deletes: bool = False,
        **options: Any,
    ) -> None:
        if encoding not in ("json", "avro"):
            raise ConfigError(f"Simple has no encoding {encoding!r}", remedy="Use json or avro", option="encoding")
        super().__init__(compression, **options)
        self._shows_schemas = encoding == "avro" or compression != "none"
        self._members: Callable[[bytes], dict[str, Any]] = AvroMembers() if encoding == "avro" else _json_members
        self._handle_key_deletes = handle_key_deletes
        self._shown: dict[tuple[str, str, int], TableInfo] = {}
        self._converts = per_table(lambda column: simple_convert(column, zone))

    def _event(self, key: bytes | None, value: bytes | None) -> Event:
        if key:
            raise DecodeError("not a Simple message: its key should be empty", part="key")
        if not value:
            raise DecodeError("not a Simple message: it has no value", part="value")
        members = self._members(self._unpacked(value))
        version, kind = member(members, "version", int), member(members, "type", str)
        if version != VERSION:
            raise DecodeError(
                f"version {version} of the Simple protocol is unknown",
                remedy="Use a newer release of ticdc_emit",
                part="value",
            )
        member(members, "buildTs", int)
        if kind in _OPS:
            return _row(kind, members)
        if kind == "WATERMARK":
            return WatermarkEvent(tso(members, "commitTs"), members)
        if kind != "BOOTSTRAP" and kind not in DDL_TYPES:
            raise DecodeError(f"{kind!r} is not a type of Simple messages", part="value")
        for name in _SCHEMAS:
            described = _optional(members, name, dict)
            members[name] = None if described is None else described_table(described)
        for table in (members["preTableSchema"], members["tableSchema"]):
            if table is not None:
                self._shown.setdefault((table.schema, table.name, table.version), table)
        table = members["tableSchema"] or members["preTableSchema"]
        if kind == "BOOTSTRAP":
            if table is None:
                raise DecodeError("the message lacks a member", part="value", member="tableSchema")
            return BootstrapEvent(table.schema, table.name, table.version, None, members)
        schema, name = ("", "") if table is None else (table.schema, table.name)
        return DdlEvent(member(members, "sql", str), tso(members, "commitTs"), schema, name, None, members)

    def learn(self, key: bytes | None, value: bytes | None) -> None:
        # a row in JSON is not parsed: most records are rows, and only others contain this name
        if self._shows_schemas or b"ableSchema" in (value or b""):
            self.read(key, value)

    def knows(self, event: RowEvent) -> bool:
        return self.shown(event) is not None

    def shown(self, event: RowEvent) -> TableInfo | None:
        """Return the table that messages have shown for the row's version, ``None`` if none has."""
        return self._shown.get((event.schema, event.table, event.schema_version or 0))

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        return _handle_key(self.shown(event)) if event.key is None else super().key_names(event)

    def likely_key_names(self, event: RowEvent) -> tuple[str, ...]:
        versions = [version for *name, version in self._shown if name == [event.schema, event.table]]
        newest = self._shown[event.schema, event.table, max(versions)] if versions else None
        return self.key_names(event) or _handle_key(newest)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        members = {name: value for name, value in event.message.items() if name not in _MADE_ANEW}
        images = {"data": in_any_order(event.after), "old": in_any_order(event.before)}
        return repr(members | images | {"claimed": event.claim_check is not None})

    def check(self, event: RowEvent) -> None:
        """Compare a row with its checksums, if it has all columns and a message has shown its table."""
        stated, table = event.message.get("checksum"), self.shown(event)
        partial = event.handle_key_only or (event.op == "delete" and self._handle_key_deletes)
        if stated is not None and table is not None and not partial:
            check_images(event, stated, table)

    def is_corrupted(self, event: RowEvent) -> bool:
        stated: SimpleChecksum | None = event.message.get("checksum")
        return stated is not None and stated.corrupted

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        return SimpleTables(catalog, self, zone, lookup)

    def _image(self, event: RowEvent, image: Image, table: TableInfo | None) -> dict[str, str | None]:
        """Return one image of the event in canonical text, in table order: messages show columns by name."""
        if table is None:
            table = self.table(event)
        shown = converted(image, self._converts(table), table=event.table)
        ordered = {column.name: shown[column.name] for column in table.row_columns if column.name in shown}
        return ordered if len(ordered) == len(shown) else ordered | shown

    def table(self, event: RowEvent) -> TableInfo:
        """Return the table that messages have shown for the row's version; ``UnknownTableError`` if none has."""
        table = self.shown(event)
        if table is None:
            raise UnknownTableError(
                "no DDL or BOOTSTRAP has shown this version of the table",
                remedy="Read the topic from an earlier offset",
                table=f"{event.schema}.{event.table}",
                version=event.schema_version,
            )
        return table


def _json_members(value: bytes) -> dict[str, Any]:
    members = document(value, "value")
    for name in ("data", "old"):
        image = members.get(name)
        if isinstance(image, dict):
            members[name] = {column: _json_value(column, cell) for column, cell in image.items()}
    return members


def _json_value(column: str, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict) and len(value) == 2:
        return SimpleTimestamp(member(value, "location", str), member(value, "value", str))
    raise DecodeError("a value of Simple JSON is text, null or a TIMESTAMP", part="value", field=column)


def _optional(members: Mapping[str, Any], name: str, kind: type[_T]) -> _T | None:
    return member(members, name, kind) if name in members else None


def _row(kind: str, members: dict[str, Any]) -> RowEvent:
    images = {name: _optional(members, name, dict) for name in ("data", "old")}
    for name, image in images.items():
        if (image is not None) != (name in _IMAGES[kind]):
            raise DecodeError(f"{kind} {'lacks' if image is None else 'has no'} {name}", part="value")
    stated = _optional(members, "checksum", dict)
    if stated is not None:
        version, corrupted = member(stated, "version", int), member(stated, "corrupted", bool)
        sums = member(stated, "current", int), member(stated, "previous", int)
        members["checksum"] = SimpleChecksum(version, corrupted, *sums)
    member(members, "tableID", int)
    if "startTs" in members:
        tso(members, "startTs")
    return RowEvent(
        member(members, "database", str),
        member(members, "table", str),
        _OPS[kind],
        tso(members, "commitTs"),
        images["old"],
        images["data"],
        None,
        None,
        tso(members, "schemaVersion"),
        member(members, "handleKeyOnly", bool, False),
        _optional(members, "claimCheckLocation", str),
        members,
    )


def _handle_key(table: TableInfo | None) -> tuple[str, ...]:
    return () if table is None else table.handle_key_names


class SimpleTables(Tables):
    """``catalog``: tables before the first event, if any are known; it is changed."""

    def __init__(self, catalog: Catalog, reader: SimpleReader, zone: str, lookup: Lookup | None = None) -> None:
        super().__init__(catalog, reader, zone, lookup)
        self._events = reader

    def has_handle_key(self, event: RowEvent) -> bool:
        shown = self._events.shown(event) if (event.schema, event.table) not in self._tables else None
        return super().has_handle_key(event) if shown is None else bool(shown.whole_handle_key)

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        if (event.schema, event.table) not in self._tables and self._version(event, commit) is None:
            shown = self._events.shown(event)
            if shown is not None:
                self._adopt(_without_hidden_keys(shown, event))
        return super().row(event, commit, place)

    def _made(self, event: DdlEvent, commit: int) -> tuple[SchemaEvent, ...]:
        try:
            return super()._made(event, commit)
        except SchemaError:
            before, table = (event.message[name] for name in _SCHEMAS)
            for shown in (before, table):
                self._catalog.ensure_database("" if shown is None else shown.schema)
            if before is not None:
                self._adopt(before)
        try:
            return super()._made(event, commit)
        except SchemaError:
            return self._as_described(event, table, commit)

    def _adopt(self, info: TableInfo) -> None:
        if (info.schema, info.name) not in self._tables and self._catalog.adopt(info, commit_ts=info.version):
            self._tables[info.schema, info.name] = TableRows(info, info.version)

    def _as_described(self, event: DdlEvent, info: TableInfo | None, commit: int) -> tuple[SchemaEvent, ...]:
        if info is None:
            return ()  # for a database whose tables are not known
        before = self._tables.get((event.schema, event.table))
        if before is not None:
            if before.rows and _loses_rows(event.query):
                raise rows_unknown(event)
            info = _continuing(before.info, info)
        self._catalog.adopt(info, commit_ts=commit)
        old = None if before is None else before.info
        return (SchemaEvent(event.query, "alter table", info.schema, info.name, info, old, commit),)


def _without_hidden_keys(info: TableInfo, event: RowEvent) -> TableInfo:
    image = event.after if event.after is not None else event.before or {}
    if event.handle_key_only:
        return info
    shown = tuple(index for index in info.indexes if image.keys() >= set(index.columns))
    return replace(info, indexes=shown)


def _continuing(before: TableInfo, info: TableInfo) -> TableInfo:
    known = {column.name.lower(): column for column in before.columns}
    last = max((column.id for column in before.columns), default=0)
    columns = []
    for column in info.columns:
        previous = known.get(column.name.lower())
        if previous is None:
            columns.append(replace(column, id=last + column.id))
        elif previous.is_virtual:
            virtual = replace(column, generated=previous.generated, generated_expr=previous.generated_expr)
            columns.append(replace(virtual, id=previous.id))
        else:
            columns.append(replace(column, id=previous.id))
    return replace(info, columns=tuple(columns))


def _loses_rows(query: str) -> bool:
    try:
        statement = parse_ddl(query)
    except SchemaError:
        return False
    return isinstance(statement, AlterTable) and any(
        isinstance(spec, ExchangePartition)
        or (isinstance(spec, ChangePartitions) and spec.kind in ("drop", "truncate"))
        for spec in statement.specs
    )


def make_reader(inputs: ReaderInputs) -> EventReader:
    codec = inputs.config.codec
    return SimpleReader(
        "avro" if codec.encoding_format == "avro" else "json",
        zone=inputs.config.time_zone,
        handle_key_deletes=codec.delete_only_output_handle_key_columns,
        **record_options(inputs),
    )
