"""Replay history: snapshots, slowly changing tables and change tables as the stream that TiCDC would have sent.

In: DataFrames, files or tables that Spark reads, event times, DDL. Out: row changes in the public form
(``snapshot_inserts``, ``snapshot_diff``, ``from_snapshots``, ``from_validity``, ``from_operations``), and
:func:`replay`, which sends them at the history's own pace or a multiple of it. Importing this does not import Spark.
"""

from __future__ import annotations

from ticdc_emit.traffic.replay.backfill import backfilled, versions_of
from ticdc_emit.traffic.replay.ddl_file import read_ddl
from ticdc_emit.traffic.replay.moments import commit_ts_of
from ticdc_emit.traffic.replay.operations import from_operations
from ticdc_emit.traffic.replay.pacing import Pace
from ticdc_emit.traffic.replay.report import ReplayReport, SliceReport
from ticdc_emit.traffic.replay.run import replay
from ticdc_emit.traffic.replay.snapshots import from_snapshots, snapshot_diff, snapshot_inserts
from ticdc_emit.traffic.replay.sources import read_source
from ticdc_emit.traffic.replay.transactions import keep_transactions
from ticdc_emit.traffic.replay.validity import from_validity

__all__ = [
    "Pace",
    "ReplayReport",
    "SliceReport",
    "backfilled",
    "commit_ts_of",
    "from_operations",
    "from_snapshots",
    "from_validity",
    "keep_transactions",
    "read_ddl",
    "read_source",
    "replay",
    "snapshot_diff",
    "snapshot_inserts",
    "versions_of",
]
