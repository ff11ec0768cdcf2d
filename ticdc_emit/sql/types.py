"""MySQL column types and column flags, with the numbers that TiDB uses (``pingcap/tidb: pkg/parser/mysql/type.go``)."""

from __future__ import annotations

from enum import IntEnum, IntFlag

__all__ = [
    "BINARY_CHARSET",
    "BLOB_TYPES",
    "DATE_TYPES",
    "FLOAT_TYPES",
    "INTEGER_BITS",
    "INTEGER_TYPES",
    "LABEL_TYPES",
    "LATIN1_CHARSET",
    "MOMENT_TYPES",
    "STRING_TYPES",
    "TEMPORAL_TYPES",
    "ColumnFlag",
    "MySQLType",
    "integer_range",
]


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
FLOAT_TYPES = frozenset({MySQLType.FLOAT, MySQLType.DOUBLE})
LABEL_TYPES = frozenset({MySQLType.ENUM, MySQLType.SET})
DATE_TYPES = frozenset({MySQLType.DATE, MySQLType.NEWDATE})
MOMENT_TYPES = frozenset({MySQLType.DATETIME, MySQLType.TIMESTAMP})
BLOB_TYPES = (MySQLType.TINY_BLOB, MySQLType.BLOB, MySQLType.MEDIUM_BLOB, MySQLType.LONG_BLOB)
"""TEXT and BLOB, by size."""

STRING_TYPES = frozenset({MySQLType.VARCHAR, MySQLType.VAR_STRING, MySQLType.STRING, *BLOB_TYPES})
TEMPORAL_TYPES = frozenset({MySQLType.DATE, MySQLType.DATETIME, MySQLType.TIMESTAMP, MySQLType.DURATION})


def integer_range(kind: MySQLType, *, unsigned: bool) -> tuple[int, int]:
    """Return the least and greatest value that an integer type holds."""
    bits = INTEGER_BITS[kind]
    return (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
