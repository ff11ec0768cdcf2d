"""Writes the cookbook's rows and DDL to a storage sink's folder, and rows that files of CSV make difficult.

In: a sink URI and the options of the changefeed. Out: the folder, after a restart of the sink that wrote a fifth of the
rows again, and the tables that a consumer must read from it: at the end, or at an earlier checkpoint.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from cookbook_data import TIME_ZONE, DataSet, Row, data_set

from ticdc_emit import load_changefeed
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.traffic.history import History

EDGES: dict[str, Row] = {
    "null": {"word": None, "bytes": None, "huge": None, "exact": None, "day": None, "at": None, "clock": None},
    "empty": {
        "word": "",
        "bytes": "",
        "huge": "0",
        "exact": "0.000000000000000000000000000000",
        "day": "0000-00-00",
        "at": "0000-00-00 00:00:00",
        "clock": "-838:59:59",
    },
    "ends": {
        "word": "NULL, \"a\",\r\n'b'\\\t,\n",
        "bytes": "AP8iLFwK",
        "huge": "9223372036854775808",
        "exact": "12345678901234567890123456789012345.000000000000000000000000000001",
        "day": "2024-00-31",
        "at": "2024-02-00 01:02:03",
        "clock": "838:59:59",
    },
    "marker": {
        "word": "\\N",
        "bytes": "XE4=",
        "huge": "18446744073709551615",
        "exact": "-0.000000000000000000000000000001",
        "day": "9999-12-31",
        "at": "9999-12-31 23:59:59",
        "clock": "00:00:00",
    },
}
"""Rows of ``shop.edges`` by the value of its key ``id``, in canonical text."""

EDGES_BYTES = {key: None if row["bytes"] is None else b64decode(row["bytes"]) for key, row in EDGES.items()}
"""The column ``bytes`` of :data:`EDGES`."""

_EDGES = """create table shop.edges (id varchar(10) primary key, word varchar(40), bytes varbinary(10),
huge bigint unsigned, exact decimal(65,30), day date, at datetime, clock time{})"""
_FIRST_TSO = 450_000_000_262_144_000


def write_files(uri: str, feed: Mapping[str, Any] | None = None) -> DataSet:
    """Write all changes, restart the sink, and write the last fifth of them again. ``feed``: ``[sink]``."""
    data = data_set()
    config = load_changefeed(uri, {"sink": dict(feed or {})}, time_zone=TIME_ZONE)
    again = [row for row in data.rows if row["commit_ts"] > data.rows[len(data.rows) * 4 // 5]["commit_ts"]]
    for rows in (data.rows, again):
        history = History(data.schema, rows, data.ddl, time_zone=TIME_ZONE).to_arrow()
        Changefeed(config, sink_for(config), data.schema, ddl=data.ddl).run(ArrowBatch(history), 0, final=True)
    return data


def write_edges(uri: str, feed: Mapping[str, Any] | None = None, more: str | None = None) -> None:
    """Write the rows of :data:`EDGES`. ``more``: a column of the table that rows do not have."""
    config = load_changefeed(uri, {"sink": dict(feed or {})}, time_zone=TIME_ZONE)
    rows = [
        {"op": "c", "commit_ts": _FIRST_TSO + place, "after": list(({"id": key} | row).items())}
        for place, (key, row) in enumerate(EDGES.items())
    ]
    kinds = {"op": pa.string(), "commit_ts": pa.int64(), "after": pa.map_(pa.string(), pa.string())}
    batch = ArrowBatch(pa.Table.from_pylist(rows, pa.schema(kinds)), "shop.edges")
    Changefeed(config, sink_for(config), _EDGES.format(f", {more}" if more else "")).run(batch, 0, final=True)


def checkpoint_in_the_middle(data: DataSet) -> int:
    """Return a commit_ts with half of the changes before it, and some DDL after it."""
    ts = int(data.rows[len(data.rows) // 2]["commit_ts"])
    assert data.ddl[0][0] < ts < data.ddl[-1][0]
    return ts


def tables_at(data: DataSet, ts: int) -> dict[str, Mapping[tuple[str | None, ...], Row]]:
    """Return the rows of each table as they were after the commits and DDL up to a TSO."""
    rows = [row for row in data.rows if row["commit_ts"] <= ts]
    ddl = [statement for statement in data.ddl if statement[0] <= ts]
    return {table: rows for (_, table), rows in History(data.schema, rows, ddl, time_zone=TIME_ZONE).tables().items()}
