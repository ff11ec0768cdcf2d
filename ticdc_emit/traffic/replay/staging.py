"""Row changes ready for replay: checked, by table, with their commit_ts.

In: DataFrames in a public form, one for all tables or one per table. Out: all rows as one batch; or, once they are
cached, their bounds in time and the rows of any slice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ticdc_emit.changes.arrow_input import is_generic
from ticdc_emit.errors import MissingColumnError
from ticdc_emit.pipeline.batch import Batch, typed_table
from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.spark.batch import SparkBatch, check_changes
from ticdc_emit.spark.frames import commit_ts_column
from ticdc_emit.sql.words import split_name
from ticdc_emit.traffic.replay.kept import Bounds, Kept
from ticdc_emit.traffic.replay.slices import Slice
from ticdc_emit.traffic.replay.transactions import keep_transactions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Staged"]


class Staged:
    """``source``: one DataFrame in either public form, or the typed changes of each table by ``schema.name``.

    ``table``: the table of a single typed DataFrame, unless the source names it. Raises :class:`MissingColumnError` for
    typed rows that lack a column of their table.
    """

    def __init__(self, source: DataFrame | Mapping[str, DataFrame], plan: Plan, table: str | None = None) -> None:
        named = dict(source) if isinstance(source, Mapping) else {table or "": source}
        tables = {name or table or "": df for name, df in named.items()}
        for name, df in tables.items():
            if not is_generic(df.columns) and "query" not in df.columns:  # DDL rows may change the table
                _require_columns(df, _versions(plan, name or None))
                check_changes(df.schema, typed_table(df.columns, name or None, plan), plan)
        self._frames = keep_transactions({name: _with_commit_ts(df) for name, df in tables.items()})
        self._kept: Kept | None = None

    def keep(self, width_ms: int | None, *, fingerprint: bool) -> Bounds:
        """Let Spark cache the rows in slices of this width (:class:`Kept`); return their bounds."""
        self._kept = Kept(self._frames, width_ms, fingerprint=fingerprint)
        return self._kept.bounds

    def release(self) -> None:
        """Remove the rows from Spark's cache."""
        if self._kept is not None:
            self._kept.release()

    def batch(self, part: Slice) -> Batch:
        """Return the rows of a slice; all rows if they are not cached."""
        if self._kept is not None:
            return self._kept.batch(part)
        return SparkBatch({name or None: df for name, df in self._frames.items()}, None)


def _with_commit_ts(df: DataFrame) -> DataFrame:
    stamped = df.withColumn("commit_ts", commit_ts_column(df))
    return stamped.drop("commit_time")


def _versions(plan: Plan, table: str | None) -> list[TableInfo]:
    known = [key for key, planned in plan.tables.items() if any(planned.encoders)]
    return [encoder.table for encoder in plan.table(*split_name(table, known)).encoders if encoder is not None]


def _require_columns(df: DataFrame, versions: list[TableInfo]) -> None:
    """Refuse ``after`` images that lack a column of every table version, before anything is sent."""
    from pyspark.sql.types import StructType

    kind = df.schema["after"].dataType if "after" in df.columns else None
    if not isinstance(kind, StructType) or not versions:
        return
    for column in versions[-1].data_columns:
        always = all(column.name in (other.name for other in info.data_columns) for info in versions)
        if always and column.name not in kind.names:
            raise MissingColumnError(
                "the changes lack a column of the table",
                remedy="Give it in the source; where it is what at= or order_by= names, name it in columns= too",
                table=versions[-1].full_name,
                column=column.name,
            )
