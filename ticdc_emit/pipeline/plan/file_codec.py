"""What a storage sink makes of control messages: schema files, and the file of the checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.changes.codec import Codec, ControlMessage
from ticdc_emit.changes.model import RowEncoder
from ticdc_emit.delivery.storage_files import as_message
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.storage import FileRules
from ticdc_emit.storage.files import checkpoint_file
from ticdc_emit.storage.paths import METADATA


@dataclass(frozen=True)
class FileCodec:
    """A protocol whose rows go to files (see ``changes.codec.Codec``): control messages are whole files."""

    codec: Codec
    rules: FileRules
    compressed_parts: tuple[str, ...] = ()
    refuses_large_schemas: bool = False

    def rows(self, table: TableInfo) -> RowEncoder:
        return self.codec.rows(table)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the schema files of a DDL: their paths are the key. Raises what ``FileRules.definitions`` raises."""
        files = [(made.file.path(folder), made.content()) for made, folder in self.rules.definitions(event)]
        return ControlMessage(*as_message(files), event.commit_ts) if files else None

    def watermark(self, ts: int, build_ts: int) -> ControlMessage:
        """Return the file of the checkpoint."""
        return ControlMessage(METADATA.encode(), checkpoint_file(ts), ts)
