"""Avro as TiCDC writes it: one record per row change, after the header of its registered schema.

In: table schemas, row changes; DDL events and watermarks for tests (``avro-enable-watermark``). Out: schema texts, keys
and values. Rows of a table without a handle key have an empty key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.protocols.avro.control import ddl_message, watermark_message
from ticdc_emit.protocols.avro.layout import AvroRows
from ticdc_emit.protocols.avro.types import AvroOptions
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["Avro", "make_codec"]


@dataclass(frozen=True)
class Avro:
    """The codec (see ``changes.codec.Codec``)."""

    options: AvroOptions
    ddl_to_all_partitions: bool = True
    compressed_parts: tuple[str, ...] = ()
    refuses_large_schemas: bool = False

    def rows(self, table: TableInfo) -> AvroRows:
        """Return the row encoder of one table version, without headers."""
        return AvroRows(table, self.options)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the message of a DDL, without a wall-clock time; ``None`` without ``avro-enable-watermark``."""
        return ddl_message(event) if self.options.enable_watermark else None

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message, without a wall-clock time; ``None`` without ``avro-enable-watermark``."""
        return watermark_message(ts) if self.options.enable_watermark else None

    def bootstrap(self, table: TableInfo, build_ts: int) -> None:
        """Return nothing: the protocol has no schema messages."""


def make_codec(changefeed: ChangefeedConfig) -> Avro:
    """Return the codec that a changefeed configures; its modes are validated there."""
    codec = changefeed.codec
    return Avro(
        AvroOptions(
            enable_tidb_extension=codec.enable_tidb_extension,
            enable_row_checksum=codec.enable_row_checksum,
            enable_watermark=codec.avro_enable_watermark,
            include_before_value=codec.avro_include_before_value,
            decimal_handling_mode=cast('Literal["precise", "string"]', codec.avro_decimal_handling_mode),
            bigint_unsigned_handling_mode=cast('Literal["long", "string"]', codec.avro_bigint_unsigned_handling_mode),
            switches=changefeed.profile.avro,
        )
    )
