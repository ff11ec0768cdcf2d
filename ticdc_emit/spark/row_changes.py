"""What row changes are made of in Spark: images of rows, their comparison, operations, and commit_ts from times.

Rows without a usable time are refused when Spark computes them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import TYPE_CHECKING, Literal, TypeAlias

from ticdc_emit.changes.commit_ts import COUNTS
from ticdc_emit.changes.intervals import AGAIN, SOUND, interval_changes, interval_facts
from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.errors import (
    ConfigError,
    DuplicateChangeError,
    InvalidValueError,
    MissingColumnError,
    SchemaError,
    TicdcEmitError,
    UnsupportedTypeError,
)
from ticdc_emit.hints import did_you_mean
from ticdc_emit.hints import names as names_of
from ticdc_emit.schema.frames.any_frame import KEYS
from ticdc_emit.spark.functions import F, T, conf_is_true
from ticdc_emit.spark.worker import with_offsets
from ticdc_emit.sql.words import quoted
from ticdc_emit.tso import LOGICAL_BITS, LOGICAL_PER_MICROSECOND, MAX_LONG_TSO, tso_from_micros, tso_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType


def required_keys(keys: str | Iterable[str], refusal: str) -> tuple[str, ...]:
    """Return the names of the key's columns; :class:`ConfigError` with ``refusal`` if there are none."""
    names = names_of(keys, "keys")
    if not names:
        raise ConfigError(refusal, remedy="Name the columns that identify a row", option="keys")
    return names


def image_columns(df: DataFrame, columns: str | Iterable[str] | None, but: Collection[str | None]) -> list[str]:
    """Return the names of the table's columns: the given ones, else all of ``df`` except ``but``."""
    if columns is not None:
        columns = list(names_of(columns, "columns"))
        require_columns(df, columns)
        return columns
    names = [name for name in df.columns if name not in but]
    if not names:
        raise MissingColumnError("the input has no column of a table", remedy="Give columns=")
    require_columns(df, names)
    return names


def image(columns: Sequence[str]) -> Column:
    """Return a row's image: a struct of these columns."""
    return F.struct(*(column_named(name).alias(name) for name in columns))


def image_type(rows: DataFrame, column: str) -> StructType:
    kind = rows.schema[column].dataType
    assert isinstance(kind, T.StructType)
    return kind


def key_columns(keys: Sequence[str]) -> list[Column]:
    """Return the columns of the key as :func:`version_changes` needs them."""
    return [column_named(key).alias(f"_key{nth}") for nth, key in enumerate(keys)]


def version_changes(
    rows: DataFrame, *order: str | Column, by_begin: bool = False, extra: Sequence[str] = (), once: bool = False
) -> DataFrame:
    """Return the changes of versions of rows (``changes.intervals``). ``order``: of versions with the same begin.

    ``by_begin``: whether only versions that begin together are compared.
    """
    own = image_type(rows, "_image")
    variants = [field.name for field in own if type(field.dataType).__name__ == "VariantType"]
    texts = [T.StructField(each.name, T.StringType()) if each.name in variants else each for each in own]
    fields = [T.StructField("op", T.StringType()), T.StructField("commit_ts", T.LongType())]
    fields += [rows.schema[name] for name in extra]
    fields += [T.StructField(name, T.StructType(texts)) for name in ("before", "after")]

    def values(image: str, convert: Callable[[Column], Column]) -> Column:
        column = F.col(image)
        return reduce(lambda one, name: one.withField(quoted(name), convert(column[name])), variants, column)

    if variants:
        rows = rows.withColumn("_image", values("_image", F.to_json))
    keys = [*(["_begin"] if by_begin else []), *_key_names(rows)]
    task = partial(interval_changes, keys=keys, extra=extra, once=once)
    changes = _through_sorted(rows, keys, order, task, T.StructType(fields))
    if not variants:
        return changes
    return changes.withColumns({each: values(each, F.parse_json) for each in ("before", "after")})


def version_facts(rows: DataFrame, *order: str | Column) -> DataFrame:
    """Return what is odd in versions of rows, as ``changes.intervals.interval_facts`` yields it."""
    keys = _key_names(rows)
    fields = [rows.schema[name] for name in keys]
    fields += [T.StructField(name, T.BooleanType()) for name in ("overlaps", "again")]
    fields += [T.StructField("gap", T.LongType())]
    return _through_sorted(rows, keys, order, partial(interval_facts, keys=keys), T.StructType(fields))


def _key_names(rows: DataFrame) -> list[str]:
    return [name for name in rows.columns if name.startswith("_key")]


def _through_sorted(
    rows: DataFrame,
    keys: Sequence[str],
    order: Sequence[str | Column],
    task: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: StructType,
) -> DataFrame:
    sound = [SOUND] if SOUND in rows.columns else []
    in_order = rows.repartition(*keys).sortWithinPartitions(*keys, *sound, "_begin", *order)
    return in_order.mapInArrow(lambda batches: task(map(with_offsets, batches)), schema)


_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_MOST_DIGITS = 38


def common_type(kinds: Iterable[DataType]) -> DataType:
    """Return a type that holds all: a wider number, a struct with all fields, else text (nested: JSON)."""
    by_name = {kind.simpleString(): kind for kind in kinds}
    if len(by_name) == 1:
        return next(iter(by_name.values()))
    if by_name.keys() <= set(_INTEGERS):
        return by_name[max(by_name, key=_INTEGERS.index)]
    if by_name.keys() <= {"tinyint", "smallint", "int", "float", "double"}:
        return T.DoubleType()
    decimals = [kind for kind in by_name.values() if isinstance(kind, T.DecimalType)]
    if len(decimals) + len(by_name.keys() & set(_INTEGERS)) == len(by_name):
        scale = max(kind.scale for kind in decimals)
        whole = [kind.precision - kind.scale for kind in decimals] + [_DIGITS.get(name, 0) for name in by_name]
        if max(whole) + scale <= _MOST_DIGITS:
            return T.DecimalType(max(whole) + scale, scale)
    structs = [kind for kind in by_name.values() if isinstance(kind, T.StructType)]
    if len(structs) == len(by_name):
        fields: dict[str, list[DataType]] = {}
        for field in (field for kind in structs for field in kind.fields):
            fields.setdefault(field.name, []).append(field.dataType)
        return T.StructType([T.StructField(name, common_type(own)) for name, own in fields.items()])
    arrays = [kind for kind in by_name.values() if isinstance(kind, T.ArrayType)]
    if len(arrays) == len(by_name):
        return T.ArrayType(common_type(kind.elementType for kind in arrays))
    maps = [kind for kind in by_name.values() if isinstance(kind, T.MapType)]
    if len(maps) == len(by_name):
        return T.MapType(common_type(kind.keyType for kind in maps), common_type(kind.valueType for kind in maps))
    return T.StringType()


def converted(value: Column, own: DataType, kind: DataType) -> Column:
    """Return a value of one type in a :func:`common_type`. A field that a struct lacks is NULL."""
    if own.simpleString() == kind.simpleString():
        return value
    if isinstance(own, T.StructType) and isinstance(kind, T.StructType):
        held = {field.name: field.dataType for field in own.fields}
        fields = (
            converted(value[field.name], held[field.name], field.dataType)
            if field.name in held
            else F.lit(None).cast(field.dataType)
            for field in kind.fields
        )
        named = (each.alias(field.name) for each, field in zip(fields, kind.fields, strict=True))
        return F.when(value.isNotNull(), F.struct(*named))
    if isinstance(own, T.ArrayType) and isinstance(kind, T.ArrayType):
        return F.transform(value, lambda each: converted(each, own.elementType, kind.elementType))
    if isinstance(own, T.MapType) and isinstance(kind, T.MapType):
        entries = F.transform(
            F.map_entries(value),
            lambda each: F.struct(
                converted(each["key"], own.keyType, kind.keyType),
                converted(each["value"], own.valueType, kind.valueType),
            ),
        )
        return F.map_from_entries(entries)
    if isinstance(kind, T.StringType) and type(own).__name__ in ("ArrayType", "MapType", "StructType", "VariantType"):
        return F.to_json(
            converted(
                value, own, _with_leaves(own, lambda leaf: T.StringType() if isinstance(leaf, T.DecimalType) else leaf)
            ),
            JSON_OPTIONS,
        )
    return value.cast(kind)


JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS'Z'",
    "timestampNTZFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS",
}
"""What makes Spark's JSON of a nested value that of ``columnar.nested_json``, if its decimals are text."""


def without_collations(df: DataFrame) -> DataFrame:
    """Return rows whose texts are compared by their bytes, as in ``utf8mb4_bin``, which ``table_sql`` gives them."""
    plain = {
        field.name: _with_leaves(field.dataType, lambda leaf: T.StringType() if type(leaf) is T.StringType else leaf)
        for field in df.schema
    }
    if all(field.dataType == plain[field.name] for field in df.schema):
        return df
    return df.select(
        *(
            column_named(field.name).cast(plain[field.name]).alias(field.name, metadata=field.metadata)
            if field.dataType != plain[field.name]
            else column_named(field.name)
            for field in df.schema
        )
    )


def _with_leaves(kind: DataType, leaf: Callable[[DataType], DataType]) -> DataType:
    if isinstance(kind, T.StructType):
        return T.StructType(
            [
                T.StructField(field.name, _with_leaves(field.dataType, leaf), field.nullable, field.metadata)
                for field in kind.fields
            ]
        )
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(_with_leaves(kind.elementType, leaf), kind.containsNull)
    if isinstance(kind, T.MapType):
        return T.MapType(_with_leaves(kind.keyType, leaf), _with_leaves(kind.valueType, leaf), kind.valueContainsNull)
    return leaf(kind)


def with_keys(changes: DataFrame, keys: Iterable[str]) -> DataFrame:
    """Return row changes whose columns know their table's key, for a sink without a schema."""
    return changes.withMetadata("after", {KEYS: list(keys)})


PUT, DELETE, BEFORE, TRUNCATE = "put", "delete", "before", "truncate"
OPERATIONS: Mapping[str, str] = {
    **dict.fromkeys(("i", "insert", "inserted", "c", "create", "r", "read", "snapshot", "load", "+i"), PUT),
    **dict.fromkeys(("u", "update", "updated", "upsert", "pk", "+u", "update_after", "update_postimage"), PUT),
    **dict.fromkeys(("d", "del", "delete", "deleted", "remove", "-d"), DELETE),
    **dict.fromkeys(("-u", "update_before", "update_preimage"), BEFORE),
    **dict.fromkeys(("t", "truncate"), TRUNCATE),
}
"""The meaning of each word, in lower case: the row exists afterwards (``put``), is gone (``delete``), or is the old row
of an update (``before``); or all rows of the table are gone (``truncate``).
"""


def operation_of(text: str | None, more: Mapping[str, str] | None = None) -> str | None:
    """Return ``put``, ``delete``, ``before``, ``truncate``, or ``None``; ``more`` maps further words to known ones."""
    if text is None:
        return None
    word = text.strip().lower()
    for known, meaning in (more or {}).items():
        if word == known.strip().lower():
            return OPERATIONS.get(meaning.strip().lower(), meaning if meaning in OPERATIONS.values() else None)
    return OPERATIONS.get(word)


def marks(df: DataFrame, text: str) -> Column:
    """Return whether the column ``text`` is true, or of ``column=value`` has that value, in any case."""
    name, equals, value = text.partition("=")
    own = F.lower(F.trim(column_named(name).cast("string")))
    if equals:
        return F.coalesce(own, F.lit("")) == value.strip().lower()
    is_true = own.try_cast("boolean")
    unclear = own.isNotNull() & (own != "") & is_true.isNull()
    return F.when(unclear, _refusal(own, name, _UNCLEAR)).otherwise(F.coalesce(is_true, F.lit(False)))


TRANSACTION = "transaction"


def keep_transactions(tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Return each table's changes with one commit_ts per transaction; a NULL ``transaction`` is one of its own."""
    from pyspark.sql import Window

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

    def with_commits(df: DataFrame) -> DataFrame:
        inside = [F.col("_own").asc(), *([F.col("seq").asc_nulls_first()] if "seq" in df.columns else [])]
        joined = df.withColumn(TRANSACTION, F.col(TRANSACTION).cast("string")).join(commits, TRANSACTION, "left")
        joined = joined.withColumn("_own", F.col("commit_ts"))
        joined = joined.withColumn("commit_ts", F.coalesce("_commit", "commit_ts"))
        ranked = F.rank().over(Window.partitionBy("commit_ts").orderBy(*inside)).cast("long")
        return joined.withColumn("seq", ranked).drop(TRANSACTION, "_commit", "_own")

    return {name: with_commits(df) if name in marked else df for name, df in tables.items()}


Moment: TypeAlias = "dt.datetime | int | str"
"""An aware datetime, a TSO, or the name of a column that holds the moment of each row."""

TimeUnit: TypeAlias = Literal["tso", "s", "ms", "us"]
"""The unit of a column of whole numbers: TSO, or seconds, ms or microseconds since 1970 in UTC."""

MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
LAST_MICROS = ((MAX_LONG_TSO >> LOGICAL_BITS) + 1) * 1_000 - 1  # in the year 3084
OPEN_FROM = 253_370_764_800_000_000  # 9999-01-01 in microseconds: means "still valid", like NULL
_SHOWN = 60  # characters of a value in an error
_UNCLEAR = "is neither true nor false"
_COUNT = "is a count since 1970, not a TSO"
_NO_MOMENT = "is not a time between 1970 and 3084"
_TWICE = re.compile(rf"the key '(?P<key>[^']*){AGAIN}(?P<commit_ts>\d+)", re.DOTALL)
NO_FEED = "give its versions to from_snapshots, {time: spark.read.option('versionAsOf', version).table(name), ...}"
"""What to do with a Delta or Iceberg table whose feed does not tell its history."""

_BY_FORMATS = (
    (
        re.compile(r"DELTA_MISSING_CHANGE_DATA|DELTA_CHANGE_TABLE_FEED_DISABLED|change data was not recorded"),
        "the table kept no change feed for these versions",
        f"Begin at a version that has one (startingVersion, or start= of read_changes); else {NO_FEED}. "
        "ALTER TABLE <table> SET TBLPROPERTIES (delta.enableChangeDataFeed = true) keeps it from now on",
    ),
    (
        re.compile(r"Delete files are currently not supported in changelog scans"),
        "the table has delete files (merge-on-read), which Iceberg's change feed cannot show",
        f"Use copy-on-write (write.update.mode, write.delete.mode, write.merge.mode); else {NO_FEED}",
    ),
    (
        re.compile(r"DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_\w+|PARQUET_COLUMN_DATA_TYPE_MISMATCH"),
        "the columns of the table changed between these versions",
        f"Read a table with column mapping with read_changes, which reads the feed in parts; else {NO_FEED}",
    ),
    (
        re.compile(
            r"FILE_NOT_EXIST|FILE_NOT_FOUND|FileNotFoundException|VERSION_NOT_FOUND|VersionNotFound"
            r"|TRUNCATED_TRANSACTION_LOG|Cannot time travel|Cannot find (a )?(starting |ending )?snapshot"
            r"|NotFoundException"
        ),
        "the table no longer has these versions, or files of them",
        f"Begin at a later version (startingVersion, or start= of read_changes); else {NO_FEED}. VACUUM and "
        "expire_snapshots remove old versions: let them keep the history that you replay",
    ),
)
"""What formats of tables say in Spark's errors, the cause and the remedy."""

_REFUSED = re.compile(
    rf"'(?P<value>[^']*)' in column '(?P<column>.*?)' (?P<cause>{_NO_MOMENT}|{_COUNT}|{_UNCLEAR})", re.DOTALL
)


def commit_ts_of(df: DataFrame, moment: Moment, unit: TimeUnit = "tso") -> Column:
    """Return the TSO column of ``df`` for a moment; NULL if the moment is NULL."""
    if not isinstance(moment, str):
        return F.lit(tso_of(moment)).cast("long")
    return _stamps(df, moment, unit, None)


def end_ts_of(df: DataFrame, column: str, unit: TimeUnit, step: dt.timedelta) -> Column:
    """Return the TSO column of end times plus ``step``; NULL for no end.

    That is NULL (the column may be a void), a time from the year 9999 on, or a TSO of the greatest long or more.
    """
    return _stamps(df, column, unit, step // dt.timedelta(microseconds=1))


@contextmanager
def refusing_rows(table: str | None = None) -> Iterator[None]:
    """Turn Spark's errors into this library's: no moment, a key twice, and what a format of tables cannot read."""
    try:
        yield
    except TicdcEmitError as error:
        if table is not None and isinstance(error, InvalidValueError):
            error.context.setdefault("table", table)
        raise
    except Exception as error:  # Spark's exception type depends on where the value was read
        doubled = _TWICE.search(str(error))
        if doubled is not None:
            raise DuplicateChangeError(
                f"two rows of one version have the key {doubled['key']!r}",
                remedy="Give each row of a version once. If these are two rows, the key does not identify a row: "
                "choose other columns (keys=, or the key of the schema)",
                table=table,
                commit_ts=int(doubled["commit_ts"]),
            ) from None
        for pattern, cause, remedy in _BY_FORMATS:
            line = next((line.strip() for line in str(error).splitlines() if pattern.search(line)), None)
            if line is not None:
                raise ConfigError(f"{cause}: {foreign_text(line)}", remedy=remedy, option="source") from None
        match = _REFUSED.search(str(error))
        if match is None:
            raise
        remedy = (
            "Check the unit of whole numbers (tso, s, ms, us) and the form of text (2026-01-05 08:00:00, "
            "with Z or an offset), or leave those rows out"
        )
        value, column, cause = match.groups()
        if cause == _COUNT:
            unit = "s" if len(value) < 11 else "ms" if len(value) < 14 else "us"
            remedy = f"Give its unit: unit={unit!r} (--time-unit {unit}), or cast it to a timestamp"
        if cause == _UNCLEAR:
            remedy = f"Give the value that marks a deletion: deleted_when='{column}={value}' (--deleted-when)"
        raise InvalidValueError(f"{value!r} {cause}", remedy=remedy, table=table, column=column) from None


def column_named(column: str) -> Column:
    """Return the column of exactly this name, with any characters."""
    return F.col(quoted(column))


def require_columns(df: DataFrame, columns: Iterable[str]) -> None:
    """Raise :class:`MissingColumnError` for a column that ``df`` lacks, :class:`SchemaError` for one it has twice."""
    held = df.columns
    known = Counter(map(str.lower, held))
    for column in names_of(columns):
        if known[column.lower()] > 1 and (
            held.count(column) > 1 or not conf_is_true(df.sparkSession, "spark.sql.caseSensitive")
        ):
            raise SchemaError(
                "the input has two columns with the same name",
                remedy="Give each column a different name, also without regard to case, or drop one",
                column=column,
            )
        if column not in held:
            raise MissingColumnError(
                "the input lacks a column",
                remedy=f"{did_you_mean(column, held)}It has: {', '.join(held)}",
                column=column,
            )


def _stamps(df: DataFrame, name: str, unit: TimeUnit, step_us: int | None) -> Column:
    """Return the TSO of a column; ``step_us``: what is added to an end time; ``None`` for times that are not ends."""
    require_columns(df, [name])
    if unit not in ("tso", *MICROS):
        raise ConfigError(f"{unit!r} is not a unit of time", remedy="Give tso, s, ms or us", option="unit")
    column, kind = column_named(name), df.schema[name].dataType

    def of_clock(clock: Column) -> Column:
        micros = F.unix_micros(clock.try_cast("timestamp"))
        return _of_micros(micros, column, name, step_us, micros >= F.lit(OPEN_FROM))

    def of_number() -> Column:
        number = column.try_cast("long")
        if unit == "tso":
            return _of_tso(number, column, name, step_us)
        micros = F.try_multiply(number, F.lit(MICROS[unit]))
        beyond = micros.isNull() & ~column.cast("string").startswith("-")
        return _of_micros(micros, column, name, step_us, (micros >= F.lit(OPEN_FROM)) | beyond)

    if isinstance(kind, T.IntegralType):
        return of_number()
    if isinstance(kind, T.StringType):
        return F.when(F.trim(column).rlike("^[0-9]+$"), of_number()).otherwise(of_clock(F.trim(column)))
    if isinstance(kind, T.TimestampType | T.TimestampNTZType | T.DateType):
        return of_clock(column)
    if isinstance(kind, T.NullType) and step_us is not None:
        return column.cast("long")
    raise UnsupportedTypeError(
        f"{kind.simpleString()} holds no time",
        remedy="Give a timestamp, a date, text, or a whole number with its unit",
        column=name,
    )


def _of_micros(micros: Column, given: Column, name: str, step_us: int | None, is_open: Column) -> Column:
    """Return the TSO of microseconds, which are NULL if ``given`` is NULL, not a moment, or beyond a long."""
    moved = F.try_add(micros, F.lit(step_us or 0))
    rest = F.pmod(moved, F.lit(1_000))
    physical = ((moved - rest) / F.lit(1_000)).cast("long")
    stamp = physical * F.lit(1 << LOGICAL_BITS) + rest * F.lit(LOGICAL_PER_MICROSECOND)
    inside = F.when(moved.between(0, LAST_MICROS), stamp).when(given.isNotNull(), _refusal(given, name))
    return inside if step_us is None else F.when(is_open, F.lit(None)).otherwise(inside)


def _of_tso(stamp: Column, given: Column, name: str, step_us: int | None) -> Column:
    span = tso_from_micros(step_us or 0)
    inside = F.when(stamp.between(COUNTS.start, COUNTS.stop - 1), _refusal(given, name, _COUNT))
    inside = inside.when(stamp.between(0, MAX_LONG_TSO - span), stamp + F.lit(span))
    inside = inside.when(given.isNotNull(), _refusal(given, name))
    is_open = (stamp == F.lit(MAX_LONG_TSO)) | (stamp.isNull() & given.isNotNull())
    return inside if step_us is None else F.when(is_open, F.lit(None)).otherwise(inside)


def _refusal(given: Column, name: str, cause: str = _NO_MOMENT) -> Column:
    shown = F.translate(F.substring(given.cast("string"), 1, _SHOWN), "'", "")
    return F.raise_error(F.concat(F.lit("'"), shown, F.lit(f"' in column '{name}' {cause}")))
