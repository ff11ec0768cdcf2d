"""Optional columns of the change form beside the images: facts about a row that its values do not show.

One entry here is all that a new one needs to come through every form of input (Arrow, Python rows, Spark); what it
means is the business of whoever reads it from ``Changes.attributes``.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.integers import parse_integers
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.errors import UnsupportedTypeError

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

_INT64 = "Give whole numbers of 64 bits"

ATTRIBUTES: dict[str, pa.DataType] = {
    CHECKSUM: pa.struct(
        [("corrupted", pa.bool_()), ("current", pa.int64()), ("previous", pa.int64()), ("version", pa.int64())]
    ),
    PHYSICAL_TABLE_ID: pa.int64(),
    START_TS: pa.int64(),
    ROW_KEY: pa.binary(),
}
"""Name and the type that Python rows are read as; Arrow columns may be of any type that holds the same values."""


def start_tsos(given: pa.Array | None, commit_ts: pa.Array, table: str) -> pa.Array:
    """Return the start of each row's transaction, ``int64``: the given one, else the TSO before its commit.

    Raises :class:`UnsupportedTypeError`.
    """
    before = pc.subtract(commit_ts.cast(pa.int64(), safe=False), 1)
    if given is None or pa.types.is_null(given.type):
        return before
    try:
        return pc.coalesce(parse_integers(given, unsigned=False), before)
    except (TypeError, ValueRefused) as fault:
        raise UnsupportedTypeError(
            f"{START_TS} is {given.type}, not a whole number of 64 bits", remedy=_INT64, table=table, column=START_TS
        ) from fault


def physical_table_ids(given: pa.Array | None, table: str, own: pa.Array) -> pa.Array:
    """Return one id per row, ``int64``: the given one, else that of the row's table, of which ``own`` has one per row.

    The ids of partitions are TiDB's own, which DDL does not tell: any whole number is taken. Raises
    :class:`UnsupportedTypeError`.
    """
    if given is None or pa.types.is_null(given.type):
        return own
    try:
        ids = parse_integers(given, unsigned=False)
        return pc.coalesce(ids, own) if ids.null_count else ids
    except (TypeError, ValueRefused) as fault:
        raise UnsupportedTypeError(
            f"{PHYSICAL_TABLE_ID} is {given.type}, not a whole number of 64 bits",
            remedy=_INT64,
            table=table,
            column=PHYSICAL_TABLE_ID,
        ) from fault
