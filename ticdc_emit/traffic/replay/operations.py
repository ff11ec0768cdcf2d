"""Change tables as row changes: rows with an operation column (I/U/D, c/u/d, insert/update/delete ...).

In: one row per change, as capture tools write them (AWS DMS, Debezium's flattened records, GoldenGate, Delta's change
data feed, Flink's changelogs, triggers). Out: row changes in the typed form. Before images come from the previous
change of the same key, because most such tables have only the new row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ticdc_emit.errors import ConfigError, InvalidValueError
from ticdc_emit.hints import names as names_of
from ticdc_emit.traffic.replay.images import differs, image, image_columns
from ticdc_emit.traffic.replay.moments import Moment, TimeUnit, commit_ts_of, named, require

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["OPERATIONS", "from_operations", "operation_of", "unknown_operations"]

_PUT, _DELETE, _BEFORE = "put", "delete", "before"
OPERATIONS: Mapping[str, str] = {
    **dict.fromkeys(("i", "insert", "inserted", "c", "create", "r", "read", "snapshot", "load", "+i"), _PUT),
    **dict.fromkeys(("u", "update", "updated", "upsert", "pk", "+u", "update_after", "update_postimage"), _PUT),
    **dict.fromkeys(("d", "del", "delete", "deleted", "remove", "-d"), _DELETE),
    **dict.fromkeys(("-u", "update_before", "update_preimage"), _BEFORE),
}
"""The meaning of each word, in lower case: the row exists afterwards (``put``), is gone (``delete``), or is the old row
of an update (``before``).
"""


def operation_of(text: str | None, more: Mapping[str, str] | None = None) -> str | None:
    """Return ``put``, ``delete`` or ``before``; ``None`` for a word that is neither in :data:`OPERATIONS` nor in
    ``more``.

    ``more`` maps further words to known ones: ``{"X": "delete"}``.
    """
    if text is None:
        return None
    word = text.strip().lower()
    for known, meaning in (more or {}).items():
        if word == known.strip().lower():
            return OPERATIONS.get(meaning.strip().lower(), meaning if meaning in OPERATIONS.values() else None)
    return OPERATIONS.get(word)


def unknown_operations(texts: Iterable[str | None], more: Mapping[str, str] | None = None) -> list[str | None]:
    """Return the texts that are not operations."""
    return [text for text in texts if operation_of(text, more) is None]


def from_operations(
    df: DataFrame,
    keys: str | Iterable[str],
    op: str,
    at: Moment,
    *,
    order_by: str | Iterable[str] = (),
    base: DataFrame | None = None,
    columns: str | Iterable[str] | None = None,
    transaction: str | None = None,
    operations: Mapping[str, str] | None = None,
    unit: TimeUnit = "tso",
) -> DataFrame:
    """Return the changes of a change table. ``op``: the column with the operation; ``at``: the column with its time.

    ``order_by``: columns or SQL expressions that order rows with the same time (a log position; text is ordered as
    text). ``base``: the table before the first change, whose rows are the first before images. ``columns``: the
    table's; default: all that these options do not name, and those of ``at`` and ``order_by`` that ``base`` has.
    ``transaction``: the column with each row's transaction id, kept for ``keep_transactions``. ``operations``: more
    words of ``op`` (:func:`operation_of`).

    The first row of a key, and the first after its delete, is an insert; the others are updates. A row that
    changes nothing, and the delete of a missing row, give no change. A delete needs only the keys if an earlier
    row or ``base`` has the rest. Reads the column ``op`` once. Raises :class:`InvalidValueError` for an unknown
    operation, :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    keys, order_by = names_of(keys), names_of(order_by)
    if not keys:
        raise ConfigError("changes need keys", remedy="Name the columns that identify a row", option="keys")
    require(df, [*keys, op, *([transaction] if transaction is not None else [])])
    times = [*order_by, *([at] if isinstance(at, str) else [])]
    about = [op, transaction, *(name for name in times if base is None or name not in base.columns)]
    names = image_columns(df, columns, about)
    order = [f"_order{place}" for place in range(len(order_by))]
    rows = df.select(
        *(named(key).alias(f"_key{place}") for place, key in enumerate(keys)),
        commit_ts_of(df, at, unit).alias("commit_ts"),
        _meaning(df, op, operations).alias("_op"),
        image(names).alias("_image"),
        *(_ordering(df, each).alias(name) for each, name in zip(order_by, order, strict=True)),
        *([named(transaction).cast("string").alias("transaction")] if transaction is not None else []),
        F.lit(False).alias("_base"),
    )
    kind = rows.schema["_image"].dataType
    assert isinstance(kind, StructType)
    if base is not None:
        rows = rows.unionByName(_of_base(base, keys, names, rows), allowMissingColumns=True)
    by_key = Window.partitionBy(*(f"_key{place}" for place in range(len(keys)))).orderBy(
        F.col("_base").desc(), "commit_ts", *order, F.when(F.col("_op") == _BEFORE, 0).otherwise(1)
    )
    seen = rows.select(
        "*", F.lag("_op").over(by_key).alias("_earlier"), F.lag("_image").over(by_key).alias("_earlier_image")
    )
    earlier, current = F.col("_earlier_image"), F.col("_image")
    is_there = F.col("_earlier").isNotNull() & (F.col("_earlier") != _DELETE)
    stays = F.col("_op") != _DELETE
    change = F.when(is_there & stays & differs(earlier, current, kind), "u")
    change = change.when(~is_there & stays, "c").when(~stays & (is_there | F.col("_earlier").isNull()), "d")
    changes = seen.filter(~F.col("_base") & (F.col("_op") != _BEFORE)).select(
        change.alias("op"),
        "commit_ts",
        *([_seq(rows, order).alias("seq")] if order else []),
        *(["transaction"] if transaction is not None else []),
        F.when(is_there, earlier).when(~stays, current).alias("before"),
        F.when(stays, current).alias("after"),
    )
    return changes.filter(F.col("op").isNotNull())


def _meaning(df: DataFrame, op: str, more: Mapping[str, str] | None) -> Column:
    """Return the meaning of each row; the table's distinct words are checked here, before anything is sent."""
    from pyspark.sql import functions as F  # noqa: N812

    text = named(op).cast("string")
    words = [word for (word,) in df.select(text).distinct().limit(1_000).collect()]
    unknown = unknown_operations(words, more)
    if unknown:
        raise InvalidValueError(
            f"{unknown[0]!r} is not an operation",
            remedy="State what it means: operations={'X': 'delete'}",
            column=op,
        )
    meaning = F.lit(None).cast("string")
    for what in (_PUT, _DELETE, _BEFORE):
        meant = [word for word in words if operation_of(word, more) == what]
        meaning = F.when(text.isin(meant), what).otherwise(meaning) if meant else meaning
    return meaning


def _ordering(df: DataFrame, column: str) -> Column:
    """Return a column, or an SQL expression, by which rows are ordered."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F  # noqa: N812

    if column in df.columns:
        return named(column)
    if column.isidentifier():
        require(df, [column])
    ordering = F.expr(column)
    try:
        df.select(ordering).schema  # noqa: B018 - Spark Connect looks at an expression no earlier
    except PySparkException as error:
        raise ConfigError(
            f"{column!r} is neither a column nor an SQL expression over the columns: {str(error).splitlines()[0]}",
            remedy=f"It has: {', '.join(df.columns)}",
            option="order_by",
        ) from None
    return ordering


def _of_base(base: DataFrame, keys: Sequence[str], names: Sequence[str], rows: DataFrame) -> DataFrame:
    """Return the rows of a snapshot as rows before all changes; missing columns are NULL."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    require(base, list(keys))
    kind = rows.schema["_image"].dataType
    assert isinstance(kind, StructType)
    values = [
        (named(name) if name in base.columns else F.lit(None)).cast(kind[name].dataType).alias(name) for name in names
    ]
    return base.select(
        *(
            named(key).cast(rows.schema[f"_key{place}"].dataType).alias(f"_key{place}")
            for place, key in enumerate(keys)
        ),
        F.lit(_PUT).alias("_op"),
        F.struct(*values).alias("_image"),
        F.lit(True).alias("_base"),
    )


def _seq(rows: DataFrame, order: Sequence[str]) -> Column:
    """Return the order inside a transaction: a whole number as it is, else the rank among the rows of the same time."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import IntegralType

    if len(order) == 1 and isinstance(rows.schema[order[0]].dataType, IntegralType):
        return F.col(order[0]).cast("long")
    return F.rank().over(Window.partitionBy("commit_ts").orderBy(*order)).cast("long")
