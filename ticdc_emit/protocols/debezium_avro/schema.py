"""The options of Debezium in Avro from the sink URI, the changefeed, its profile and the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.avro import (
    Union,
    bit_flag_pieces,
    decimal_pieces,
    float_pieces,
    label_pieces,
    little_endian_pieces,
    long_pieces,
    text_pieces,
)
from ticdc_emit.columnar.epochs import clock_micros
from ticdc_emit.columnar.packed_fields import Piece
from ticdc_emit.columnar.strings import label_text
from ticdc_emit.columnar.value_errors import refuse_any
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.config.lineages import DebeziumSwitches
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.connect.defaults import Reading, Value, null_value, refused_at
from ticdc_emit.protocols.connect.types import Connect, connect_type, days, ticks, tidb_type, zoned
from ticdc_emit.protocols.names import sanitize
from ticdc_emit.protocols.schema_texts import Json, any_text
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import LABEL_TYPES, TYPES, UNSPECIFIED_LENGTH, MySQLType

__all__ = [
    "AVRO",
    "DECIMAL",
    "NULL",
    "VALUE",
    "DebeziumAvroOptions",
    "can_fail",
    "connect_of",
    "field_of",
    "key_schema",
    "record_of",
    "refuse_beyond_long",
    "row_columns",
    "source_field",
    "value_pieces",
    "value_schema",
]


@dataclass(frozen=True)
class DebeziumAvroOptions:
    """``cluster_id``: TiCDC's own, the first part of every record's namespace. ``zone``: the time zone of TIMESTAMP
    values.
    """

    cluster_id: str = "default"
    zone: str = "UTC"
    enable_tidb_extension: bool = False
    enable_watermark: bool = False
    output_old_value: bool = True
    decimal_handling_mode: Literal["precise", "string"] = "precise"
    bigint_unsigned_handling_mode: Literal["long", "string"] = "long"
    switches: DebeziumSwitches = DebeziumSwitches()

    @cached_property
    def reading(self) -> Reading:
        """How values are read."""
        return Reading(self.zone, self.switches)


DECIMAL = "org.apache.kafka.connect.data.Decimal"
_SOURCE = "Source"
AVRO = {
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
}
_SOURCE_FIELDS = (
    ("version", "string"),
    ("connector", "string"),
    ("name", "string"),
    ("ts_ms", "long"),
    ("snapshot", "string?"),
    ("db", "string"),
    ("table", "string"),
    ("server_id", "long"),
    ("gtid", "string?"),
    ("file", "string"),
    ("pos", "long"),
    ("row", "int"),
    ("thread", "long?"),
    ("query", "string?"),
    ("commit_ts", "long"),
    ("cluster_id", "string"),
)


def connect_of(column: Column, options: DebeziumAvroOptions) -> Connect:
    """Return the Kafka Connect type of a column: unlike in JSON, decimals and binary data keep their own types."""
    if column.type is MySQLType.NEWDECIMAL:
        if options.decimal_handling_mode == "string":
            return Connect("string")
        precision, scale = _lengths(column)
        return Connect("bytes", DECIMAL, None, {"precision": str(precision), "scale": str(scale)})
    if _is_text_of_number(column, options):
        return Connect("string")
    return Connect("bytes") if column.is_binary else connect_type(column)


def _is_text_of_number(column: Column, options: DebeziumAvroOptions) -> bool:
    whole = column.type is MySQLType.LONGLONG and column.unsigned
    return whole and options.bigint_unsigned_handling_mode == "string"


def row_columns(table: TableInfo) -> tuple[Column, ...]:
    """Return the columns of a row's schema: those that remain after selectors, then every virtual one (again)."""
    return (*table.shown_columns, *(column for column in table.columns if column.is_virtual))


def key_schema(table: TableInfo, options: DebeziumAvroOptions) -> str:
    """Return the schema of a table's keys; :class:`SchemaError` for one that is not valid."""
    fields = _columns(table, table.shown_handle_key, options)
    return any_text(record_of(_namespace(table, options), f"{sanitize(table.name)}Key", fields))


def value_schema(table: TableInfo, options: DebeziumAvroOptions) -> str:
    """Return the schema of a table's values; :class:`SchemaError` for one that is not valid."""
    space, name = _namespace(table, options), sanitize(table.name)
    if name == _SOURCE:
        raise SchemaError(
            f"a table's record may not be named {_SOURCE}, as Debezium's own record is: TiCDC confuses the two",
            remedy="Rename the table, or leave it out by a filter",
            table=table.full_name,
        )
    row = record_of(space, name, _columns(table, row_columns(table), options))
    fields = [
        field_of("before", row, nullable=True),
        field_of("after", f"{space}.{name}", nullable=True),
        source_field(space),
        field_of("op", "string"),
        field_of("ts_ms", "long"),
    ]
    return any_text({**record_of(space, f"{name}Envelope", fields), "connect.version": 1})


def source_field(space: str) -> dict[str, Any]:
    """Return the field ``source`` of an envelope; ``space``: of its record."""
    return field_of("source", record_of(space, _SOURCE, [_plain(*each) for each in _SOURCE_FIELDS]))


def _namespace(table: TableInfo, options: DebeziumAvroOptions) -> str:
    return f"{sanitize(options.cluster_id)}.{sanitize(table.schema)}"


def record_of(space: str, name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the record for the Connect struct of its full name."""
    return {
        "type": "record",
        "name": name,
        "namespace": space,
        "connect.name": f"{space}.{name}",
        "fields": fields,
    }


def _columns(table: TableInfo, columns: Iterable[Column], options: DebeziumAvroOptions) -> list[dict[str, Any]]:
    fields: dict[str, dict[str, Any]] = {}
    for column in columns:
        made = field_of(column.name, _described(table, column, options), nullable=True)
        if made["name"] in fields:
            cause = "what Avro does not allow in names becomes an underscore"
            if column.is_virtual:
                cause = "TiCDC lists a virtual column twice, and its rows fail: make it STORED, or drop it"
            raise SchemaError(
                f"the Avro schema has two fields {made['name']!r}",
                remedy=f"Rename a column: {cause}" if not column.is_virtual else cause,
                table=table.full_name,
                column=column.name,
            )
        if options.enable_tidb_extension:
            made["tidb_type"] = tidb_type(column)
        fields[made["name"]] = made
    return list(fields.values())


def field_of(name: str, kind: Json, *, nullable: bool = False) -> dict[str, Any]:
    """Return the field of a Connect struct's member."""
    described: dict[str, Any] = {"name": sanitize(name), "connect.field": name, "type": kind}
    return {**described, "type": ["null", kind], "default": None} if nullable else described


def _plain(name: str, kind: str) -> dict[str, Any]:
    return field_of(name, kind.rstrip("?"), nullable=kind.endswith("?"))


def _described(table: TableInfo, column: Column, options: DebeziumAvroOptions) -> Json:
    if column.type is MySQLType.BIT and column.default in ("", b""):
        raise SchemaError(
            "a BIT default without bits has no schema: TiCDC fails here",
            remedy="Change the column's DEFAULT",
            table=table.full_name,
            column=column.name,
        )
    connect = connect_of(column, options)
    kind: dict[str, Json] = {"type": AVRO[connect.type]}
    if connect.type == "int16":
        kind["connect.type"] = connect.type
    if connect.name is not None:
        kind["connect.name"] = connect.name
    if connect.version is not None:
        kind["connect.version"] = connect.version
    if connect.parameters:
        kind["connect.parameters"] = connect.parameters
    if connect.name == DECIMAL:
        kind["logicalType"] = "decimal"
        kind["precision"], kind["scale"] = _lengths(column)
    return kind if len(kind) > 1 else kind["type"]


def _lengths(column: Column) -> tuple[int, int]:
    precision, scale = TYPES[column.type].length, TYPES[column.type].decimals
    return (
        precision if column.flen == UNSPECIFIED_LENGTH else column.flen,
        scale if column.decimal == UNSPECIFIED_LENGTH else column.decimal,
    )


_UNION = Union.null_at(0)
NULL, VALUE = bytes([_UNION.null]), bytes([_UNION.value])
_LONG_LIMIT = 1 << 63

_Native: TypeAlias = Callable[[Column, pa.Array, Reading], pa.Array]
_Pieces: TypeAlias = Callable[[Column, pa.Array], list[Piece]]


class _Row(NamedTuple):
    """``native``: the numbers or texts that Avro encodes, ``pieces``: their encoding."""

    native: _Native
    pieces: _Pieces


def _as_they_are(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    return values


def _plain_value(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    return plain_text(column, values)


def _double(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    return values.cast(pa.float64()) if column.decimal >= 0 else values


def _days(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    return days(column, values, reading)


def _micros(column: Column, values: pa.Array, reading: Reading) -> pa.Array:
    return clock_micros(values)


def _longs(column: Column, values: pa.Array) -> list[Piece]:
    return long_pieces(values, _UNION)


def _floats(column: Column, values: pa.Array) -> list[Piece]:
    return float_pieces(values, _UNION)


def _texts(column: Column, values: pa.Array) -> list[Piece]:
    return text_pieces(values, _UNION)


def _labels(column: Column, values: pa.Array) -> list[Piece]:
    numbers = pa.types.is_dictionary(values.type) or pa.types.is_integer(values.type)
    return label_pieces(column, values, _UNION) if numbers else text_pieces(values, _UNION)


def _bits(column: Column, values: pa.Array) -> list[Piece]:
    if column.flen == 1:
        return bit_flag_pieces(values, _UNION)
    return little_endian_pieces(values, -(-column.flen // 8), _UNION)


def _decimals(column: Column, values: pa.Array) -> list[Piece]:
    return decimal_pieces(values, _UNION)


_WHOLE, _TEXT = _Row(_as_they_are, _longs), _Row(_as_they_are, _texts)
_NUMBER_AS_TEXT = _Row(_plain_value, _texts)
_LABELS = _Row(_as_they_are, _labels)
_TYPES = {
    MySQLType.TINY: _WHOLE,
    MySQLType.SHORT: _WHOLE,
    MySQLType.INT24: _WHOLE,
    MySQLType.LONG: _WHOLE,
    MySQLType.LONGLONG: _WHOLE,
    MySQLType.YEAR: _WHOLE,
    MySQLType.FLOAT: _Row(_double, _floats),
    MySQLType.DOUBLE: _Row(_as_they_are, _floats),
    MySQLType.NEWDECIMAL: _Row(_as_they_are, _decimals),
    MySQLType.DATE: _Row(_days, _longs),
    MySQLType.NEWDATE: _Row(_days, _longs),
    MySQLType.DATETIME: _Row(ticks, _longs),
    MySQLType.TIMESTAMP: _Row(zoned, _texts),
    MySQLType.DURATION: _Row(_micros, _longs),
    MySQLType.ENUM: _LABELS,
    MySQLType.SET: _LABELS,
    MySQLType.BIT: _Row(_as_they_are, _bits),
    MySQLType.STRING: _TEXT,
    MySQLType.VARCHAR: _TEXT,
    MySQLType.VAR_STRING: _TEXT,
    MySQLType.TINY_BLOB: _TEXT,
    MySQLType.BLOB: _TEXT,
    MySQLType.MEDIUM_BLOB: _TEXT,
    MySQLType.LONG_BLOB: _TEXT,
    MySQLType.JSON: _TEXT,
    MySQLType.VECTOR_FLOAT32: _TEXT,
}
_NUMBERS_THAT_MAY_BE_TEXT = {MySQLType.NEWDECIMAL, MySQLType.LONGLONG}


def can_fail(column: Column) -> bool:
    """Return whether an accepted value may have no value here: a local time that does not exist, or a default that is
    not a value.
    """
    return column.type is MySQLType.TIMESTAMP or (column.nullable and column.default is not None)


def value_pieces(column: Column, values: pa.Array, options: DebeziumAvroOptions) -> list[Piece]:
    """Return the pieces of a column's values.

    Raises :class:`ValueRefused` for a TIMESTAMP that does not exist in the changefeed's time zone, and for a NULL whose
    default is not a value.
    """
    row = _TYPES[column.type]
    if column.type in _NUMBERS_THAT_MAY_BE_TEXT and connect_of(column, options).type == "string":
        row = _NUMBER_AS_TEXT
    native = row.native(column, values, options.reading)
    if values.null_count and column.default is not None:
        native = _with_defaults(column, values, native, options.reading)
    return row.pieces(column, native)


def _with_defaults(column: Column, values: pa.Array, native: pa.Array, reading: Reading) -> pa.Array:
    nulls = pc.is_null(values)
    with refused_at(nulls):
        value = null_value(column, reading)
    if value is None:
        return native
    if column.type in LABEL_TYPES:
        native = label_text(column, native)
    if isinstance(value, str | bytes):  # a default may not be UTF-8
        native = native.cast(pa.binary())
    return pc.if_else(nulls, _scalar(column, value, native.type), native)


def _scalar(column: Column, value: Value, kind: pa.DataType) -> pa.Scalar:
    if isinstance(value, str):
        return pa.scalar(f"{value}Z".encode() if column.type is MySQLType.TIMESTAMP else value.encode(), kind)
    if pa.types.is_string(kind):  # a number as text
        return pa.scalar(str(value), kind)
    return pa.scalar(value, kind)


def refuse_beyond_long(values: pa.Array) -> None:
    """Raise :class:`ValueRefused` for a BIGINT UNSIGNED beyond Avro's ``long``."""
    if values.type == pa.uint64() and (pc.max(values).as_py() or 0) >= _LONG_LIMIT:
        beyond = pc.greater_equal(values, pa.scalar(_LONG_LIMIT, pa.uint64())).fill_null(False)
        refuse_any(
            np.asarray(beyond.to_numpy(zero_copy_only=False)),
            "the BIGINT UNSIGNED is beyond what Avro's long holds: TiCDC fails here",
            "Set avro-bigint-unsigned-handling-mode=string",
        )
