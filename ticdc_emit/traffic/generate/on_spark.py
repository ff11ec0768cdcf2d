"""The changes of a plan as Spark DataFrames, for a span of change numbers or as a stream.

In: a Spark session and a :class:`TrafficPlan`. Out: the public forms: for a span a typed DataFrame per table, for a
stream one DataFrame, typed for one table, else generic. A change is a function of its number, so partitions,
micro-batches and restarts make no difference.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from ticdc_emit.sql.words import quoted
from ticdc_emit.traffic.generate.changes import TrafficPlan
from ticdc_emit.traffic.generate.sql import native_type, numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["changes_of_stream", "changes_of_table", "changes_of_tables", "final_tables"]


_ROWS_PER_TASK = 250_000


def changes_of_tables(
    spark: SparkSession, plan: TrafficPlan, rows: int, partitions: int | None = None, *, typed: bool = True
) -> dict[str, DataFrame]:
    """Return the changes of each table among the first ``rows`` changes, by ``schema.name``. ``partitions``: of each
    table.

    ``typed``: in the typed form, else in the generic one.
    """
    return {
        table.info.full_name: changes_of_table(spark, plan, number, 0, rows, partitions, typed=typed)
        for number, table in enumerate(plan.tables)
    }


def changes_of_table(
    spark: SparkSession,
    plan: TrafficPlan,
    number: int,
    first: int,
    last: int,
    partitions: int | None = None,
    *,
    typed: bool,
    numbered: bool = False,
) -> DataFrame:
    """Return the changes of table ``number``. ``numbered``: with the row's number in ``_k``."""
    size = plan.cycle.tables[number].size
    low, high = plan.cycle.count(number, first), plan.cycle.count(number, last)
    tasks = partitions or max(1, -(-(high - low) // _ROWS_PER_TASK))
    at = spark.range(low, high, 1, tasks).selectExpr(f"id div {size}L as _c", f"cast(id % {size}L as int) as _i")
    return _layered(at, plan, number, typed=typed, numbered=numbered)


def changes_of_stream(counted: DataFrame, plan: TrafficPlan) -> DataFrame:
    """Return the changes whose numbers are in the column ``value`` of a DataFrame, streaming or not."""
    size = plan.cycle.size
    wanted = counted if plan.rows is None else counted.filter(f"value < {plan.rows}L")
    frames: list[DataFrame] = []
    for number in range(len(plan.tables)):
        place = numbers(plan.cycle.place(number), f"cast(value % {size}L as int)")
        at = wanted.selectExpr(f"value div {size}L as _c", f"cast({place} as int) as _i").filter("_i >= 0")
        frames.append(_layered(at, plan, number, typed=plan.typed))
    return reduce(lambda one, other: one.union(other), frames)


def _layered(at: DataFrame, plan: TrafficPlan, number: int, *, typed: bool, numbered: bool = False) -> DataFrame:
    physical = any(table.hashed_by is not None for table in plan.tables)
    for layer in plan.tables[number].layers(typed=typed, physical=physical, numbered=numbered):
        at = at.selectExpr(*layer)
    return at


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
