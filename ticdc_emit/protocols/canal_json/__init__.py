"""Canal-JSON as TiCDC writes it: one JSON object per row change, DDL or watermark.

In: table schemas, row changes, DDL events, watermarks. Out: message values; row messages have an empty key, DDL and
watermark messages a null key. DDL goes to partition 0, watermarks (with ``enable-tidb-extension``) to all partitions.
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.protocols.canal_json.control import ddl_message, watermark_message
from ticdc_emit.protocols.canal_json.layout import CanalJsonOptions, CanalJsonRows
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["CanalJson", "make_codec"]


@dataclass(frozen=True)
class CanalJson:
    """The codec (see ``changes.codec.Codec``)."""

    options: CanalJsonOptions
    ddl_to_all_partitions: bool = False
    compressed_parts: tuple[str, ...] = ("value",)
    refuses_large_schemas: bool = False

    def rows(self, table: TableInfo) -> CanalJsonRows:
        """Return the row encoder of one table version."""
        return CanalJsonRows(table, self.options)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage:
        """Return the message of a DDL."""
        return ddl_message(event, build_ts, extension=self.options.enable_tidb_extension)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message, ``None`` without ``enable-tidb-extension``."""
        return watermark_message(ts, build_ts) if self.options.enable_tidb_extension else None

    def bootstrap(self, table: TableInfo, build_ts: int) -> None:
        """Return nothing: the protocol has no schema messages."""


def make_codec(changefeed: ChangefeedConfig) -> CanalJson:
    """Return the codec that a changefeed configures."""
    codec = changefeed.codec
    return CanalJson(
        CanalJsonOptions(
            enable_tidb_extension=codec.enable_tidb_extension,
            only_output_updated_columns=codec.only_output_updated_columns,
            content_compatible=codec.content_compatible,
            delete_only_output_handle_key_columns=codec.delete_only_output_handle_key_columns,
            output_row_key=codec.output_row_key,
            switches=changefeed.profile.canal_json,
        )
    )
