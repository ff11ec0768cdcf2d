"""Simple, read: records of both encodings as messages, their events, and the tables that they describe.

In: a record. Out: a row, a DDL, a BOOTSTRAP or a watermark (:class:`SimpleRow` ...), its event, and images in canonical
text. Values in Avro have no header: each is a ``Message`` of ``simple_message.avsc``, a union of all record types;
fastavro decodes. :class:`AvroMembers` removes the differences between the encodings: a table schema's database is
``schema``, a BIT's default is a number, numbers from 2^63 on are positive, members that are null are left out. Rule
source: reference ``pingcap/tiflow: pkg/sink/codec/simple/avro.go``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Literal, TypeAlias, TypeVar

from ticdc_emit.errors import ConfigError, MissingDependencyError, SchemaError, UnknownTableError
from ticdc_emit.protocols.canonical_text import Convert, by_column, converted, per_object
from ticdc_emit.protocols.consumer_tables import Lookup, Outcome, TableRows, Tables
from ticdc_emit.protocols.decoder import (
    MAX_DECOMPRESSED_BYTES,
    Claims,
    EventReader,
    ReaderInputs,
    Recognizer,
    decompressor,
)
from ticdc_emit.protocols.events import (
    PARTITIONS_UNKNOWN,
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
    objects,
    texts,
    tso,
)
from ticdc_emit.protocols.simple.schema import (
    DDL_TYPES,
    VERSION,
    SimpleColumn,
    SimpleIndex,
    SimpleTableSchema,
    simple_table,
)
from ticdc_emit.protocols.simple.values import SimpleChecksum, SimpleTimestamp, check_images, simple_convert
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent as SchemaEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.nodes.alter import ChangePartitions, ExchangePartition
from ticdc_emit.sql.nodes.statements import AlterTable
from ticdc_emit.sql.script import parse_ddl


@dataclass(frozen=True)
class SimpleRow:
    """A row change. ``op``: ``INSERT``, ``UPDATE`` or ``DELETE``; ``data`` is the row after it, ``old`` before it.

    Values are those of the encoding; :func:`row_values` reads them by the table's
    schema. JSON: text, :class:`SimpleTimestamp` or ``None``. Avro: numbers, text, bytes, :class:`SimpleTimestamp` or
    ``None``.

    ``handle_key_only``: the message was too large and has only the handle key's columns; ``claim_check`` is where the
    whole one is stored, if it is. ``start_ts``: the TSO at which the transaction began, if the message has it.
    """

    database: str
    table: str
    table_id: int
    op: str
    commit_ts: int
    build_ts: int
    schema_version: int
    checksum: SimpleChecksum | None = None
    data: Mapping[str, Any] | None = None
    old: Mapping[str, Any] | None = None
    handle_key_only: bool = False
    claim_check: str | None = None
    start_ts: int | None = None


@dataclass(frozen=True)
class SimpleDdl:
    """A statement. ``type``: ``CREATE``, ``RENAME``, ``CINDEX``, ``DINDEX``, ``ERASE``, ``TRUNCATE``, ``ALTER`` or
    ``QUERY``. Both schemas are ``None`` for a database's DDL, ``pre_table_schema`` for a table that is new.
    """

    type: str
    sql: str
    commit_ts: int
    build_ts: int
    table_schema: SimpleTableSchema | None = None
    pre_table_schema: SimpleTableSchema | None = None


@dataclass(frozen=True)
class SimpleWatermark:
    """Everything up to ``commit_ts`` has been sent to this partition."""

    commit_ts: int
    build_ts: int


@dataclass(frozen=True)
class SimpleBootstrap:
    """The schema of a table whose rows are being sent."""

    build_ts: int
    table_schema: SimpleTableSchema


SimpleMessage: TypeAlias = "SimpleRow | SimpleDdl | SimpleWatermark | SimpleBootstrap"
_WORD = (1 << 64) - 1
_UNSIGNED = ("commitTs", "schemaVersion")
_NAMESPACE = "com.pingcap.simple.avro."


class AvroMembers:
    """Reads values. Raises :class:`~ticdc_emit.errors.MissingDependencyError` without fastavro."""

    def __init__(self) -> None:
        try:
            import fastavro
        except ImportError:
            raise MissingDependencyError("reading Simple Avro messages needs fastavro", extra="avro") from None
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
    return _checked(members)


def _record(value: Any) -> dict[str, Any]:
    """Return a record's fields, also for a record in a union, which fastavro returns with its name."""
    return dict(value[1] if isinstance(value, tuple) else value)


def _as_unsigned(members: dict[str, Any], names: tuple[str, ...]) -> None:
    members.update({name: members[name] & _WORD for name in names if name in members})


def _value(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    name, fields = value
    if name == f"{_NAMESPACE}Timestamp":
        return SimpleTimestamp(fields["location"], fields["value"])
    return fields["value"] & _WORD


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


def _checked(members: dict[str, Any]) -> dict[str, Any]:
    """Refuse strings that are not UTF-8."""

    def check(part: Any) -> None:
        if isinstance(part, str):
            part.encode()
        elif isinstance(part, Mapping):
            for name, member in part.items():
                check(name)
                check(member)
        elif isinstance(part, list):
            for member in part:
                check(member)
        elif isinstance(part, SimpleTimestamp):
            check([part.location, part.value])

    try:
        check(members)
    except UnicodeEncodeError as fault:
        raise DecodeError("a string of the message is not UTF-8") from fault
    return members


_ROWS = {"INSERT": ("data",), "UPDATE": ("data", "old"), "DELETE": ("old",)}
_T = TypeVar("_T")


class SimpleReader:
    """Reads the records of a topic.

    ``encoding``: the changefeed's ``encoding-format``, ``json`` or ``avro``; ``compression``: its
    ``large-message-handle-compression``; ``max_decompressed_bytes``: the limit of a value. Raises
    :class:`~ticdc_emit.errors.ConfigError` for another encoding or compression, and
    :class:`~ticdc_emit.errors.MissingDependencyError` without fastavro for ``avro``, without cramjam for a compression.
    """

    def __init__(
        self,
        encoding: Literal["json", "avro"] = "json",
        compression: str = "none",
        *,
        max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
    ) -> None:
        if encoding not in ("json", "avro"):
            raise ConfigError(f"Simple has no encoding {encoding!r}", remedy="Use json or avro", option="encoding")
        self.encoding = encoding
        self.packed = compression != "none"
        """Whether values may be compressed."""
        self._unpacked = decompressor(compression, max_decompressed_bytes=max_decompressed_bytes)
        self._members: Callable[[bytes], Mapping[str, Any]] = AvroMembers() if encoding == "avro" else _json_members

    def read(self, key: bytes | None, value: bytes | None) -> SimpleMessage:
        """Return the message in a record. Raises :class:`DecodeError` if it is not a Simple message."""
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
        if kind in _ROWS:
            return _row(kind, members)
        if kind in DDL_TYPES:
            return _ddl(kind, members)
        if kind == "WATERMARK":
            return SimpleWatermark(tso(members, "commitTs"), member(members, "buildTs", int))
        if kind == "BOOTSTRAP":
            return SimpleBootstrap(member(members, "buildTs", int), _table_schema(member(members, "tableSchema", dict)))
        raise DecodeError(f"{kind!r} is not a type of Simple messages", part="value")


def _json_members(value: bytes) -> Mapping[str, Any]:
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


def _row(op: str, members: Mapping[str, Any]) -> SimpleRow:
    images = {name: _optional(members, name, dict) for name in ("data", "old")}
    for name, image in images.items():
        if (image is not None) != (name in _ROWS[op]):
            raise DecodeError(f"{op} {'lacks' if image is None else 'has no'} {name}", part="value")
    checksum = _optional(members, "checksum", dict)
    return SimpleRow(
        database=member(members, "database", str),
        table=member(members, "table", str),
        table_id=member(members, "tableID", int),
        op=op,
        commit_ts=tso(members, "commitTs"),
        build_ts=member(members, "buildTs", int),
        schema_version=tso(members, "schemaVersion"),
        checksum=None if checksum is None else _checksum(checksum),
        data=images["data"],
        old=images["old"],
        handle_key_only=member(members, "handleKeyOnly", bool, False),
        claim_check=_optional(members, "claimCheckLocation", str),
        start_ts=tso(members, "startTs") if "startTs" in members else None,
    )


def _checksum(members: Mapping[str, Any]) -> SimpleChecksum:
    return SimpleChecksum(
        member(members, "version", int),
        member(members, "corrupted", bool),
        member(members, "current", int),
        member(members, "previous", int),
    )


def _ddl(kind: str, members: Mapping[str, Any]) -> SimpleDdl:
    table, pre_table = (_optional(members, name, dict) for name in ("tableSchema", "preTableSchema"))
    return SimpleDdl(
        kind,
        member(members, "sql", str),
        tso(members, "commitTs"),
        member(members, "buildTs", int),
        None if table is None else _table_schema(table),
        None if pre_table is None else _table_schema(pre_table),
    )


def _table_schema(members: Mapping[str, Any]) -> SimpleTableSchema:
    return SimpleTableSchema(
        member(members, "schema", str),
        member(members, "table", str),
        member(members, "tableID", int),
        tso(members, "version"),
        tuple(_column(column) for column in objects(members, "columns")),
        tuple(_index(index) for index in objects(members, "indexes")),
    )


def _column(members: Mapping[str, Any]) -> SimpleColumn:
    kind = member(members, "dataType", dict)
    default = members.get("default")
    if isinstance(default, bool) or not isinstance(default, str | int | None):
        raise DecodeError("a default is neither text nor number", part="value", member="default")
    return SimpleColumn(
        name=member(members, "name", str),
        mysql_type=member(kind, "mysqlType", str),
        charset=member(kind, "charset", str),
        collate=member(kind, "collate", str),
        nullable=member(members, "nullable", bool),
        default=default,
        length=member(kind, "length", int, 0),
        decimal=member(kind, "decimal", int, 0),
        elements=texts(kind, "elements") if "elements" in kind else (),
        unsigned=member(kind, "unsigned", bool, False),
        zerofill=member(kind, "zerofill", bool, False),
    )


def _index(members: Mapping[str, Any]) -> SimpleIndex:
    return SimpleIndex(
        member(members, "name", str),
        member(members, "unique", bool),
        member(members, "primary", bool),
        member(members, "nullable", bool),
        texts(members, "columns"),
    )


_MADE_ANEW = frozenset({"build_ts", "claim_check"})
_OPS: dict[str, RowOp] = {"INSERT": "insert", "UPDATE": "update", "DELETE": "delete"}


class SimpleEvents(EventReader):
    """A reader of either encoding of the Simple protocol.

    Rows do not contain their types. Without a table, the schemas from DDL and BOOTSTRAP messages are used.
    """

    def __init__(self, inputs: ReaderInputs) -> None:
        codec = inputs.config.codec
        handle = codec.large_message_handle
        self._reader = SimpleReader(
            "avro" if codec.encoding_format == "avro" else "json",
            handle.compression,
            max_decompressed_bytes=inputs.max_decompressed_bytes,
        )
        self._claims = Claims(inputs.claims, self._reader.read, raw_value=handle.claim_check_raw_value)
        self._zone = inputs.config.time_zone
        self._handle_key_deletes = codec.delete_only_output_handle_key_columns
        self._shown: dict[tuple[str, str, int], TableInfo] = {}
        self._converts = per_object(self._converts_of)
        self._names = per_object(_names_of)

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        message = self._reader.read(key, value)
        if isinstance(message, SimpleRow):
            return _row_event(self._claims.whole(message))
        if isinstance(message, SimpleDdl):
            self._learn(message.pre_table_schema)
            self._learn(message.table_schema)
            table = message.table_schema or message.pre_table_schema
            schema, name = ("", "") if table is None else (table.schema, table.table)
            return DdlEvent(message.sql, message.commit_ts, schema, name, None, message)
        if isinstance(message, SimpleBootstrap):
            self._learn(message.table_schema)
            schema_of = message.table_schema
            return BootstrapEvent(schema_of.schema, schema_of.table, schema_of.version, None, message)
        assert isinstance(message, SimpleWatermark)
        return WatermarkEvent(message.commit_ts, message)

    def learn(self, key: bytes | None, value: bytes | None) -> None:
        """Read the table schemas of a record of any kind; raises the errors of :meth:`read`."""
        # a row in JSON is not parsed: most records are rows, and only others contain this name
        if self._reader.encoding == "avro" or self._reader.packed or b"ableSchema" in (value or b""):
            self.read(key, value)

    def knows(self, event: RowEvent) -> bool:
        """Return whether messages have shown the table for the row's version."""
        return self.shown(event) is not None

    def shown(self, event: RowEvent) -> TableInfo | None:
        """Return the table that messages have shown for the row's version, ``None`` if none has."""
        return self._shown.get((event.schema, event.table, event.schema_version or 0))

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return the columns of the handle key; ``()`` for a table without one, or if no message has shown it."""
        return _handle_key(self.shown(event)) if event.key is None else super().key_names(event)

    def likely_key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return those of the row's version, else of the newest version that messages have shown."""
        versions = [version for *name, version in self._shown if name == [event.schema, event.table]]
        newest = self._shown[event.schema, event.table, max(versions)] if versions else None
        return self.key_names(event) or _handle_key(newest)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        row: SimpleRow = event.message
        members = {name: value for name, value in vars(row).items() if name not in _MADE_ANEW}
        members |= {
            "data": in_any_order(row.data),
            "old": in_any_order(row.old),
            "claimed": row.claim_check is not None,
        }
        return repr(members)

    def check(self, event: RowEvent) -> None:
        """Compare a row with its checksums, if it has all columns and a message has shown its table."""
        stated, table = event.message.checksum, self.shown(event)
        partial = event.handle_key_only or (event.op == "delete" and self._handle_key_deletes)
        if stated is not None and table is not None and not partial:
            check_images(event, stated, table)

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        """Return tables that follow the schemas in messages."""
        return SimpleTables(catalog, self, zone, lookup)

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event in canonical text, in table order: messages show columns by name."""
        if image is None:
            return None
        if table is None:
            table = self.table(event)
        shown = converted(image, self._converts(table), table=event.table)
        ordered = {name: shown[name] for name in self._names(table) if name in shown}
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

    def _converts_of(self, table: TableInfo) -> dict[str, Convert]:
        return by_column(table.columns, lambda column: simple_convert(column, self._zone))

    def _learn(self, schema: SimpleTableSchema | None) -> None:
        if schema is not None:
            place = schema.schema, schema.table, schema.version
            if place not in self._shown:
                self._shown[place] = simple_table(schema)


def _handle_key(table: TableInfo | None) -> tuple[str, ...]:
    return () if table is None else table.handle_key_names


def _names_of(table: TableInfo) -> list[str]:
    return [column.name for column in table.row_columns]


def _row_event(message: SimpleRow) -> RowEvent:
    return RowEvent(
        message.database,
        message.table,
        _OPS[message.op],
        message.commit_ts,
        message.old,
        message.data,
        None,
        None,
        message.schema_version,
        message.handle_key_only,
        message.claim_check,
        message,
    )


class SimpleTables(Tables):
    """``catalog``: tables before the first event, if any are known; it is changed."""

    def __init__(self, catalog: Catalog, reader: SimpleEvents, zone: str, lookup: Lookup | None = None) -> None:
        super().__init__(catalog, reader, zone, lookup)
        self._events = reader

    def has_handle_key(self, event: RowEvent) -> bool:
        """Return whether the row's table is known to have a handle key."""
        shown = self._events.shown(event) if (event.schema, event.table) not in self._tables else None
        return super().has_handle_key(event) if shown is None else bool(shown.whole_handle_key)

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        """Apply a row event; :attr:`Outcome.UNKNOWN` for one of a version that no message has shown yet."""
        if (event.schema, event.table) not in self._tables and self._version(event, commit or 0) is None:
            shown = self._events.shown(event)
            if shown is not None:
                self._adopt(_without_hidden_keys(shown, event))
        return super().row(event, commit, place)

    def _made(self, event: DdlEvent, commit: int) -> tuple[SchemaEvent, ...]:
        try:
            return super()._made(event, commit)
        except SchemaError:
            message: SimpleDdl = event.message
            for schema in (message.pre_table_schema, message.table_schema):
                self._catalog.ensure_database("" if schema is None else schema.schema)
            if message.pre_table_schema is not None:
                self._adopt(simple_table(message.pre_table_schema))
        try:
            return super()._made(event, commit)
        except SchemaError:
            return self._as_told(event, message, commit)

    def _adopt(self, info: TableInfo) -> None:
        if (info.schema, info.name) not in self._tables and self._catalog.adopt(info, commit_ts=info.version):
            self._tables[info.schema, info.name] = TableRows(info, info.version)

    def _as_told(self, event: DdlEvent, message: SimpleDdl, commit: int) -> tuple[SchemaEvent, ...]:
        """Return the effect of a statement that the catalog cannot apply, from the table in the message."""
        if message.table_schema is None:
            return ()  # for a database whose tables are not known
        before = self._tables.get((event.schema, event.table))
        info = simple_table(message.table_schema)
        if before is not None:
            if before.rows and _loses_rows(event.query):
                raise DecodeError(
                    "the messages do not show which rows are in a partition",
                    remedy=PARTITIONS_UNKNOWN,
                    table=f"{event.schema}.{event.table}",
                    sql=event.query,
                )
            info = _continuing(before.info, info)
        self._catalog.adopt(info, commit_ts=commit)
        old = None if before is None else before.info
        return (SchemaEvent(event.query, "alter table", info.schema, info.name, info, old, commit),)


def _without_hidden_keys(info: TableInfo, event: RowEvent) -> TableInfo:
    """Return a table without indexes over virtual columns, which rows do not have."""
    image = event.after if event.after is not None else event.before or {}
    if event.handle_key_only:
        return info
    shown = tuple(index for index in info.indexes if image.keys() >= set(index.columns))
    return replace(info, indexes=shown)


def _continuing(before: TableInfo, info: TableInfo) -> TableInfo:
    """Return a version of a table whose columns have the ids of the previous columns of the same name.

    Virtual columns stay virtual: messages list them like others, and no statement makes them stored.
    """
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
    """Return whether the statement takes rows of a partition away: DROP, TRUNCATE or EXCHANGE PARTITION."""
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
    return SimpleEvents(inputs)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return functions that accept only these messages; without fastavro, only JSON."""
    readers: dict[str, list[Recognizer]] = {"simple-json": [SimpleReader("json").read]}
    with suppress(MissingDependencyError):
        readers["simple-avro"] = [SimpleReader("avro").read]
    return readers
