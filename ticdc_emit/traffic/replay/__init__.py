"""Replay history: snapshots, slowly changing tables and change tables as the stream that TiCDC would have sent.

``snapshot_...`` and ``from_...`` make row changes; ``read_changes`` and ``table_ddl`` read a table's change feed and
its DDL; :func:`replay` sends them at the history's own pace or a multiple of it, ``send_new_versions`` what came into a
table since the last call. Importing this does not import Spark.
"""

from __future__ import annotations

from ticdc_emit.spark.change_feed import from_changes
from ticdc_emit.spark.row_changes import commit_ts_of, keep_transactions
from ticdc_emit.traffic.replay.column_history import TableDdl, table_ddl
from ticdc_emit.traffic.replay.ddl_history import backfilled, read_ddl, versions_of
from ticdc_emit.traffic.replay.history_forms import (
    HistoryWarning,
    from_operations,
    from_snapshots,
    from_validity,
    snapshot_diff,
    snapshot_inserts,
)
from ticdc_emit.traffic.replay.new_versions import send_new_versions
from ticdc_emit.traffic.replay.run import ReplayReport, SliceReport, replay
from ticdc_emit.traffic.replay.sources import read_source
from ticdc_emit.traffic.replay.table_versions import read_changes

__all__ = [
    "HistoryWarning",
    "ReplayReport",
    "SliceReport",
    "TableDdl",
    "backfilled",
    "commit_ts_of",
    "from_changes",
    "from_operations",
    "from_snapshots",
    "from_validity",
    "keep_transactions",
    "read_changes",
    "read_ddl",
    "read_source",
    "replay",
    "send_new_versions",
    "snapshot_diff",
    "snapshot_inserts",
    "table_ddl",
    "versions_of",
]
