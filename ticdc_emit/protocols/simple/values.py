"""Canonical text of Simple's values in either encoding, and the comparison of a row with its checksums. Rule sources:
protocol document "DML Event"; semantics 3.3.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from ticdc_emit.protocols.canonical_text import (
    WORD,
    Convert,
    blob,
    double,
    in_utc,
    in_zone,
    label_convert,
    raw_text,
    text,
    vector,
    word,
)
from ticdc_emit.protocols.events import OTHER_TABLES, DecodeError, RowEvent, compare_checksums
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES, INT64_TYPES, LABEL_TYPES, WHOLE_TYPES, MySQLType


@dataclass(frozen=True)
class SimpleTimestamp:
    """A TIMESTAMP: its text in the time zone ``location``."""

    location: str
    value: str


@dataclass(frozen=True)
class SimpleChecksum:
    """The CRC32 of a row: ``current`` of its data, ``previous`` of its old values, 0 where there are none."""

    version: int
    corrupted: bool
    current: int
    previous: int


def simple_convert(column: Column, zone: str) -> Convert | None:
    """Return a function that converts a column's values to canonical text. ``zone``: the changefeed's."""
    kind = column.type
    if kind in WHOLE_TYPES:
        unsigned = column.unsigned or kind is MySQLType.BIT
        return lambda value: value if type(value) is str else str(value & WORD if unsigned else value)
    if kind in FLOAT_TYPES:
        single = kind is MySQLType.FLOAT
        return lambda value: float_text(float(value), single=single)
    if kind in LABEL_TYPES:
        return label_convert(column)
    if kind is MySQLType.TIMESTAMP:
        return lambda value: in_zone(value.value, value.location, zone)
    return (lambda value: value if isinstance(value, str) else raw_text(value)) if column.is_binary else None


def check_images(event: RowEvent, stated: SimpleChecksum, table: TableInfo) -> None:
    """Compare both images with the message's checksums. Raises :class:`DecodeError`, also the one of a mismatch."""
    for image, expected in ((event.after, stated.current), (event.before, stated.previous)):
        if image is None or expected == 0:  # each half of a split update has no checksum: 0
            continue
        compare_checksums(
            _row_checksum(table, image),
            expected,
            remedy="Compare the row with its source: TiDB computed the checksum from other values",
            table=table.full_name,
            corrupted=stated.corrupted,
        )


def _row_checksum(table: TableInfo, image: Mapping[str, Any]) -> int:
    actual = 0
    for column in table.columns:
        value = image.get(column.name)  # virtual columns are in no row, and NULL has no bytes
        if value is None:
            continue
        try:
            actual = crc32(_bytes(column, value), actual)
        except (ValueError, TypeError, OverflowError, AttributeError) as fault:
            raise DecodeError(
                f"the value cannot be checked: {type(fault).__name__}: {fault}",
                remedy=OTHER_TABLES,
                table=table.full_name,
                field=column.name,
            ) from fault
    return actual


def _bytes(column: Column, value: Any) -> bytes:
    kind = column.type
    if kind in INT64_TYPES:
        return word(int(value))
    if kind is MySQLType.FLOAT:
        return double(struct.unpack("<f", struct.pack("<f", float(value)))[0])
    if kind is MySQLType.DOUBLE:
        return double(float(value))
    if kind is MySQLType.TIMESTAMP:
        moment: SimpleTimestamp = value
        return text(in_utc(moment.value, moment.location))
    if kind is MySQLType.VECTOR_FLOAT32:
        return vector(value)
    if column.is_binary:
        return blob(value if isinstance(value, bytes) else b64decode(value))
    return text(value)
