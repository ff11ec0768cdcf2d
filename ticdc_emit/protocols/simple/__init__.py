"""The Simple protocol as TiCDC writes it, in JSON and in Avro without a schema registry.

In: table schemas, row changes, DDL events, watermarks. Out: message values. Row messages have an empty key, the others
a null key. Everything but rows goes to all partitions. A BOOTSTRAP has a table's schema; rows only have its version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.protocols.simple.avro_control import bootstrap_avro, ddl_avro, watermark_avro
from ticdc_emit.protocols.simple.avro_rows import SimpleAvroRows
from ticdc_emit.protocols.simple.json_control import bootstrap_json, ddl_json, watermark_json
from ticdc_emit.protocols.simple.json_rows import SimpleJsonRows
from ticdc_emit.protocols.simple.options import SimpleOptions
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["Simple", "make_codec"]


@dataclass(frozen=True)
class Simple:
    """The codec (see ``changes.codec.Codec``)."""

    options: SimpleOptions
    ddl_to_all_partitions: bool = True
    compressed_parts: tuple[str, ...] = ("value",)
    refuses_large_schemas: bool = True

    @property
    def _avro(self) -> bool:
        return self.options.encoding == "avro"

    def rows(self, table: TableInfo) -> SimpleAvroRows | SimpleJsonRows:
        """Return the row encoder of one table version."""
        return SimpleAvroRows(table, self.options) if self._avro else SimpleJsonRows(table, self.options)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage:
        """Return the message of a DDL."""
        make = ddl_avro if self._avro else ddl_json
        return ControlMessage(None, make(event, build_ts, self.options), event.commit_ts)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage:
        """Return the watermark message, which Simple always has."""
        make = watermark_avro if self._avro else watermark_json
        return ControlMessage(None, make(ts, build_ts), ts)

    def bootstrap(self, table: TableInfo, build_ts: int) -> ControlMessage:
        """Return the message with a table's schema."""
        make = bootstrap_avro if self._avro else bootstrap_json
        return ControlMessage(None, make(table, build_ts, self.options), 0)


def make_codec(changefeed: ChangefeedConfig) -> Simple:
    """Return the codec that a changefeed configures; its ``encoding-format`` is validated there."""
    codec = changefeed.codec
    return Simple(
        SimpleOptions(
            encoding=cast('Literal["json", "avro"]', codec.encoding_format),
            location=changefeed.time_zone,
            enable_row_checksum=codec.enable_row_checksum,
            switches=changefeed.profile.simple,
        )
    )
