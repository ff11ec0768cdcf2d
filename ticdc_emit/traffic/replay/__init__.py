"""Replay history: snapshots, slowly changing tables and change tables as the stream that TiCDC would have sent.

``snapshot_...`` and ``from_...`` make row changes; ``read_changes`` and ``table_ddl`` read a table's change feed and
its DDL; :func:`replay` sends them at the history's own pace or a multiple of it, ``send_new_versions`` what came into a
table since the last call. Importing this does not import Spark.
"""
