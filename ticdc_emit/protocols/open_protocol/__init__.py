"""Open Protocol as TiCDC writes it, its default for Kafka: JSON in frames, several rows in one message.

In: table schemas, row changes, DDL events, watermarks. Out: keys that identify the row, DDL or watermark, and values
with columns or statements; a watermark has an empty value. DDL and watermarks go to all partitions.
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.protocols.open_protocol.control import ddl_message, watermark_message
from ticdc_emit.protocols.open_protocol.framing import OpenPacking
from ticdc_emit.protocols.open_protocol.options import OpenOptions
from ticdc_emit.protocols.open_protocol.rows import OpenRows
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["OpenProtocol", "make_codec"]


@dataclass(frozen=True)
class OpenProtocol:
    """The codec (see ``changes.codec.PackingCodec``)."""

    options: OpenOptions
    packing: OpenPacking
    ddl_to_all_partitions: bool = True
    compressed_parts: tuple[str, ...] = ("value",)
    refuses_large_schemas: bool = False

    def rows(self, table: TableInfo) -> OpenRows:
        """Return the row encoder of one table version."""
        return OpenRows(table, self.options)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage:
        """Return the message of a DDL."""
        return ddl_message(event, self.options.switches)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage:
        """Return the watermark message."""
        return watermark_message(ts)

    def bootstrap(self, table: TableInfo, build_ts: int) -> None:
        """Return nothing: the protocol has no schema messages."""


def make_codec(changefeed: ChangefeedConfig) -> OpenProtocol:
    """Return the codec that a changefeed configures."""
    codec = changefeed.codec
    options = OpenOptions(
        output_old_value=codec.output_old_value,
        only_output_updated_columns=codec.only_output_updated_columns,
        delete_only_output_handle_key_columns=codec.delete_only_output_handle_key_columns,
        switches=changefeed.profile.open_protocol,
    )
    return OpenProtocol(options, OpenPacking(codec.max_batch_size))
