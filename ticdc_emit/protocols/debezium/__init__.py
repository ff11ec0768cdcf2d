"""Debezium messages as TiCDC writes them: Kafka Connect envelopes in JSON, with or without their schemas.

In: table schemas, row changes, DDL events, watermarks. Out: keys and values. Everything but rows goes to all
partitions; watermarks need ``enable-tidb-extension``.
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.protocols.debezium.control import ddl_message, watermark_message
from ticdc_emit.protocols.debezium.options import DebeziumOptions
from ticdc_emit.protocols.debezium.rows import DebeziumRows
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["Debezium", "make_codec"]


@dataclass(frozen=True)
class Debezium:
    """The codec (see ``changes.codec.Codec``)."""

    options: DebeziumOptions
    ddl_to_all_partitions: bool = True
    compressed_parts: tuple[str, ...] = ("key", "value")
    refuses_large_schemas: bool = False

    def rows(self, table: TableInfo) -> DebeziumRows:
        """Return the row encoder of one table version."""
        return DebeziumRows(table, self.options, reads_old=self.options.output_old_value)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the message of a DDL, ``None`` for the kinds that the protocol does not send.

        Raises :class:`~ticdc_emit.errors.SchemaError` for a statement at which TiCDC fails.
        """
        return ddl_message(event, build_ts, self.options)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message, ``None`` without ``enable-tidb-extension``."""
        return watermark_message(ts, build_ts, self.options) if self.options.enable_tidb_extension else None

    def bootstrap(self, table: TableInfo, build_ts: int) -> None:
        """Return nothing: rows contain their schema."""


def make_codec(changefeed: ChangefeedConfig) -> Debezium:
    """Return the codec that a changefeed configures."""
    codec = changefeed.codec
    return Debezium(
        DebeziumOptions(
            cluster_id=changefeed.cluster_id,
            zone=changefeed.time_zone,
            enable_tidb_extension=codec.enable_tidb_extension,
            disable_schema=codec.debezium_disable_schema,
            output_old_value=codec.output_old_value,
            include_start_ts=codec.debezium_include_start_ts,
            switches=changefeed.profile.debezium,
        )
    )
