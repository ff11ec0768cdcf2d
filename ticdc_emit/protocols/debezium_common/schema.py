"""MySQL types as Kafka Connect types, and the structs of Debezium's DDL messages: what encoders and decoders both know.

Rule sources: protocol document "Data type mapping", "Schema"; semantics 2.4; ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ticdc_emit.config import ChangefeedConfig, CodecConfig
from ticdc_emit.config.switches import DebeziumSwitches
from ticdc_emit.protocols.names import escaped_label
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import TYPES, MySQLType, type_name

VERSION, CONNECTOR = "2.4.0.Final", "TiCDC"
"""What every ``source`` says of Debezium."""


@dataclass(frozen=True)
class DebeziumSettings:
    """What a changefeed says to encoders. ``cluster_id``: TiCDC's; it begins schema names. ``zone``: of TIMESTAMP."""

    codec: CodecConfig = field(default_factory=CodecConfig)
    cluster_id: str = "default"
    zone: str = "UTC"
    switches: DebeziumSwitches = DebeziumSwitches()

    @classmethod
    def of(cls, changefeed: ChangefeedConfig) -> DebeziumSettings:
        return cls(changefeed.codec, changefeed.cluster_id, changefeed.time_zone, changefeed.release.debezium)


class Connect(NamedTuple):
    """A Kafka Connect type. ``name``: its meaning, Debezium's semantic type."""

    type: str
    name: str | None = None
    version: int | None = None
    parameters: Mapping[str, str] = {}


_MILLIS_FSP = 3
MICRO_TIMESTAMP = "io.debezium.time.MicroTimestamp"
"""The semantic type of a DATETIME whose fraction has more digits than a millisecond has."""
_CONNECT = {
    kind: Connect(facts.connect, facts.connect_name, 1) if facts.connect_name else Connect(facts.connect)
    for kind, facts in TYPES.items()
} | {MySQLType.VECTOR_FLOAT32: Connect("string", TYPES[MySQLType.VECTOR_FLOAT32].connect_name)}
_WIDER_UNSIGNED = {MySQLType.SHORT: "int32", MySQLType.LONG: "int64"}

SEMANTIC_TYPES: Mapping[str, tuple[MySQLType, int]] = {
    **{
        facts.connect_name: (kind, 6 if kind in (MySQLType.TIMESTAMP, MySQLType.DURATION) else 0)
        for kind, facts in TYPES.items()
        if facts.connect_name and kind is not MySQLType.NEWDATE
    },
    TYPES[MySQLType.DATETIME].connect_name: (MySQLType.DATETIME, _MILLIS_FSP),
    MICRO_TIMESTAMP: (MySQLType.DATETIME, 6),
}
"""The MySQL type of each semantic type, and the fraction digits of its unit."""


def is_numeric_text(column: Column, codec: CodecConfig) -> bool:
    """Return whether messages in JSON show the numbers of a column as text."""
    if column.type is MySQLType.NEWDECIMAL:
        return codec.debezium_decimal_handling_mode == "string"
    unsigned = column.type is MySQLType.LONGLONG and column.unsigned
    return unsigned and codec.debezium_bigint_unsigned_handling_mode == "string"


def connect_type(column: Column, settings: DebeziumSettings) -> Connect:
    kind, switches = column.type, settings.switches
    if is_numeric_text(column, settings.codec):
        return Connect("string")
    if column.is_binary and settings.codec.debezium_binary_handling_mode == "bytes":
        return Connect("bytes")
    if column.unsigned and kind in _WIDER_UNSIGNED:
        return Connect(_WIDER_UNSIGNED[kind])
    connect = _CONNECT[kind]
    if kind is MySQLType.FLOAT:
        return connect if column.decimal < 0 else Connect(switches.declared_floats)
    if kind is MySQLType.DATETIME:
        return connect if column.decimal <= _MILLIS_FSP else connect._replace(name=MICRO_TIMESTAMP)
    if kind is MySQLType.BIT:
        return Connect("boolean") if column.flen == 1 else connect._replace(parameters={"length": str(column.flen)})
    if kind is MySQLType.ENUM:
        labels = map(escaped_label, column.elems) if switches.allowed_labels == "escaped" else column.elems
        return connect._replace(parameters={"allowed": ",".join(labels)})
    if kind is MySQLType.SET:
        return connect._replace(parameters={"allowed": ",".join(column.elems)})
    return connect


_BINARY_JDBC = frozenset(TYPES) - {MySQLType.UNSPECIFIED, MySQLType.NULL, MySQLType.GEOMETRY}


def jdbc_type(column: Column) -> int:
    facts = TYPES[column.type]
    return facts.binary_jdbc if column.is_binary and column.type in _BINARY_JDBC else facts.jdbc


SIGNLESS_TYPES = frozenset({MySQLType.YEAR, MySQLType.BIT, MySQLType.VARCHAR, MySQLType.STRING, MySQLType.NEWDECIMAL})
"""The types whose names never say UNSIGNED, and stand without a length."""


def tidb_type(column: Column) -> str:
    """Return the name of the type that the TiDB extension adds to a field."""
    name = type_name(column.type, column.charset)
    return f"{name} unsigned" if column.unsigned and column.type not in SIGNLESS_TYPES else name


class Struct(NamedTuple):
    """A Connect struct of version 1, by its full name."""

    name: str
    members: tuple[Member, ...]


class Member(NamedTuple):
    """A member of a struct. ``type``: a Connect type, a struct, or an array as the list of its items' type."""

    name: str
    type: Type
    optional: bool = False


Type: TypeAlias = "str | Struct | list[str] | list[Struct]"


def members_of(text: str) -> tuple[Member, ...]:
    """Return members from ``name:type``; a type with ``?`` is optional."""
    pairs = (entry.split(":") for entry in text.split())
    return tuple(Member(name, kind.rstrip("?"), kind.endswith("?")) for name, kind in pairs)


OP, TS_MS = members_of("op:string ts_ms:int64?")
TRANSACTION = Member(
    "transaction", Struct("event.block", members_of("id:string total_order:int64 data_collection_order:int64")), True
)
_COLUMN = Struct(
    "io.debezium.connector.schema.Column",
    (
        *members_of(
            "name:string jdbcType:int32 nativeType:int32? typeName:string typeExpression:string? charsetName:string? "
            "length:int32? scale:int32? position:int32 optional:boolean? autoIncremented:boolean? generated:boolean? "
            "comment:string? defaultValueExpression:string?"
        ),
        Member("enumValues", ["string"], True),
    ),
)
_TABLE = Struct(
    "io.debezium.connector.schema.Table",
    (
        Member("defaultCharsetName", "string", True),
        Member("primaryKeyColumnNames", ["string"], True),
        Member("columns", [_COLUMN]),
        Member("comment", "string", True),
    ),
)
_CHANGE = Struct(
    "io.debezium.connector.schema.Change", (*members_of("type:string id:string"), Member("table", _TABLE, True))
)
CHANGE_KEY = Struct("io.debezium.connector.mysql.SchemaChangeKey", members_of("databaseName:string"))
CHANGE_VALUE = Struct(
    "io.debezium.connector.mysql.SchemaChangeValue",
    (*members_of("ts_ms:int64 databaseName:string? schemaName:string? ddl:string?"), Member("tableChanges", [_CHANGE])),
)
"""The value of a schema change without ``source``, its first member."""
