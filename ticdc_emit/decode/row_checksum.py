"""Whether rows are those that were sent, for protocols whose messages carry a checksum: Avro and Simple.

In: a row event and the reader that made it. Out: nothing, or :class:`ChecksumMismatchError`. A Simple row says the
checksums of both its images; which bytes they run over, its table's schema says, whose columns are in the order of the
column ids. Rule sources: "TiCDC Simple Protocol" (Checksum definition); reference ``pingcap/tiflow:
pkg/sink/codec/common/verify_checksum.go``.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.decode.avro import AvroRow
from ticdc_emit.decode.checksum import has_doubtful_labels
from ticdc_emit.decode.checksum_bytes import blob, double, in_utc, text, vector, word
from ticdc_emit.decode.errors import ChecksumMismatchError, DecodeError
from ticdc_emit.decode.events import RowEvent
from ticdc_emit.decode.events_simple import SimpleEvents
from ticdc_emit.decode.readers import EventReader
from ticdc_emit.decode.simple_records import SimpleTimestamp
from ticdc_emit.errors import UnknownTableError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.types import INTEGER_TYPES, MySQLType

__all__ = ["RowCheck", "row_check"]

RowCheck = Callable[[RowEvent], None]
"""Raises :class:`ChecksumMismatchError` for a row that is not the one that was sent, :class:`DecodeError` for values
that are not of their columns.
"""

_NUMBERS = INTEGER_TYPES | {MySQLType.YEAR, MySQLType.BIT, MySQLType.ENUM, MySQLType.SET}


def row_check(config: ChangefeedConfig, reader: EventReader) -> RowCheck | None:
    """Return what checks the rows that ``reader`` reads; ``None`` for a protocol without checksums.

    A row without checksum passes, and so does one of Simple whose message shows the handle key only, or whose table's
    schema no message has shown, and one of Avro whose schema leaves open which its labels are.
    """
    if config.codec.protocol.traits.registers_schemas:
        return lambda event: _check_avro(event, config.time_zone)
    if isinstance(reader, SimpleEvents):
        parts = config.codec.delete_only_output_handle_key_columns
        return lambda event: _check_simple(event, reader, handle_key_deletes=parts)
    return None


def _check_avro(event: RowEvent, time_zone: str) -> None:
    message: AvroRow = event.message
    try:
        message.verify(time_zone)
    except DecodeError:
        if message.schema is None or not has_doubtful_labels(message.schema):
            raise


def _check_simple(event: RowEvent, reader: SimpleEvents, *, handle_key_deletes: bool) -> None:
    stated = event.message.checksum
    if stated is None or event.handle_key_only or (event.op == "delete" and handle_key_deletes):
        return
    try:
        table = reader.table(event)
    except UnknownTableError:
        return
    for image, expected in ((event.after, stated.current), (event.before, stated.previous)):
        if image is None or expected == 0:  # each half of a split update has no checksum: 0
            continue
        actual = _checksum(table, image)
        if actual != expected:
            raise ChecksumMismatchError(
                f"the row's checksum is {actual}, the message says {expected}",
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
