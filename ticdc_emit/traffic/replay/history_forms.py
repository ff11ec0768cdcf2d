"""The forms of a history as row changes in the typed form: snapshots, validity intervals, change tables.

A snapshot or the difference of two is one commit, unless a column has each row's time; a series of snapshots has one
commit per version. In the other forms each row has its own times.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ticdc_emit.changes.intervals import BASE, REMOVE, SOUND, may_be_step
from ticdc_emit.changes.model import REFUSED
from ticdc_emit.errors import ConfigError, InvalidValueError, TicdcEmitWarning, shown, warn_caller
from ticdc_emit.hints import names as names_of
from ticdc_emit.hints import values
from ticdc_emit.spark.frames import union_of_reads
from ticdc_emit.spark.functions import F, T
from ticdc_emit.spark.row_changes import (
    BEFORE,
    DELETE,
    PUT,
    TRUNCATE,
    Moment,
    TimeUnit,
    column_named,
    commit_ts_of,
    end_ts_of,
    image,
    image_columns,
    image_type,
    key_columns,
    marks,
    operation_of,
    refusing_rows,
    require_columns,
    required_keys,
    version_changes,
    version_facts,
    with_keys,
    without_collations,
)
from ticdc_emit.traffic.replay.cached_history import hash_inputs
from ticdc_emit.tso import tso_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_MOST_VERSIONS = 100_000  # more are times of rows
_VERSION, _BEGIN_END = "_version_ts", "_begin long, _end long"


def snapshot_inserts(
    df: DataFrame, at: Moment, *, columns: str | Iterable[str] | None = None, unit: TimeUnit = "tso"
) -> DataFrame:
    """Return the rows as inserts. ``at``: the time of all rows, or the column with each row's time. ``columns``: the
    table's; default: all but the time column, so give them if that one belongs to the table too. Raises
    :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`.
    """
    names = image_columns(df, columns, [at if isinstance(at, str) else None])
    return df.select(F.lit("c").alias("op"), commit_ts_of(df, at, unit).alias("commit_ts"), image(names).alias("after"))


def snapshot_diff(
    before: DataFrame, after: DataFrame, keys: str | Iterable[str], at: Moment, *, unit: TimeUnit = "tso"
) -> DataFrame:
    """Return the inserts, updates and deletes that turn one snapshot of a table into the next.

    ``keys``: the columns that identify a row. ``at``: the time of all changes; or the column of ``after`` with the time
    at which a row was last written; then deletes have the latest of these. Rows are compared column by column, NULL
    equal to NULL; a column that ``before`` lacks was NULL, one that ``after`` lacks is left out. Values of ``before``
    are cast to the types of ``after``. ``unit``: of whole numbers. Raises :class:`ConfigError` without keys or a time
    for the deletes, and the errors of :func:`snapshot_inserts`.
    """
    keys = required_keys(keys, "a difference needs keys")
    before, after = without_collations(before), without_collations(after)
    require_columns(after, keys)
    names = image_columns(after, None, [at] if isinstance(at, str) and at not in before.columns else [])
    stamp = commit_ts_of(after, at, unit)
    rows = _versions(after, key_columns(keys), stamp, None, F.lit(PUT), image(names))
    base = _base_rows(before, keys, names, rows, _last_stamp(before, after, at, stamp))
    return with_keys(version_changes(base.unionByName(rows), once=True), keys)


def _versions(
    df: DataFrame, keys: Iterable[Column], begin: Column, end: Any, what: Column, row: Column, *more: Column
) -> DataFrame:
    """Return rows as versions (``changes.intervals``); with ``None`` as ``end``, until the next one of their key."""
    columns = begin.alias("_begin"), F.lit(end).cast("long").alias("_end"), what.alias("_what"), row.alias("_image")
    return df.select(*keys, *columns, *more)


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

    A snapshot that is missing is not empty: rows stay as they were. A column that one of several DataFrames lacks is
    NULL there. Reads the column ``at`` once. Raises :class:`ConfigError` without keys or a time,
    :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`,
    :class:`InvalidValueError` for a row without a time, and in ``replay``
    :class:`~ticdc_emit.errors.DuplicateChangeError` for a key that is twice in one snapshot.
    """
    keys = required_keys(keys, "snapshots need keys")
    if isinstance(snapshots, Mapping):
        whole, stamp, known = _frames_by_time(snapshots, keys, at)
    else:
        whole, stamp, known = _one_frame(snapshots, keys, at, unit)
    stamps = sorted(known | {tso_of(moment, "versions") for moment in values(versions)})
    names = image_columns(whole, columns, [at, _VERSION])
    ends = whole.sparkSession.createDataFrame(list(zip(stamps, [*stamps[1:], None], strict=True)), _BEGIN_END)
    rows = _versions(whole, key_columns(keys), stamp, None, F.lit(PUT), image(names))
    return with_keys(version_changes(rows.drop("_end").join(F.broadcast(ends), "_begin"), once=True), keys)


def _one_frame(
    rows: DataFrame, keys: Sequence[str], at: str | None, unit: TimeUnit
) -> tuple[DataFrame, Column, set[int]]:
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


def _last_stamp(before: DataFrame, after: DataFrame, at: Moment, stamp: Column) -> int | None:
    if not isinstance(at, str):
        return tso_of(at)
    with refusing_rows():
        newest = after.agg(F.max(stamp)).first()
    last: int | None = None if newest is None else newest[0]
    if last is None and not before.isEmpty():
        raise ConfigError(
            f"the time of the deletes is not known: the second snapshot has no {at!r}",
            remedy="Give at= as a datetime with a time zone, or as a TSO",
            option="at",
        )
    return last


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
    include the last day, Fivetran's millisecond). ``deleted_when``: the column that marks a version as a deletion, at
    its ``valid_from``; ``"column=value"`` if it has that value, in any case. ``columns``: the table's; default: all
    that these options do not name. ``unit``: of whole numbers.

    ``overlaps``: what to do if a version begins before the one before it ends, or while that is still open. Nothing in
    the rows tells which is right, so the default is an error, as in SQL (``WITHOUT OVERLAPS``). ``"cut"`` ends a
    version where the next one begins, and warns. Equal rows are one, with a warning.

    A version that ends before it begins is a bad row. One that ends when it begins or changes nothing is not sent.
    Reads the rows once. Raises :class:`ConfigError`, :class:`InvalidValueError`,
    :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`.
    """
    if overlaps not in ("error", "cut"):
        raise ConfigError(f"{shown(overlaps)} is not a treatment", remedy="Give error or cut", option="overlaps")
    keys, df = required_keys(keys, "versions need keys"), without_collations(df)
    about = [valid_from, valid_to, *([deleted_when.partition("=")[0]] if deleted_when else [])]
    require_columns(df, [*keys, *about])
    begin, deletes = commit_ts_of(df, valid_from, unit), marks(df, deleted_when) if deleted_when else F.lit(False)
    fault = [f"{REFUSED}{valid_to} is ", column_named(valid_to), f", before {valid_from}, ", column_named(valid_from)]
    ends_early = ~deletes & (end_ts_of(df, valid_to, unit, dt.timedelta(0)) < begin)
    shown_fault = F.concat(*(F.lit(each).cast("string") for each in fault))
    what = F.when(ends_early, shown_fault).when(deletes, DELETE).otherwise(PUT)
    end = F.when(~deletes, end_ts_of(df, valid_to, unit, step))
    versions = _versions(df, key_columns(keys), begin, end, what, image(image_columns(df, columns, about)))
    versions = versions.withColumn(SOUND, ~F.col("_what").startswith(REFUSED))
    versions = versions.filter(f"not {SOUND} or _end is null or _begin is null or _end > _begin")
    values = hash_inputs(F.col("_image"), image_type(versions, "_image"))
    # of two that begin together, the one that ends first comes first
    versions, order = versions.withColumn("_hash", F.xxhash64(*values)), (F.col("_end").asc_nulls_last(), "_what")
    light = versions.filter(SOUND).withColumn("_image", F.struct("_hash"))
    _check_versions(version_facts(light, *order, "_hash"), keys, valid_to, step, overlaps)
    return with_keys(version_changes(versions, *order, "_hash"), keys)


class HistoryWarning(TicdcEmitWarning):
    """A history is sent, but its rows contradict each other or leave something open."""


def _check_versions(facts: DataFrame, keys: Sequence[str], end: str, step: dt.timedelta, overlaps: str) -> None:
    """Warn of versions that overlap or come twice, and if most end shortly before the next one of their key."""

    def keys_of(which: str) -> str:
        names = facts.columns[: len(keys)]
        rows = facts.filter(which).select(*names).distinct().orderBy(*names).limit(10).collect()
        return "; ".join(
            ", ".join(f"{key}={shown(value)}" for key, value in zip(keys, row, strict=True)) for row in rows
        )

    with refusing_rows():
        counts = F.count_if("overlaps"), F.count_if("again"), F.percentile_approx("gap", [0.25, 0.75])
        overlapping, again, quartiles = facts.agg(*counts).first() or (0, 0, None)
    if again:
        warn_caller(f"versions come twice, {again:,} in all: {keys_of('again')}. Leave one of each out", HistoryWarning)
    if overlapping:
        cause = f"versions of one key overlap, {overlapping:,} in all: {keys_of('overlaps')}"
        if overlaps == "error":
            remedy = "Correct them, or give overlaps='cut' (--overlaps cut): each then ends where the next begins"
            raise InvalidValueError(cause, remedy=remedy, column=end)
        warn_caller(f"{cause}. Each ends where the next begins. Correct them", HistoryWarning)
    low, gap = quartiles or (0, 0)
    if low == gap and may_be_step(gap):
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

    ``order_by``: columns or SQL expressions that order rows with the same time (text is ordered as text). ``base``: the
    table before the first change, whose rows are the first before images. ``columns``: the table's; default: all that
    these options do not name, and those of ``at`` and ``order_by`` that ``base`` has. ``transaction``: the column with
    each row's transaction id, kept for ``keep_transactions``. ``operations``: more words of ``op``
    (:func:`operation_of`); ``""`` is that of rows without one, by default an insert, with a warning.

    The first row of a key, and the first after its delete, is an insert; the others are updates. What changes nothing
    gives no change. A delete needs only the keys if an earlier row or ``base`` has the rest. A truncation deletes all
    rows that there are. Reads the column ``op`` once. Raises :class:`InvalidValueError` for an unknown operation,
    :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`.
    """
    keys, order_by = required_keys(keys, "changes need keys"), names_of(order_by, "order_by")
    df = without_collations(df)
    require_columns(df, [*keys, op, *([transaction] if transaction is not None else [])])
    times = [*order_by, *([at] if isinstance(at, str) else [])]
    about = [op, transaction, *(name for name in times if base is None or name not in base.columns)]
    names = image_columns(df, columns, about)
    order, key_names = [f"_order{nth}" for nth in range(len(order_by))], [f"_key{nth}" for nth in range(len(keys))]
    text, none = F.coalesce(F.trim(column_named(op).cast("string")), F.lit("")), F.lit(None).cast("string")
    meanings = _meanings(df, text, op, operations)
    words_by_meaning = {what: [word for word in meanings if meanings[word] == what] for what in meanings.values()}
    rows = _versions(
        df,
        key_columns(keys),
        commit_ts_of(df, at, unit),
        None,
        F.coalesce(none, *(F.when(text.isin(words), what) for what, words in words_by_meaning.items())),
        image(names),
        *(_ordering(df, each).alias(name) for each, name in zip(order_by, order, strict=True)),
        *([column_named(transaction).cast("string").alias("transaction")] if transaction is not None else []),
    )
    if base is not None:
        rows = rows.unionByName(_base_rows(base, keys, names, rows), allowMissingColumns=True)
    if TRUNCATE in meanings.values():
        truncations, rows = rows.filter(F.col("_what") == TRUNCATE), rows.filter(F.col("_what") != TRUNCATE)
        of_each = rows.select(*key_names).distinct()
        rows = rows.unionByName(truncations.drop(*key_names).crossJoin(of_each))
    # the old row of an update is known before it, and a truncation is no change of a row that is not there
    what = F.col("_what")
    rows = rows.withColumn("_rank", F.when(what.isin(BEFORE, TRUNCATE), 0).otherwise(1)).withColumn(
        "_what",
        F.when(what == BEFORE, BASE).when(what == TRUNCATE, DELETE).when(what == DELETE, REMOVE).otherwise(what),
    )
    own = ["transaction"] if transaction is not None else []
    changes = version_changes(rows, *order, "_rank", extra=[*order, *own])
    seq = [_seq(changes, order).alias("seq")] if order else []
    return with_keys(changes.select("op", "commit_ts", *seq, *own, "before", "after"), keys)


_MEANING = "State what a word means: operations={'X': 'delete'} (--operations X=delete)"


def _meanings(df: DataFrame, text: Column, op: str, more: Mapping[str, str] | None) -> dict[str, str]:
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
    from pyspark.errors import PySparkException

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


def _base_rows(
    base: DataFrame, keys: Sequence[str], names: Sequence[str], rows: DataFrame, end: int | None = None
) -> DataFrame:
    """Return a snapshot's rows as rows before all changes, with the types of ``rows``; missing columns are NULL."""
    require_columns(base, keys)
    kind = image_type(rows, "_image")
    values = [
        (column_named(name) if name in base.columns else F.lit(None)).cast(kind[name].dataType).alias(name)
        for name in names
    ]
    own = (
        column_named(key).cast(rows.schema[f"_key{nth}"].dataType).alias(f"_key{nth}") for nth, key in enumerate(keys)
    )
    return _versions(base, own, F.lit(-1).cast("long"), end, F.lit(BASE), F.struct(*values))


def _seq(rows: DataFrame, order: Sequence[str]) -> Column:
    """Return the order inside a transaction: a whole number as it is, else the rank among the rows of the same time."""
    from pyspark.sql import Window

    if len(order) == 1 and isinstance(rows.schema[order[0]].dataType, T.IntegralType):
        return F.col(order[0]).cast("long")
    return F.rank().over(Window.partitionBy("commit_ts").orderBy(*order)).cast("long")
