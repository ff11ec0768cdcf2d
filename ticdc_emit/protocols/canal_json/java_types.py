"""Java SQL type codes of ``sqlType`` (protocol document, "SQL Type"; ``pingcap/tiflow:
pkg/sink/codec/internal/java.go``).

The code of an unsigned integer depends on the row's value: a value beyond the signed type of the same size takes the
next larger Java type. MEDIUMINT is never promoted, and NULL keeps the base code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.buffers import fixed_values, null_mask
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

__all__ = ["Promotion", "java_type", "promotion"]

_TINYINT, _BIGINT, _BIT = -6, -5, -7
_CHAR, _DECIMAL, _INTEGER, _SMALLINT, _REAL, _DOUBLE, _VARCHAR = 1, 3, 4, 5, 7, 8, 12
_DATE, _TIME, _TIMESTAMP, _BLOB, _CLOB = 91, 92, 93, 2004, 2005

_CODES = {
    MySQLType.TINY: _TINYINT,
    MySQLType.SHORT: _SMALLINT,
    MySQLType.INT24: _INTEGER,
    MySQLType.LONG: _INTEGER,
    MySQLType.LONGLONG: _BIGINT,
    MySQLType.FLOAT: _REAL,
    MySQLType.DOUBLE: _DOUBLE,
    MySQLType.NEWDECIMAL: _DECIMAL,
    MySQLType.STRING: _CHAR,
    MySQLType.VARCHAR: _VARCHAR,
    MySQLType.VAR_STRING: _VARCHAR,
    MySQLType.TINY_BLOB: _CLOB,
    MySQLType.BLOB: _CLOB,
    MySQLType.MEDIUM_BLOB: _CLOB,
    MySQLType.LONG_BLOB: _CLOB,
    MySQLType.DATE: _DATE,
    MySQLType.NEWDATE: _DATE,
    MySQLType.DATETIME: _TIMESTAMP,
    MySQLType.TIMESTAMP: _TIMESTAMP,
    MySQLType.DURATION: _TIME,
    MySQLType.YEAR: _VARCHAR,
    MySQLType.ENUM: _INTEGER,
    MySQLType.SET: _BIT,
    MySQLType.BIT: _BIT,
    MySQLType.JSON: _VARCHAR,
    MySQLType.VECTOR_FLOAT32: _VARCHAR,
}


def java_type(column: Column) -> int:
    """Return the code of a column, before any promotion."""
    return _BLOB if column.is_binary else _CODES[column.type]


@dataclass(frozen=True)
class Promotion:
    """Values above ``limit`` get the Java type ``code``."""

    limit: int
    code: int

    def mask(self, values: pa.Array) -> Mask:
        """Return where the ``uint64`` values are above the limit; null is not."""
        above: Mask = fixed_values(values, np.uint64) > np.uint64(self.limit)
        nulls = null_mask(values)
        return above if nulls is None else above & ~nulls


_PROMOTIONS = {
    MySQLType.TINY: Promotion((1 << 7) - 1, _SMALLINT),
    MySQLType.SHORT: Promotion((1 << 15) - 1, _INTEGER),
    MySQLType.LONG: Promotion((1 << 31) - 1, _BIGINT),
    MySQLType.LONGLONG: Promotion((1 << 63) - 1, _DECIMAL),
}


def promotion(column: Column) -> Promotion | None:
    """Return the promotion rule of a column; ``None`` for all but unsigned integers."""
    return _PROMOTIONS.get(column.type) if column.unsigned else None
