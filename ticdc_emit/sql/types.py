"""MySQL column types and column flags: their numbers, and one row of facts for each type (:data:`TYPES`).

Rule sources: pingcap/tidb ``pkg/parser/mysql/{type,util}.go``, ``pkg/parser/types``; pingcap/tiflow ``pkg/sink/codec``.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Literal, NamedTuple, TypeAlias

BINARY_CHARSET = "binary"
LATIN1_CHARSET = "latin1"
"""The only character set whose text TiDB neither checks nor converts: columns can have any bytes."""


class MySQLType(IntEnum):
    """Type byte of a column. The member's name is TiDB's; ``TypeUnspecified`` (0) is a view's column."""

    UNSPECIFIED = 0
    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    NULL = 6
    TIMESTAMP = 7
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    DURATION = 11
    DATETIME = 12
    YEAR = 13
    NEWDATE = 14
    VARCHAR = 15
    BIT = 16
    VECTOR_FLOAT32 = 225
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    TINY_BLOB = 249
    MEDIUM_BLOB = 250
    LONG_BLOB = 251
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


class ColumnFlag(IntFlag):
    """The flags in the golden vectors; values are MySQL's own."""

    NONE = 0
    NOT_NULL = 1
    PRIMARY_KEY = 2
    UNSIGNED = 32
    ZEROFILL = 64
    AUTO_INCREMENT = 512
    ON_UPDATE_NOW = 8192


INTEGER_BITS = {MySQLType.TINY: 8, MySQLType.SHORT: 16, MySQLType.INT24: 24, MySQLType.LONG: 32, MySQLType.LONGLONG: 64}
INTEGER_TYPES = frozenset(INTEGER_BITS)
INTEGERS_AND_YEAR = INTEGER_TYPES | {MySQLType.YEAR}
WHOLE_TYPES = INTEGERS_AND_YEAR | {MySQLType.BIT}
"""Values are whole numbers."""

FLOAT_TYPES = frozenset({MySQLType.FLOAT, MySQLType.DOUBLE})
NUMBER_TYPES = WHOLE_TYPES | FLOAT_TYPES | {MySQLType.NEWDECIMAL}
LABEL_TYPES = frozenset({MySQLType.ENUM, MySQLType.SET})
INT64_TYPES = WHOLE_TYPES | LABEL_TYPES
"""Accepted values (``columnar/values.py``) are int64 or uint64."""

DATE_TYPES = frozenset({MySQLType.DATE, MySQLType.NEWDATE})
MOMENT_TYPES = frozenset({MySQLType.DATETIME, MySQLType.TIMESTAMP})
FSP_TYPES = MOMENT_TYPES | {MySQLType.DURATION}
"""Values have fractional seconds."""

CALENDAR_TYPES = MOMENT_TYPES | {MySQLType.DATE}
BLOB_TYPES = (MySQLType.TINY_BLOB, MySQLType.BLOB, MySQLType.MEDIUM_BLOB, MySQLType.LONG_BLOB)
"""TEXT and BLOB, by size."""

CHAR_TYPES = frozenset({MySQLType.VARCHAR, MySQLType.VAR_STRING, MySQLType.STRING})
"""CHAR, VARCHAR, BINARY and VARBINARY: their length counts characters, of binary data bytes."""

STRING_TYPES = CHAR_TYPES | frozenset(BLOB_TYPES)
TEMPORAL_TYPES = FSP_TYPES | {MySQLType.DATE}


def full_year(digits: int) -> int:
    """Return the year that TiDB takes a year of two digits for."""
    return digits + (2000 if digits < 70 else 1900)


def integer_range(kind: MySQLType, *, unsigned: bool) -> tuple[int, int]:
    bits = INTEGER_BITS[kind]
    return (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)


UNSPECIFIED_LENGTH = -1
_ZERO_DATE, _ZERO_TIME, _ZERO_MOMENT = "0000-00-00", "00:00:00", "0000-00-00 00:00:00"
AvroType: TypeAlias = Literal["int", "long", "float", "double", "bytes", "string", "decimal"]


class TypeFacts(NamedTuple):
    """``name``: in DDL; ``binary_name``: with the character set ``binary``. ``length``, ``decimals``: what TiDB fills
    in. ``canal``: the code of ``java.sql.Types`` in Canal-JSON; ``jdbc``, ``binary_jdbc``: in Debezium. ``connect``:
    the Kafka Connect type, ``connect_name`` its meaning, of version 1. ``avro``: ``None`` for one that no row change
    carries; ``avro_name``: its ``tidb_type``, "" if the character set decides. ``eval``: TiDB's evaluation type.
    ``arrow``: the Arrow type of native values, "" if it depends on the column. ``zero``: what a new NOT NULL column has
    in existing rows, without a fraction; ``None`` if the column decides, or only TiDB knows it.
    """

    name: str
    length: int = UNSPECIFIED_LENGTH
    decimals: int = UNSPECIFIED_LENGTH
    binary_name: str = ""
    canal: int = 12
    jdbc: int = 12
    binary_jdbc: int = 2004
    connect: str = "string"
    connect_name: str = ""
    avro: AvroType | None = None
    avro_name: str = ""
    eval: str = "string"
    arrow: str = ""
    zero: str | None = None


def _integer(name: str, length: int, connect: str, canal: int, jdbc: int) -> TypeFacts:
    facts = TypeFacts(name, length, 0, "", canal, jdbc, connect=connect, avro="int", avro_name="INT")
    return facts._replace(eval="int", zero="0")


def _float(name: str, length: int, canal: int, jdbc: int, avro: Literal["float", "double"]) -> TypeFacts:
    facts = TypeFacts(name, length, canal=canal, jdbc=jdbc, connect=avro, avro=avro, avro_name=name.upper())
    return facts._replace(eval="real", arrow=avro, zero="0")


def _time(
    name: str, length: int, canal: int, jdbc: int, connect: str, meaning: str, evaluation: str, arrow: str, zero: str
) -> TypeFacts:
    meaning = f"io.debezium.time.{meaning}"
    facts = TypeFacts(name, length, 0, "", canal, jdbc, 2004, connect, meaning, "string", name.upper())
    return facts._replace(eval=evaluation, arrow=arrow, zero=zero)


def _label(name: str, canal: int, meaning: str) -> TypeFacts:
    meaning = f"io.debezium.data.{meaning}"
    facts = TypeFacts(name, -1, 0, canal=canal, jdbc=1, connect_name=meaning, avro="string", avro_name=name.upper())
    return facts._replace(arrow="string")


def _text(name: str, length: int, binary_name: str, canal: int, jdbc: int = 12, binary_jdbc: int = 2004) -> TypeFacts:
    return TypeFacts(name, length, 0, binary_name, canal, jdbc, binary_jdbc, avro="string", zero="")


TYPES = {
    MySQLType.UNSPECIFIED: TypeFacts("unspecified"),
    MySQLType.NULL: TypeFacts("null", 0, 0, jdbc=0),
    MySQLType.TINY: _integer("tinyint", 4, "int16", -6, 5),
    MySQLType.SHORT: _integer("smallint", 6, "int16", 5, 5),
    MySQLType.INT24: _integer("mediumint", 9, "int32", 4, 4),
    MySQLType.LONG: _integer("int", 11, "int32", 4, 4),
    MySQLType.LONGLONG: _integer("bigint", 20, "int64", -5, -5)._replace(avro="long", avro_name="BIGINT"),
    MySQLType.FLOAT: _float("float", 12, 7, 6, "float"),
    MySQLType.DOUBLE: _float("double", 22, 8, 8, "double"),
    MySQLType.NEWDECIMAL: TypeFacts(
        "decimal",
        10,
        0,
        canal=3,
        jdbc=3,
        connect="double",
        avro="decimal",
        avro_name="DECIMAL",
        eval="decimal",
        zero="0",
    ),
    MySQLType.YEAR: _time("year", 4, 12, 4, "int32", "Year", "int", "int32", "0")._replace(avro="int"),
    MySQLType.DATE: _time("date", 10, 91, 91, "int32", "Date", "datetime", "date32", _ZERO_DATE),
    MySQLType.NEWDATE: _time("date", -1, 91, 91, "int32", "Date", "string", "", _ZERO_DATE)._replace(
        decimals=-1, avro=None, avro_name=""
    ),
    MySQLType.DATETIME: _time("datetime", 19, 93, 93, "int64", "Timestamp", "datetime", "timestamp[us]", _ZERO_MOMENT),
    MySQLType.TIMESTAMP: _time(
        "timestamp", 19, 93, 2014, "string", "ZonedTimestamp", "timestamp", "timestamp[us]", _ZERO_MOMENT
    ),
    MySQLType.DURATION: _time("time", 10, 92, 92, "int64", "MicroTime", "duration", "string", _ZERO_TIME),
    MySQLType.STRING: _text("char", 1, "binary", 1, 1, -2),
    MySQLType.VARCHAR: _text("varchar", 5, "varbinary", 12, 12, -3),
    MySQLType.VAR_STRING: _text("var_string", 5, "", 12, 12, -3),
    MySQLType.TINY_BLOB: _text("tinytext", (1 << 8) - 1, "tinyblob", 2005),
    MySQLType.BLOB: _text("text", (1 << 16) - 1, "blob", 2005),
    MySQLType.MEDIUM_BLOB: _text("mediumtext", (1 << 24) - 1, "mediumblob", 2005),
    MySQLType.LONG_BLOB: _text("longtext", (1 << 32) - 1, "longblob", 2005),
    MySQLType.ENUM: _label("enum", 4, "Enum"),
    MySQLType.SET: _label("set", -7, "EnumSet")._replace(zero=""),
    MySQLType.BIT: TypeFacts(
        "bit", 1, 0, "", -7, -7, 2004, "bytes", "io.debezium.data.Bits", "bytes", "BIT", "int", "int64", "0"
    ),
    MySQLType.JSON: TypeFacts(
        "json",
        (1 << 32) - 1,
        0,
        jdbc=1111,
        connect_name="io.debezium.data.Json",
        avro="string",
        avro_name="JSON",
        eval="json",
        arrow="string",
        zero="null",
    ),
    MySQLType.VECTOR_FLOAT32: TypeFacts(
        "vector",
        -1,
        0,
        connect_name="io.debezium.data.TiDBVectorFloat32",
        avro="string",
        avro_name="TiDBVECTORFloat32",
        eval="vector",
        arrow="string",
    ),
    MySQLType.GEOMETRY: TypeFacts("geometry", jdbc=1111),
}


def type_name(kind: MySQLType, charset: str) -> str:
    """Return the bare type name: ``varchar``, ``blob`` (charset ``binary`` makes text a blob and char a binary) ..."""
    facts = TYPES[kind]
    return facts.binary_name if charset == BINARY_CHARSET and facts.binary_name else facts.name


def label_of(kind: MySQLType, labels: tuple[str, ...], number: int) -> str:
    """Return the text of an ENUM's ordinal, "" for 0, or of a SET's bit mask: its labels with commas between them."""
    if kind is MySQLType.ENUM:
        return labels[number - 1] if number else ""
    return ",".join(label for place, label in enumerate(labels) if number >> place & 1)
