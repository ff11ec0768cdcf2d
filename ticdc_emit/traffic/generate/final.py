"""The final tables of a plan's changes, as typed DataFrames: computed like the changes, never read from messages.

In: a Spark session and a :class:`TrafficPlan` with an end. Out: a DataFrame for each table. A row's last change is the
newest one with its number; columns added later have their default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.sql.words import quoted
from ticdc_emit.traffic.generate.frame import changes_of_table
from ticdc_emit.traffic.generate.natives import native_type
from ticdc_emit.traffic.generate.plan import TrafficPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["final_tables"]


def final_tables(spark: SparkSession, plan: TrafficPlan, rows: int) -> dict[tuple[str, str], DataFrame]:
    """Return the rows after ``rows`` changes and all of the plan's statements, by (schema, table)."""
    tables: dict[tuple[str, str], DataFrame] = {}
    for number, table in enumerate(plan.tables):
        changes = changes_of_table(spark, plan, number, 0, rows, typed=True, numbered=True)
        columns = [f"_row.{quoted(column.name)}" for column in table.info.row_columns]
        tables[table.info.schema, table.info.name] = _newest(changes).selectExpr(*columns, *_added(plan, number))
    return tables


def _newest(changes: DataFrame) -> DataFrame:
    """Return the last image of each row that is not deleted: ``_row``, and its commit time: ``_at``."""
    from pyspark.sql import functions as F  # noqa: N812

    last = F.max_by(F.struct("op", "after", "commit_ts"), "commit_ts").alias("last")
    return (
        changes.groupBy("_k")
        .agg(last)
        .filter("last.op <> 'd'")
        .selectExpr("last.after as _row", "last.commit_ts as _at")
    )


def _added(plan: TrafficPlan, number: int) -> list[str]:
    """Return SQL of the columns that the statements have added and not dropped."""
    written = plan.clock.schema_changes_before("_at")
    total = f"{len(plan.ddl)}L"
    columns: list[str] = []
    for each in plan.tables[number].added:
        name = each.name_after(len(plan.ddl))
        if name is not None:
            value = f"coalesce({', '.join(f'_row.{quoted(known)}' for known in each.names)})"
            default = f"cast({each.default or 'null'} as {native_type(each.column)})"
            is_newer = f"{each.additions(written)} = {each.additions(total)}"
            columns.append(f"if({is_newer}, {value}, {default}) as {quoted(name)}")
    return columns
