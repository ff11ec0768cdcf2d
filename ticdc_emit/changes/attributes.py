"""Optional columns of the change form beside the images: facts about a row that its values do not show.

One entry here is all that a new one needs to come through every form of input (Arrow, Python rows, Spark).
"""

from __future__ import annotations

import pyarrow as pa

CHECKSUM = "checksum"
"""What is known of the row's checksum (``changes.integrity``)."""

PHYSICAL_TABLE_ID = "physical_table_id"
"""The id of the partition that the row is in; by default the table's own id."""

START_TS = "start_ts"
"""The TSO at which the row's transaction began; rows of one commit_ts with different ones are two transactions."""

ROW_KEY = "row_key"
"""The row's key in TiKV (``changes.row_keys``)."""

SPLIT = "_split"
"""Boolean, set by ``pipeline.arrange.transactions``: the row is one half of an update."""

ATTRIBUTES: dict[str, pa.DataType] = {
    CHECKSUM: pa.struct(
        [("corrupted", pa.bool_()), ("current", pa.int64()), ("previous", pa.int64()), ("version", pa.int64())]
    ),
    PHYSICAL_TABLE_ID: pa.int64(),
    START_TS: pa.int64(),
    ROW_KEY: pa.binary(),
}
"""Name and the type that Python rows are read as; Arrow columns may be of any type that holds the same values."""
