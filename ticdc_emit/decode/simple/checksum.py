"""Verify the checksums of Simple's rows.

A row has the checksums of both images. The bytes follow from the table's schema, whose columns are in column id order.
Rule sources: "TiCDC Simple Protocol" (Checksum definition); reference ``pingcap/tiflow:
pkg/sink/codec/common/verify_checksum.go``.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from ticdc_emit.decode.checksum_bytes import blob, double, in_utc, text, vector, word
from ticdc_emit.decode.errors import OTHER_TABLES, ChecksumMismatchError, DecodeError
from ticdc_emit.decode.events import RowEvent
from ticdc_emit.decode.simple.records import SimpleChecksum, SimpleTimestamp
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import INTEGER_TYPES, MySQLType

__all__ = ["check_images"]

_NUMBERS = INTEGER_TYPES | {MySQLType.YEAR, MySQLType.BIT, MySQLType.ENUM, MySQLType.SET}


def check_images(event: RowEvent, stated: SimpleChecksum, table: TableInfo) -> None:
    """Compare both images of a row with the checksums in the message.

    Raises :class:`ChecksumMismatchError`, and :class:`DecodeError` for values that are not of their columns.
    """
    for image, expected in ((event.after, stated.current), (event.before, stated.previous)):
        if image is None or expected == 0:  # each half of a split update has no checksum: 0
            continue
        actual = _checksum(table, image)
        if actual != expected:
            raise ChecksumMismatchError(
                f"the row's checksum is {actual}, the message says {expected}",
                remedy="Compare the row with its source: TiDB computed the checksum from other values",
                table=table.full_name,
                expected=expected,
                actual=actual,
                corrupted=stated.corrupted,
            )


def _checksum(table: TableInfo, image: Mapping[str, Any]) -> int:
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
    if kind in _NUMBERS:
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
