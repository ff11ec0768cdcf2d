"""Debezium's envelopes in Avro, with the schemas of a registry: what only the ``next`` lineage writes.

In: table schemas, row changes. Out: schema texts, keys and values. DDL and watermarks exist for tests only
(``avro-enable-watermark``), and this library does not write them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.errors import ConfigError
from ticdc_emit.protocols.debezium_avro.options import DebeziumAvroOptions
from ticdc_emit.protocols.debezium_avro.rows import DebeziumAvroRows
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["DebeziumAvro", "make_codec"]


@dataclass(frozen=True)
class DebeziumAvro:
    """The codec (see ``changes.codec.Codec``)."""

    options: DebeziumAvroOptions
    ddl_to_all_partitions: bool = True
    compressed_parts: tuple[str, ...] = ()
    refuses_large_schemas: bool = False

    def rows(self, table: TableInfo) -> DebeziumAvroRows:
        """Return the row encoder of one table version, without headers."""
        return DebeziumAvroRows(table, self.options, reads_old=self.options.output_old_value)

    def ddl(self, event: DdlEvent, build_ts: int) -> None:
        """Return nothing: the protocol sends no DDL."""

    def watermark(self, ts: int, build_ts: int) -> None:
        """Return nothing: the protocol sends no watermarks."""

    def bootstrap(self, table: TableInfo, build_ts: int) -> None:
        """Return nothing: the registry has the schemas."""


def make_codec(changefeed: ChangefeedConfig) -> DebeziumAvro:
    """Return the codec that a changefeed configures; its modes are validated there.

    Raises :class:`~ticdc_emit.errors.ConfigError` for ``avro-enable-watermark``.
    """
    codec = changefeed.codec
    if codec.avro_enable_watermark:
        raise ConfigError(
            "avro-enable-watermark, which TiCDC has for its tests, is not written for debezium-avro",
            remedy="Remove avro-enable-watermark",
            option="avro-enable-watermark",
        )
    return DebeziumAvro(
        DebeziumAvroOptions(
            cluster_id=changefeed.cluster_id,
            zone=changefeed.time_zone,
            enable_tidb_extension=codec.enable_tidb_extension,
            output_old_value=codec.output_old_value,
            decimal_handling_mode=cast('Literal["precise", "string"]', codec.avro_decimal_handling_mode),
            bigint_unsigned_handling_mode=cast('Literal["long", "string"]', codec.avro_bigint_unsigned_handling_mode),
            switches=changefeed.profile.debezium,
        )
    )
