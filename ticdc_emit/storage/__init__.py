"""The files of TiCDC's storage sink: where rows, schemas and checkpoints are, and in which order they are written.

What flows in: rows that a protocol has encoded, by transaction and table version (:class:`TableRows`), DDL events,
checkpoints, and the moments at which files are cut: flushes and the clock, which gives dates their folders. What flows
out: writes of (path, bytes) to a :class:`Folder`, in TiCDC's order. Nothing here knows a protocol, Spark or a network;
what TiCDC takes from its surroundings is an input, so the same inputs make the same files. The only memory across a
restart is the folder itself.

The rules are stated in each module. Sources: ``pkg/sink/cloudstorage`` and ``cdc/sink/dmlsink/cloudstorage`` of
pingcap/tiflow; ``pkg/cloudstorage`` and ``downstreamadapter/sink/cloudstorage`` of pingcap/ticdc.
"""

from ticdc_emit.storage.files import FileRules, StorageFiles, TableRows
from ticdc_emit.storage.folder import Folder, MemoryFolder
from ticdc_emit.storage.table_definitions import TableDefinition

__all__ = ["FileRules", "Folder", "MemoryFolder", "StorageFiles", "TableDefinition", "TableRows"]
