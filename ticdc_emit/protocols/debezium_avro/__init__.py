"""Debezium's envelopes in Avro, with the schemas of a registry; only the ``next`` lineage has them.

In: table schemas, row changes; DDL events and watermarks for tests (``avro-enable-watermark``). Out: schema texts, keys
and values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.protocols.debezium_avro.control import control_schemas, ddl_message, watermark_message
from ticdc_emit.protocols.debezium_avro.options import DebeziumAvroOptions
from ticdc_emit.protocols.debezium_avro.rows import DebeziumAvroRows
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["DebeziumAvro", "make_codec"]


@dataclass(frozen=True)
class DebeziumAvro:
    """The codec (see ``changes.codec.RegisteredControls``)."""

    options: DebeziumAvroOptions
    headers: Mapping[str, bytes] = field(default_factory=dict)
    ddl_to_all_partitions: bool = True
    compressed_parts: tuple[str, ...] = ()
    refuses_large_schemas: bool = False

    def rows(self, table: TableInfo) -> DebeziumAvroRows:
        """Return the row encoder of one table version, without headers."""
        return DebeziumAvroRows(table, self.options, reads_old=self.options.output_old_value)

    def control_schemas(self, event: DdlEvent | None) -> Mapping[str, str]:
        """Return the schema texts of a control message by subject; none without ``avro-enable-watermark``."""
        return control_schemas(event, self.options.cluster_id) if self.options.enable_watermark else {}

    def with_headers(self, headers: Mapping[str, bytes]) -> DebeziumAvro:
        """Return the codec with these additional headers by schema text."""
        return replace(self, headers={**self.headers, **headers})

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the message of a DDL, ``None`` without ``avro-enable-watermark`` and for kinds that are not sent.

        Raises :class:`~ticdc_emit.errors.SchemaError` for a statement at which TiCDC fails.
        """
        own = self.options
        return ddl_message(event, build_ts, own.cluster_id, self.headers) if own.enable_watermark else None

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message, ``None`` without ``avro-enable-watermark``."""
        own = self.options
        return watermark_message(ts, build_ts, own.cluster_id, self.headers) if own.enable_watermark else None

    def bootstrap(self, table: TableInfo, build_ts: int) -> None:
        """Return nothing: the registry has the schemas."""


def make_codec(changefeed: ChangefeedConfig) -> DebeziumAvro:
    """Return the codec that a changefeed configures; its modes are validated there."""
    codec = changefeed.codec
    return DebeziumAvro(
        DebeziumAvroOptions(
            cluster_id=changefeed.cluster_id,
            zone=changefeed.time_zone,
            enable_tidb_extension=codec.enable_tidb_extension,
            enable_watermark=codec.avro_enable_watermark,
            output_old_value=codec.output_old_value,
            decimal_handling_mode=cast('Literal["precise", "string"]', codec.avro_decimal_handling_mode),
            bigint_unsigned_handling_mode=cast('Literal["long", "string"]', codec.avro_bigint_unsigned_handling_mode),
            switches=changefeed.profile.debezium,
        )
    )
