"""The files of TiCDC's storage sink: where rows, schemas and checkpoints are, and in which order they are written.

Rows of transactions (:class:`TableRows`), DDL, checkpoints, flushes and the clock become writes to a :class:`Folder`.
The same inputs make the same files; the only memory across a restart is the folder. Sources: ``pkg/sink/cloudstorage``
and ``cdc/sink/dmlsink/cloudstorage`` of pingcap/tiflow; ``pkg/cloudstorage`` and
``downstreamadapter/sink/cloudstorage`` of pingcap/ticdc.
"""
