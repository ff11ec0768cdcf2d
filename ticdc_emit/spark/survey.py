"""What PLAN must know of a batch's rows before the job: how many there are of each table between two bootstrap ticks.

In: a DataFrame of row changes in either public form. Out: :class:`CountedRows`, by one aggregation over a few columns.
Only a changefeed that sends BOOTSTRAP messages needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.changefeed.batch import counted, version_starts
from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID
from ticdc_emit.plan.tables import Plan
from ticdc_emit.schedule.bootstrap_replay import CountedRows
from ticdc_emit.spark.frame import SPLIT_COUNT, commit_ts_column, with_split_counts
from ticdc_emit.tso import LOGICAL_BITS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["count_rows"]


def count_rows(
    df: DataFrame, plan: Plan, table: tuple[str, str] | None, tick_ms: int, late_until: int | None
) -> list[CountedRows]:
    """Count rows, with split updates as two, per table version, physical table and slot of ``tick_ms`` of commit time.

    ``table``: whose rows ``df`` has, ``None`` for the generic form. ``late_until``: rows up to this TSO are dropped by
    the changefeed. Raises :class:`~ticdc_emit.errors.UnknownTableError` for rows of no table.
    """
    from pyspark.sql import functions as F  # noqa: N812

    stamp = commit_ts_column(df)
    rows = df if late_until is None else df.filter(stamp > F.lit(late_until))
    rows = with_split_counts(rows, plan, table)
    own_schema, own_name = (F.col("schema"), F.col("table")) if table is None else map(F.lit, table)
    physical = F.col(PHYSICAL_TABLE_ID) if PHYSICAL_TABLE_ID in df.columns else F.lit(None)
    rows_counted = (
        rows.select(
            own_schema.alias("schema"),
            own_name.alias("table"),
            physical.cast("long").alias("physical"),
            _version(stamp, plan, table).alias("version"),
            F.floor(F.shiftright(stamp, LOGICAL_BITS) / F.lit(tick_ms)).alias("slot"),
            stamp.alias("commit_ts"),
            F.col(SPLIT_COUNT),
        )
        .groupBy("schema", "table", "physical", "version", "slot")
        .agg(F.min("commit_ts").alias("first_ts"), F.sum(SPLIT_COUNT).alias("count"))
        .collect()
    )
    return [
        counted(plan, plan.table(schema, name), physical, first_ts, count)
        for schema, name, physical, _, _, first_ts, count in rows_counted
    ]


def _version(stamp: Column, plan: Plan, table: tuple[str, str] | None) -> Column:
    """Return how many changes of any schema stand before a row: rows of equal numbers are of one version."""
    from pyspark.sql import functions as F  # noqa: N812

    changes = version_starts(plan, table)
    if not changes:
        return F.lit(0)
    return F.size(F.filter(F.array(*map(F.lit, changes)), lambda since: since < stamp))
