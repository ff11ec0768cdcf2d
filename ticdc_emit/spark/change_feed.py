"""The change feeds that table formats keep, as row changes: Delta's, Iceberg's, and those of Spark's ``changes``.

In: a row for each old and each new image. A commit is one transaction, the numbers of commits are the order, and
commit_ts only rises. Rule sources: Delta's protocol ("Change Data Files", "Add CDC File"), Iceberg's
``create_changelog_view``, Spark's ``Changelog`` (4.2).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import attrgetter, or_
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ticdc_emit.changes.intervals import BASE
from ticdc_emit.errors import ConfigError, InvalidValueError, MissingColumnError, UnsupportedTypeError, shown
from ticdc_emit.hints import did_you_mean
from ticdc_emit.hints import names as names_of
from ticdc_emit.pipeline.plan.table_plans import Plan
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.spark.batch import table_versions
from ticdc_emit.spark.functions import F, T
from ticdc_emit.spark.row_changes import (
    PUT,
    TRUNCATE,
    column_named,
    commit_ts_of,
    image,
    image_columns,
    key_columns,
    operation_of,
    refusing_rows,
    require_columns,
    required_keys,
    version_changes,
    with_keys,
    without_collations,
)
from ticdc_emit.sql.words import to_lower
from ticdc_emit.tso import LOGICAL_PER_MICROSECOND, tso_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FeedForm(NamedTuple):
    """A row of :data:`FORMS`: the columns of the operation, a commit's id, the order of commits and their time.

    ``skips_files``: whether a filter on the commits reads only their files.
    """

    operation: str
    commit: str
    order: str
    time: str
    skips_files: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.operation, self.commit, self.order, self.time)))


FORMS = {
    "Delta's change data feed or Spark's changes": FeedForm(
        "_change_type", "_commit_version", "_commit_version", "_commit_timestamp", skips_files=True
    ),
    "Iceberg's changelog view": FeedForm(
        "_change_type", "_commit_snapshot_id", "_change_ordinal", "_commit_timestamp", skips_files=False
    ),
}
"""The known forms by what people call them."""

CommitTimes: TypeAlias = "DataFrame | Mapping[int, dt.datetime | int]"
"""The times of commits: aware datetimes or TSO by commit, or a DataFrame in which a format lists its commits: the rows
of Iceberg's table ``snapshots``, or of Delta's ``DESCRIBE HISTORY``."""

_LISTS = (("snapshot_id", "committed_at"), ("version", "timestamp"))
_MOST_COMMITS = 1_000_000
_MOST_RANGES = 100  # of commits in a filter


def feed_form(columns: Sequence[str]) -> FeedForm | None:
    """Return the form of a change feed with these columns, of which the time may be missing; ``None`` for others."""
    return next((each for each in FORMS.values() if {each.operation, each.commit, each.order} <= set(columns)), None)


def rising(stamps: Iterable[int], above: int = 0) -> list[int]:
    """Return a TSO for each commit: its own, or if that is not above the one before it, a microsecond after that.

    ``above``: the TSO below the first one. Times are whole microseconds, so a commit's DDL fits between two.
    """
    result: list[int] = []
    for stamp in stamps:
        above = stamp if stamp > above else above + LOGICAL_PER_MICROSECOND
        result.append(above)
    return result


def from_changes(
    df: DataFrame,
    keys: str | Iterable[str],
    *,
    columns: str | Iterable[str] | None = None,
    times: CommitTimes | None = None,
    above: int = 0,
) -> DataFrame:
    """Return the changes of a change feed: Delta's (``readChangeFeed``), Iceberg's (``create_changelog_view``), or that
    of Spark's ``read.changes``. Its columns tell the form.

    ``keys``: the columns that identify a row. ``columns``: the table's; default: all but those of the form. ``times``:
    of the commits, for a feed that has none, as Iceberg's. ``above``: a TSO below that of the first commit.

    A commit is one transaction, its time the commit_ts, or a microsecond after the one before it if it is not later.
    The old and the new image of a key in a commit are an update, or nothing if they are equal (NULL equals NULL, -0.0
    does not equal 0.0). So an update of the key is a delete and an insert.

    Reads the feed once for its commits. Raises :class:`ConfigError` without keys or times,
    :class:`~ticdc_emit.errors.MissingColumnError`, :class:`~ticdc_emit.errors.UnsupportedTypeError`,
    :class:`InvalidValueError` for an unknown operation and a commit without a time, and in ``replay``
    :class:`~ticdc_emit.errors.DuplicateChangeError` for a key with two old or two new images in one commit.
    """
    form, df = _required_form(df), without_collations(df)
    keys = required_keys(keys, "changes need keys")
    require_columns(df, keys)
    names = image_columns(df, columns, form.columns)
    commits, new_words = _commits_of(df, form, times)
    stamps = zip((commit.id for commit in commits), rising((commit.stamp for commit in commits), above), strict=True)
    images = df.select(
        *key_columns(keys),
        column_named(form.commit).cast("long").alias("_commit"),
        column_named(form.operation).isin(new_words).alias("_is_new"),
        image(names).alias("_image"),
    )
    stamped = images.join(
        F.broadcast(df.sparkSession.createDataFrame(list(stamps), "_commit long, _begin long")), "_commit"
    )
    if not any(commit.is_mixed for commit in commits):
        return with_keys(_single_images(stamped), keys)
    runs = [list(run) for is_mixed, run in groupby(commits, attrgetter("is_mixed")) if is_mixed]
    ranges = [(run[0].id, run[-1].id) for run in runs]
    if not form.skips_files or len(ranges) > _MOST_RANGES:
        return with_keys(_paired_images(stamped), keys)
    is_mixed = reduce(or_, (F.col("_commit").between(first, last) for first, last in ranges))
    changes = _single_images(stamped.filter(~is_mixed)).union(_paired_images(stamped.filter(is_mixed)))
    return with_keys(changes, keys)


def changes_of_table(
    df: DataFrame, versions: Sequence[TableInfo], keys: Iterable[str] = (), *, above: int = 0
) -> DataFrame:
    """Return the changes of a change feed of these versions, without other columns; default key: the handle key."""
    keys = names_of(keys, "keys")
    handle_keys = dict.fromkeys(name for info in versions for name in info.handle_key_names)
    known = {column.name for info in versions for column in info.columns}
    if not keys:
        _require_key(df.columns, versions)
    if not any(name in known for name in df.columns):
        raise MissingColumnError(
            "the change feed has no column of the table",
            remedy=f"It has: {', '.join(df.columns)}",
            table=versions[-1].full_name,
        )
    return from_changes(
        df,
        keys or [name for name in handle_keys if name in df.columns],
        columns=[name for name in df.columns if name in known],
        above=above,
    )


def _require_key(columns: Sequence[str], versions: Sequence[TableInfo]) -> None:
    if any(set(info.handle_key_names) <= set(columns) for info in versions):
        return
    lacking = next(name for name in versions[-1].handle_key_names if name not in columns)
    other_case = next((name for name in columns if to_lower(name) == to_lower(lacking)), None)
    raise MissingColumnError(
        "the change feed lacks a column of the key",
        remedy=f"{did_you_mean(lacking, columns)}It has: {', '.join(columns)}"
        if other_case is None
        else f"It has {other_case}, and the case counts: rename it with withColumnRenamed, or in the schema",
        table=versions[-1].full_name,
        column=lacking,
    )


def has_feed(source: Any) -> bool:
    """Return whether rows, or those of a table among several, are DataFrames of a change feed."""
    frames = source.values() if isinstance(source, Mapping) else [source]
    return any(hasattr(each, "sparkSession") and feed_form(each.columns) is not None for each in frames)


def feeds_as_images(source: Any) -> Any:
    """Return rows, or those of several tables by name, with schemas of row changes in place of change feeds."""

    def images(rows: Any) -> Any:
        if not has_feed(rows):
            return rows
        columns = [field for field in rows.schema.fields if field.name not in _required_form(rows).columns]
        return T.StructType([T.StructField("after", T.StructType(columns))])

    return {name: images(rows) for name, rows in source.items()} if isinstance(source, Mapping) else images(source)


def feeds_as_changes(source: Any, plan: Plan, table: str | None, *, above: int = 0) -> Any:
    """Return rows, or those of several tables by name, with the row changes of change feeds."""

    def changes(name: str | None, rows: Any) -> Any:
        return changes_of_table(rows, table_versions(plan, name), above=above) if has_feed(rows) else rows

    if isinstance(source, Mapping):
        return {name: changes(name or table, rows) for name, rows in source.items()}
    return changes(table, source)


def _required_form(df: DataFrame) -> FeedForm:
    form = feed_form(df.columns)
    if form is None:
        known = "; ".join(f"{name} has {', '.join(form.columns)}" for name, form in FORMS.items())
        raise MissingColumnError(
            f"the input is not a change feed. {known}",
            remedy="Read the table's changes: spark.read.option('readChangeFeed', True)"
            f".option('startingVersion', 0).table(name). The input has: {', '.join(df.columns)}",
        )
    return form


class _Commit(NamedTuple):
    """A commit of a feed. ``stamp``: its own TSO. ``is_mixed``: whether it has both old and new images."""

    id: int
    stamp: int
    is_mixed: bool


def _commits_of(df: DataFrame, form: FeedForm, times: CommitTimes | None) -> tuple[list[_Commit], list[str]]:
    """Return the commits of a feed in their order, and the words of new images, by one pass over the form's columns."""
    for name in dict.fromkeys((form.commit, form.order)):
        if not isinstance(kind := df.schema[name].dataType, T.IntegralType):
            raise UnsupportedTypeError(
                f"{kind.simpleString()} is not a number of a commit", remedy="Cast it to bigint", column=name
            )
    stamps = None if times is None else _stamps_of(times)
    if stamps is None and form.time not in df.columns:
        raise ConfigError(
            "the feed does not hold the times of its commits",
            remedy="Give times=, such as spark.table('<catalog>.<schema>.<table>.snapshots') for an Iceberg table",
            option="times",
        )
    stamp = commit_ts_of(df, form.time) if stamps is None else F.lit(None).cast("long")
    names = [column_named(name).alias(f"_{nth}") for nth, name in enumerate((form.commit, form.order, form.operation))]
    with refusing_rows():
        found = (
            df.select(*names, stamp.alias("_ts"))
            .groupBy("_0", "_1", "_2")
            .agg(F.max("_ts"))
            .limit(_MOST_COMMITS + 1)
            .collect()
        )
    if len(found) > _MOST_COMMITS:
        raise ConfigError(
            f"the feed has more than {_MOST_COMMITS:,} commits", remedy="Replay it in parts, with above=", option="df"
        )
    operations: dict[tuple[int, int], set[str | None]] = {}
    own_stamps: dict[int, int] = {}
    for commit, order, word, own in found:
        if commit is None or order is None:
            raise InvalidValueError(
                "a row of the feed has no commit",
                remedy="Give the rows as the format's reader returns them",
                column=form.commit if commit is None else form.order,
            )
        if operation_of(word) in (None, TRUNCATE):
            raise InvalidValueError(
                f"{word!r} is not an operation",
                remedy="Give the rows as the format's reader returns them, or use from_operations(operations=...)",
                column=form.operation,
            )
        operations.setdefault((order, commit), set()).add(operation_of(word))
        if stamps is None and own is not None:
            own_stamps[commit] = max(own, own_stamps.get(commit, 0))
    stamps = own_stamps if stamps is None else stamps
    for _, commit in operations:
        if commit not in stamps:
            raise InvalidValueError(
                f"the commit {commit} has no time",
                remedy="Give the time of every commit: times={commit: time}, or all rows of the format's list",
                column=form.time,
            )
    commits = [
        _Commit(commit, stamps[commit], PUT in roles and len(roles) > 1)
        for (_, commit), roles in sorted(operations.items())
    ]
    return commits, sorted({word for _, _, word, _ in found if operation_of(word) == PUT})


def _stamps_of(times: CommitTimes) -> dict[int, int]:
    if isinstance(times, Mapping):
        return {commit: tso_of(moment, "times") for commit, moment in times.items()}
    if not hasattr(times, "sparkSession"):
        raise ConfigError(
            f"{shown(times)} holds no times of commits",
            remedy=f"Give the rows that list the commits, such as spark.table({shown(times)}), or {{commit: time}}"
            if isinstance(times, str)
            else "Give {commit: time}, or the rows that list the commits",
            option="times",
        )
    listed = next((pair for pair in _LISTS if set(pair) <= set(times.columns)), None)
    if listed is None:
        wanted = " or ".join(" and ".join(pair) for pair in _LISTS)
        raise MissingColumnError(
            f"the times of commits need the columns {wanted}",
            remedy=f"It has: {', '.join(times.columns)}",
            option="times",
        )
    commit, moment = listed
    with refusing_rows():
        found = times.select(column_named(commit), commit_ts_of(times, moment)).collect()
    return {commit: ts for commit, ts in found if ts is not None}


def _single_images(rows: DataFrame) -> DataFrame:
    is_new = F.col("_is_new")
    return rows.select(
        F.when(is_new, "c").otherwise("d").alias("op"),
        F.col("_begin").alias("commit_ts"),
        F.when(~is_new, F.col("_image")).alias("before"),
        F.when(is_new, F.col("_image")).alias("after"),
    )


def _paired_images(rows: DataFrame) -> DataFrame:
    """Return the changes that the images of each key and commit make, commit by commit: delivery need not sort."""
    is_new = F.col("_is_new")
    versions = rows.withColumns(
        {"_what": F.when(is_new, PUT).otherwise(BASE), "_end": F.when(~is_new, F.col("_begin"))}
    )
    return version_changes(versions, "_what", by_begin=True, once=True)
