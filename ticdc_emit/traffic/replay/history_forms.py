"""The forms of a history as row changes: snapshots, validity intervals, change tables.

In: DataFrames with one column per column of the table: a row each, or each version of a row, or each change with its
operation. Out: row changes in the typed form. A snapshot or the difference of two is one commit, unless a column has
each row's time; a series of snapshots has one commit per version. In the other forms each row has its own times.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Literal

from ticdc_emit.changes.model import REFUSED
from ticdc_emit.errors import ConfigError, InvalidValueError, TicdcEmitWarning, shown, warn_caller
from ticdc_emit.hints import names as names_of
from ticdc_emit.hints import values
from ticdc_emit.spark.frames import union_of_reads
from ticdc_emit.spark.row_changes import (
    BEFORE,
    DELETE,
    PUT,
    TRUNCATE,
    Moment,
    TimeUnit,
    change_struct,
    column_named,
    commit_ts_of,
    differs,
    duplicate_key,
    end_ts_of,
    explode_changes,
    image,
    image_columns,
    image_type,
    marks,
    operation_of,
    refusing_rows,
    require_columns,
    required_keys,
    with_keys,
    without_collations,
)
from ticdc_emit.traffic.replay.cached_history import hash_inputs
from ticdc_emit.tso import LOGICAL_BITS, LOGICAL_PER_MICROSECOND, tso_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_MOST_VERSIONS = 100_000  # more are times of rows
_VERSION = "_version_ts"


def snapshot_inserts(
    df: DataFrame, at: Moment, *, columns: str | Iterable[str] | None = None, unit: TimeUnit = "tso"
) -> DataFrame:
    """Return the rows as inserts. ``at``: the time of all rows, or the column with each row's time.

    ``columns``: the table's; default: all but the time column, so give them if that one belongs to the table too.
    Raises :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = image_columns(df, columns, [at if isinstance(at, str) else None])
    return df.select(F.lit("c").alias("op"), commit_ts_of(df, at, unit).alias("commit_ts"), image(names).alias("after"))


def snapshot_diff(
    before: DataFrame, after: DataFrame, keys: str | Iterable[str], at: Moment, *, unit: TimeUnit = "tso"
) -> DataFrame:
    """Return the inserts, updates and deletes that turn one snapshot of a table into the next.

    ``keys``: the columns that identify a row. ``at``: the time of all changes; or the column of ``after`` with the time
    at which a row was last written. In that case deletes have the latest of these times. Rows are compared column by
    column, NULL equal to NULL; a column that ``before`` lacks was NULL, one that ``after`` lacks is left out. Values of
    ``before`` are cast to the types of ``after``.

    ``unit``: of whole numbers. Raises :class:`ConfigError` without keys, or if ``at`` is a column and no row of
    ``after`` has a time for the deletes; and the errors of :func:`snapshot_inserts`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    keys = required_keys(keys, "a difference needs keys")
    before, after = without_collations(before), without_collations(after)
    require_columns(before, keys)
    require_columns(after, keys)
    about = [at] if isinstance(at, str) and at not in before.columns else []
    names = image_columns(after, None, about)
    kinds = {name: after.schema[name].dataType for name in names}
    old_values = [
        (column_named(name) if name in before.columns else F.lit(None)).cast(kind).alias(name)
        for name, kind in kinds.items()
    ]
    stamp = commit_ts_of(after, at, unit)
    old = before.select(F.struct(*old_values).alias("before"))
    new = after.select(image(names).alias("after"), stamp.alias("_ts"))
    kind = image_type(new, "after")
    same_key = reduce(
        lambda one, other: one & other,
        (F.col("before")[key].eqNullSafe(F.col("after")[key]) for key in keys),
    )
    joined = old.join(new, same_key, "full_outer")
    op = (
        F.when(F.col("before").isNull(), "c")
        .when(F.col("after").isNull(), "d")
        .when(differs(F.col("before"), F.col("after"), kind), "u")
    )
    changes = joined.select(
        op.alias("op"), _diff_commit_ts(before, after, at, stamp).alias("commit_ts"), F.col("before"), F.col("after")
    )
    return with_keys(changes.filter(F.col("op").isNotNull()), keys)


def from_snapshots(
    snapshots: DataFrame | Mapping[dt.datetime | int, DataFrame],
    keys: str | Iterable[str],
    at: str | None = None,
    *,
    columns: str | Iterable[str] | None = None,
    versions: dt.datetime | int | Iterable[dt.datetime | int] = (),
    unit: TimeUnit = "tso",
) -> DataFrame:
    """Return the changes between consecutive snapshots of one table: the first one's rows are inserts, and each later
    one sends the inserts, updates and deletes since the one before it, at its own time.

    ``snapshots``: one DataFrame with the rows of all snapshots, in which the column ``at`` has their time (such as the
    partition column of folders ``dt=2026-01-05``); or a DataFrame by its time, an aware datetime or a TSO. ``keys``:
    the columns that identify a row. ``columns``: the table's; default: all but ``at``. ``versions``: the times of
    further snapshots, which have no rows, so that everything is deleted there. ``unit``: of whole numbers in ``at``.

    A row that does not change sends nothing. A snapshot that is missing is not empty: rows stay as they were. A column
    that one of several DataFrames lacks is NULL there. Reads the column ``at`` once. Raises :class:`ConfigError`
    without keys or a time, :class:`~ticdc_emit.errors.MissingColumnError`,
    :class:`~ticdc_emit.errors.UnsupportedTypeError`, :class:`InvalidValueError` for a row without a time, and in
    ``replay`` :class:`~ticdc_emit.errors.DuplicateChangeError` for a key that is twice in one snapshot.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    keys = required_keys(keys, "snapshots need keys")
    if isinstance(snapshots, Mapping):
        whole, stamp, known = _frames_by_time(snapshots, keys, at)
    else:
        whole, stamp, known = _one_frame(snapshots, keys, at, unit)
    stamps = sorted(known | {tso_of(moment, "versions") for moment in values(versions)})
    names = image_columns(whole, columns, [at, _VERSION])
    numbers = whole.sparkSession.createDataFrame(
        [(ts, number, later) for number, (ts, later) in enumerate(zip(stamps, [*stamps[1:], None], strict=True))],
        "_ts long, _number int, _later_ts long",
    )
    rows = whole.select(
        stamp.alias("_ts"),
        *(column_named(key).alias(f"_key{nth}") for nth, key in enumerate(keys)),
        image(names).alias("_image"),
    ).join(F.broadcast(numbers), "_ts")
    kind = image_type(rows, "_image")
    key_columns = [F.col(f"_key{nth}") for nth in range(len(keys))]
    by_key = Window.partitionBy(*key_columns).orderBy("_number")
    seen = rows.select(
        "*",
        F.lag("_number").over(by_key).alias("_earlier"),
        F.lag("_image").over(by_key).alias("_earlier_image"),
        F.lead("_number").over(by_key).alias("_later"),
    )
    earlier, current, number = F.col("_earlier_image"), F.col("_image"), F.col("_number")
    goes_on = F.col("_earlier").isNotNull() & (F.col("_earlier") == number - 1)
    op = F.when(F.col("_earlier") == number, duplicate_key(key_columns, F.col("_ts"))).when(goes_on, "u").otherwise("c")
    ends = F.col("_later_ts").isNotNull() & (F.col("_later").isNull() | (F.col("_later") > number + 1))
    changes = explode_changes(
        seen,
        F.when(~goes_on | differs(earlier, current, kind), change_struct(op, "_ts", F.when(goes_on, earlier), current)),
        F.when(ends, change_struct(F.lit("d"), "_later_ts", current, F.lit(None).cast(kind))),
    )
    return with_keys(changes, keys)


def _one_frame(
    rows: DataFrame, keys: Sequence[str], at: str | None, unit: TimeUnit
) -> tuple[DataFrame, Column, set[int]]:
    """Return the rows of all snapshots, the column of their TSO, and all TSO."""
    if not isinstance(at, str):
        raise ConfigError(
            "snapshots need a time",
            remedy="Give at=, the name of the column with it, or a DataFrame by its time",
            option="at",
        )
    rows = without_collations(rows)
    require_columns(rows, [*keys, at])
    stamp = commit_ts_of(rows, at, unit)
    with refusing_rows():
        found = [ts for (ts,) in rows.select(stamp).distinct().limit(_MOST_VERSIONS + 1).collect()]
    if None in found:
        raise InvalidValueError(
            "a row has no time", remedy="Give every row the time of its snapshot, or leave it out", column=at
        )
    if len(found) > _MOST_VERSIONS:
        raise ConfigError(
            f"the column {at!r} has more than {_MOST_VERSIONS:,} times",
            remedy="Name the column with the time of the snapshot, which all its rows share",
            option="at",
        )
    return rows, stamp, set(found)


def _frames_by_time(
    snapshots: Mapping[dt.datetime | int, DataFrame], keys: Sequence[str], at: str | None
) -> tuple[DataFrame, Column, set[int]]:
    """Return the rows of all snapshots, the column of their TSO, and all TSO."""
    from pyspark.sql import functions as F  # noqa: N812

    if at is not None:
        raise ConfigError("at= and the mapping both give the time", remedy="Leave out at=", option="at")
    by_ts = {tso_of(moment, "snapshots"): without_collations(rows) for moment, rows in snapshots.items()}
    if len(by_ts) < len(snapshots) or not by_ts:
        cause = "two snapshots have one time" if by_ts else "there is no snapshot"
        raise ConfigError(cause, remedy="Give each snapshot by its own time", option="snapshots")
    for rows in by_ts.values():
        require_columns(rows, keys)
    stamped = [rows.withColumn(_VERSION, F.lit(ts).cast("long")) for ts, rows in sorted(by_ts.items())]
    return union_of_reads(stamped), F.col(_VERSION), set(by_ts)


def _diff_commit_ts(before: DataFrame, after: DataFrame, at: Moment, stamp: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    if not isinstance(at, str):
        return stamp
    with refusing_rows():
        newest = after.agg(F.max(stamp)).first()
    last = None if newest is None else newest[0]
    if last is None and not before.isEmpty():
        raise ConfigError(
            f"the time of the deletes is not known: the second snapshot has no {at!r}",
            remedy="Give at= as a datetime with a time zone, or as a TSO",
            option="at",
        )
    return F.coalesce(F.col("_ts"), F.lit(last).cast("long"))


def from_validity(
    df: DataFrame,
    keys: str | Iterable[str],
    valid_from: str,
    valid_to: str,
    *,
    columns: str | Iterable[str] | None = None,
    step: dt.timedelta = dt.timedelta(0),
    deleted_when: str | None = None,
    overlaps: Literal["error", "cut"] = "error",
    unit: TimeUnit = "tso",
) -> DataFrame:
    """Return the changes that made the versions. ``valid_to``: when a version ended; NULL, or a time from the year 9999
    on (or 2^63-1 and more), if it is still valid.

    ``step``: the time from ``valid_to`` to the next version, if the version includes its end (a day for dates that
    include the last day, Fivetran's millisecond). ``deleted_when``: the column that marks a version as a deletion, if
    it is true; ``"column=value"`` if it has that value, in any case. The row is deleted at its ``valid_from``.
    ``columns``: the table's; default: all that these options do not name. ``unit``: the unit of whole numbers.

    ``overlaps``: what to do if a version begins before the one before it ends, or while that is still open. Nothing in
    the rows tells which is right, so the default is an error, as a temporal key of SQL (``WITHOUT OVERLAPS``) refuses
    such rows. ``"cut"`` ends a version where the next one begins, and warns. Equal rows are one, with a warning.

    A version that ends before it begins is a bad row. One that ends when it begins or changes nothing is not sent.
    Reads the rows once. Raises :class:`ConfigError`, :class:`InvalidValueError`,
    :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    if overlaps not in ("error", "cut"):
        raise ConfigError(f"{shown(overlaps)} is not a treatment", remedy="Give error or cut", option="overlaps")
    keys, df = required_keys(keys, "versions need keys"), without_collations(df)
    about = [valid_from, valid_to, *([deleted_when.partition("=")[0]] if deleted_when else [])]
    require_columns(df, [*keys, *about])
    begin, key_columns = commit_ts_of(df, valid_from, unit), {f"_key{nth}": key for nth, key in enumerate(keys)}
    fault = [f"{REFUSED}{valid_to} is ", column_named(valid_to), f", before {valid_from}, ", column_named(valid_from)]
    deletes = marks(df, deleted_when) if deleted_when else F.lit(False)
    ends_early = ~deletes & (end_ts_of(df, valid_to, unit, dt.timedelta(0)) < begin)
    versions = df.select(
        *(column_named(key).alias(name) for name, key in key_columns.items()),
        begin.alias("_from"),
        F.when(~deletes, end_ts_of(df, valid_to, unit, step)).alias("_to"),
        deletes.alias("_deletes"),
        F.when(ends_early, F.concat(*(F.lit(each).cast("string") for each in fault))).alias("_fault"),
        image(image_columns(df, columns, about)).alias("_image"),
    ).filter("_fault is not null or _to is null or _from is null or _to > _from")
    kind = image_type(versions, "_image")
    versions = versions.withColumn("_hash", F.xxhash64(*hash_inputs(F.col("_image"), kind)))
    # of two that begin together, the one that ends first comes first
    order = ("_from", F.col("_to").asc_nulls_last(), "_deletes", "_hash")
    window = Window.partitionBy(F.col("_fault").isNull(), *key_columns).orderBy(*order)
    earlier = (
        F.when(~F.lag("_deletes").over(window), F.lag(name).over(window)).alias(f"_earlier{name}")
        for name in ("_from", "_to", "_image", "_hash")
    )
    seen = versions.select("*", *earlier, F.lead("_from").over(window).alias("_later"))
    _check_versions(seen.filter("_fault is null"), key_columns, valid_to, step, overlaps)
    before, current, goes_on = F.col("_earlier_image"), F.col("_image"), F.expr(_GOES_ON)
    op = F.coalesce("_fault", F.when(F.col("_deletes"), "d").when(goes_on, "u").otherwise("c"))
    begins = F.when(F.col("_deletes"), goes_on).otherwise(~goes_on | differs(before, current, kind))
    after = F.when(~F.col("_deletes"), current)
    changes = explode_changes(
        seen,
        F.when(F.col("_fault").isNotNull() | begins, change_struct(op, "_from", F.when(goes_on, before), after)),
        F.when(F.expr(_ENDS), change_struct(F.lit("d"), "_to", current, F.lit(None).cast(kind))),
    )
    return with_keys(changes, keys)


_GOES_ON = "_earlier_from is not null and coalesce(_earlier_to >= _from, true)"
_ENDS = "_fault is null and _to is not null and coalesce(_later > _to, true)"
_AGAIN = "_earlier_from <=> _from and _earlier_to <=> _to and _earlier_hash <=> _hash"
_OVERLAPS = f"_earlier_from is not null and not _deletes and coalesce(_earlier_to > _from, true) and not ({_AGAIN})"


class HistoryWarning(TicdcEmitWarning):
    """A history is sent, but its rows contradict each other or leave something open."""


def _check_versions(versions: DataFrame, keys: Mapping[str, str], end: str, step: dt.timedelta, overlaps: str) -> None:
    """Warn of versions that overlap or are there twice, and if most end shortly before the next one of their key.

    ``keys``: the names of the key's columns. Raises :class:`InvalidValueError` if ``overlaps`` are an error.
    """
    from pyspark.sql import functions as F  # noqa: N812

    def micros(stamp: str) -> Column:
        logical = F.col(stamp).bitwiseAND((1 << LOGICAL_BITS) - 1)
        return F.shiftright(stamp, LOGICAL_BITS) * 1_000 + F.floor(logical / LOGICAL_PER_MICROSECOND)

    def keys_of(which: str) -> str:
        rows = versions.filter(which).select(*keys).distinct().orderBy(*keys).limit(10).collect()
        return "; ".join(", ".join(f"{key}={shown(row[name])}" for name, key in keys.items()) for row in rows)

    gaps = F.percentile_approx(micros("_from") - micros("_earlier_to"), [0.25, 0.75])
    with refusing_rows():
        facts = versions.agg(F.count_if(F.expr(_OVERLAPS)), F.count_if(F.expr(_AGAIN)), gaps).first()
    overlapping, again, quartiles = facts or (0, 0, None)
    if again:
        warn_caller(f"versions come twice, {again:,} in all: {keys_of(_AGAIN)}. Leave one of each out", HistoryWarning)
    if overlapping:
        cause = f"versions of one key overlap, {overlapping:,} in all: {keys_of(_OVERLAPS)}"
        if overlaps == "error":
            remedy = "Correct them, or give overlaps='cut' (--overlaps cut): each then ends where the next begins"
            raise InvalidValueError(cause, remedy=remedy, column=end)
        warn_caller(f"{cause}. Each ends where the next begins. Correct them", HistoryWarning)
    low, gap = quartiles or (0, 0)
    if low == gap and (0 < gap <= 1_000_000 or gap in (60_000_000, 86_400_000_000)):  # a minute, a day
        step += dt.timedelta(microseconds=gap)
        text = f"most versions end {gap / 1e6:g} s before the next one of their key begins: rows are deleted in between"
        text += f". If a version includes its `{end}`, give step={step!r} "
        warn_caller(f"{text}(--step {step / dt.timedelta(milliseconds=1):g}ms)", HistoryWarning)


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
    words of ``op`` (:func:`operation_of`); ``""`` is that of rows without one, by default an insert, with a warning.

    The first row of a key, and the first after its delete, is an insert; the others are updates. A row that
    changes nothing, and the delete of a missing row, give no change. A delete needs only the keys if an earlier
    row or ``base`` has the rest. A truncation deletes all rows that there are. Reads the column ``op`` once. Raises
    :class:`InvalidValueError` for an unknown operation, :class:`~ticdc_emit.errors.MissingColumnError`,
    :class:`~ticdc_emit.errors.UnsupportedTypeError`.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    keys, order_by = required_keys(keys, "changes need keys"), names_of(order_by, "order_by")
    df = without_collations(df)
    require_columns(df, [*keys, op, *([transaction] if transaction is not None else [])])
    times = [*order_by, *([at] if isinstance(at, str) else [])]
    about = [op, transaction, *(name for name in times if base is None or name not in base.columns)]
    names = image_columns(df, columns, about)
    order, key_columns = [f"_order{nth}" for nth in range(len(order_by))], [f"_key{nth}" for nth in range(len(keys))]
    text, none = F.coalesce(F.trim(column_named(op).cast("string")), F.lit("")), F.lit(None).cast("string")
    meanings = _meanings(df, text, op, operations)
    words_by_meaning = {what: [word for word in meanings if meanings[word] == what] for what in meanings.values()}
    rows = df.select(
        *(column_named(key).alias(name) for key, name in zip(keys, key_columns, strict=True)),
        commit_ts_of(df, at, unit).alias("commit_ts"),
        F.coalesce(none, *(F.when(text.isin(words), what) for what, words in words_by_meaning.items())).alias("_op"),
        image(names).alias("_image"),
        *(_ordering(df, each).alias(name) for each, name in zip(order_by, order, strict=True)),
        *([column_named(transaction).cast("string").alias("transaction")] if transaction is not None else []),
        F.lit(False).alias("_base"),
    )
    kind = image_type(rows, "_image")
    if base is not None:
        rows = rows.unionByName(_base_rows(base, keys, names, rows), allowMissingColumns=True)
    if TRUNCATE in meanings.values():
        truncations, rows = rows.filter(F.col("_op") == TRUNCATE), rows.filter(F.col("_op") != TRUNCATE)
        of_each = rows.select(*key_columns).distinct()
        rows = rows.unionByName(truncations.drop(*key_columns).crossJoin(of_each))
    by_key = Window.partitionBy(*key_columns).orderBy(
        F.col("_base").desc(), "commit_ts", *order, F.when(F.col("_op").isin(BEFORE, TRUNCATE), 0).otherwise(1)
    )
    seen = rows.select(
        "*", F.lag("_op").over(by_key).alias("_earlier"), F.lag("_image").over(by_key).alias("_earlier_image")
    )
    earlier, current = F.col("_earlier_image"), F.col("_image")
    is_there = F.col("_earlier").isNotNull() & ~F.col("_earlier").isin(DELETE, TRUNCATE)
    stays = ~F.col("_op").isin(DELETE, TRUNCATE)
    change = F.when(is_there & stays & differs(earlier, current, kind), "u")
    is_first = F.col("_earlier").isNull() & (F.col("_op") == DELETE)
    change = change.when(~is_there & stays, "c").when(~stays & (is_there | is_first), "d")
    changes = seen.filter(~F.col("_base") & (F.col("_op") != BEFORE)).select(
        change.alias("op"),
        "commit_ts",
        *([_seq(rows, order).alias("seq")] if order else []),
        *(["transaction"] if transaction is not None else []),
        F.when(is_there, earlier).when(~stays, current).alias("before"),
        F.when(stays, current).alias("after"),
    )
    return with_keys(changes.filter(F.col("op").isNotNull()), keys)


_MEANING = "State what a word means: operations={'X': 'delete'} (--operations X=delete)"


def _meanings(df: DataFrame, text: Column, op: str, more: Mapping[str, str] | None) -> dict[str, str]:
    """Return the meaning of each word that the table has; they are checked here, before anything is sent."""
    if not isinstance(more or {}, Mapping):
        raise ConfigError(f"{shown(more)} does not state what words mean", remedy=_MEANING, option="operations")
    known = {(word or "").strip(): meaning for word, meaning in (more or {}).items()}
    words = [word for (word,) in df.select(text).distinct().limit(1_000).collect()]
    meanings = {word: operation_of(word, {"": "insert"} | known) or "" for word in words}
    if "" in meanings.values():
        unknown = next(word for word, meaning in meanings.items() if not meaning)
        raise InvalidValueError(f"{unknown!r} is not an operation", remedy=_MEANING, column=op)
    if "" in meanings and "" not in known:
        warn_caller(
            f"rows without an operation in `{op}` are inserts, as in a full load of AWS DMS. "
            "If they are, give operations={'': 'insert'} (--operations =insert)",
            HistoryWarning,
        )
    return meanings


_DESCENDING = re.compile(r"\sdesc\s*$", re.IGNORECASE)


def _ordering(df: DataFrame, column: str) -> Column:
    """Return a column, or an SQL expression, by which rows are ordered."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F  # noqa: N812

    if column in df.columns:
        return column_named(column)
    if column.isidentifier():
        require_columns(df, [column])
    if _DESCENDING.search(column):  # which Spark would read as the name of the expression
        raise ConfigError(
            f"order_by orders upwards, but {column!r} asks for the other direction",
            remedy="Negate a number: order_by='-lsn'",
            option="order_by",
        )
    try:
        ordering = F.expr(column)
        df.select("*", ordering.alias("_order")).schema  # noqa: B018 - Spark Connect looks at it no earlier
    except PySparkException as error:
        raise ConfigError(
            f"{column!r} is neither a column nor an SQL expression over the columns: {str(error).splitlines()[0]}",
            remedy=f"It has: {', '.join(df.columns)}",
            option="order_by",
        ) from None
    return ordering


def _base_rows(base: DataFrame, keys: Sequence[str], names: Sequence[str], rows: DataFrame) -> DataFrame:
    """Return the rows of a snapshot as rows before all changes; missing columns are NULL."""
    from pyspark.sql import functions as F  # noqa: N812

    require_columns(base, list(keys))
    kind = image_type(rows, "_image")
    values = [
        (column_named(name) if name in base.columns else F.lit(None)).cast(kind[name].dataType).alias(name)
        for name in names
    ]
    return base.select(
        *(
            column_named(key).cast(rows.schema[f"_key{nth}"].dataType).alias(f"_key{nth}")
            for nth, key in enumerate(keys)
        ),
        F.lit(PUT).alias("_op"),
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
