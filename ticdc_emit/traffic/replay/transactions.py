"""Named transactions of a history: rows of one transaction, in any tables, get one commit_ts.

In: row changes of several tables in the typed form, with a column ``transaction``. Out: the same with the commit_ts of
the last row of each transaction, and ``seq``, which keeps the order of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["TRANSACTION", "keep_transactions"]

TRANSACTION = "transaction"


def keep_transactions(tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Return the changes of each table with one commit_ts per transaction; tables without the column stay unchanged. A
    row whose ``transaction`` is NULL is a transaction of its own.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    marked = {name: df for name, df in tables.items() if TRANSACTION in df.columns}
    if not marked:
        return dict(tables)
    rows = [df.select(F.col(TRANSACTION).cast("string").alias(TRANSACTION), "commit_ts") for df in marked.values()]
    commits = (
        reduce(lambda one, other: one.unionByName(other), rows)
        .filter(F.col(TRANSACTION).isNotNull())
        .groupBy(TRANSACTION)
        .agg(F.max("commit_ts").alias("_commit"))
    )

    def kept(df: DataFrame) -> DataFrame:
        inside = [F.col("_own").asc(), *([F.col("seq").asc_nulls_first()] if "seq" in df.columns else [])]
        joined = df.withColumn(TRANSACTION, F.col(TRANSACTION).cast("string")).join(commits, TRANSACTION, "left")
        joined = joined.withColumn("_own", F.col("commit_ts"))
        joined = joined.withColumn("commit_ts", F.coalesce("_commit", "commit_ts"))
        ranked = F.rank().over(Window.partitionBy("commit_ts").orderBy(*inside)).cast("long")
        return joined.withColumn("seq", ranked).drop(TRANSACTION, "_commit", "_own")

    return {name: kept(df) if name in marked else df for name, df in tables.items()}
