"""``ticdc-emit emit``: files of row changes, or of plain rows, to Kafka or files.

**Change form** is data with an ``op`` column: beside it ``commit_ts`` or ``commit_time``, and the images as ``before``
and ``after`` structs; CSV, which has no structs, writes them as columns ``before.<name>`` and ``after.<name>``. **Plain
rows** have the table's columns and become inserts, at the time in ``commit_time_column`` or all in one transaction.
Text must be canonical for its column (``docs/types.md``); binary columns are base64.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ticdc_emit.changes.arrow_input import CHANGE_COLUMNS, GENERIC_NAMES
from ticdc_emit.changes.commit_ts import utc_timestamps
from ticdc_emit.cli.console import print_report, step, warn_of_nothing
from ticdc_emit.cli.input_files import (
    FORMATS,
    IMAGES,
    STDIN,
    InputFiles,
    Piece,
    check_readable,
    files_of_stdin,
    find_files,
    format_by_content,
    format_by_name,
    json_batch,
    unified,
)
from ticdc_emit.cli.schema import assumed_schema
from ticdc_emit.cli.schema_files import schema_of_file
from ticdc_emit.cli.session import MOST_BYTES_HERE, MOST_ROWS_HERE, runs_here, spark_for
from ticdc_emit.config import mask_uri
from ticdc_emit.config.document import ConfigWarning
from ticdc_emit.errors import (
    ConfigError,
    InvalidValueError,
    MissingColumnError,
    SchemaError,
    UnknownTableError,
    shown,
    warn_caller,
)
from ticdc_emit.hints import did_you_mean
from ticdc_emit.pipeline.plan.ddl import catalog_for
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo, schema_and_name
from ticdc_emit.tso import compose

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ticdc_emit.cli.app import Emit


_SHORT_BYTES = 16 * 1024 * 1024


def run(options: Emit) -> int:
    """Emit row changes, or plain rows as inserts, whose columns and ``--keys`` make the schema if it is not given."""
    spark = options.spark_settings
    changefeed = options.changefeed()
    if options.schema is not None and options.keys is not None:
        raise ConfigError("the schema file has the keys", remedy="Leave out --keys", option="keys")
    ddl = schema_of_file(options.schema, options.schema_dialect)
    catalog = None if ddl is None else catalog_for(changefeed, ddl)
    info = None if catalog is None else _table(catalog, options.table)
    with ExitStack() as stack:
        files = files_of_stdin(stack) if options.input == STDIN else find_files(options.input, spark)
        check_readable(options.input, "input", files)
        own = format_by_content(files) if options.input == STDIN and files is not None else None
        file_format = format_of(options.input, options.format or own)
        if catalog is None or info is None:
            catalog = catalog_for(changefeed, assumed_schema(files, file_format, options, changefeed.force_replicate))
            info = _table(catalog, options.table)
        form = ChangeForm(
            info,
            file_format,
            options.commit_time_column,
            compose(time.time_ns() // 1_000_000) if options.commit_ts is None else options.commit_ts,
            options.ignore_unknown_columns,
        )
        from ticdc_emit.spark import TicdcSink

        given: Any = {"message_digests": options.as_json, **options.bad_row_options}
        sink = TicdcSink(changefeed, catalog, table=info.full_name, **given)
        doing = f"emitting {options.input} as changes of {info.full_name} to {mask_uri(options.sink_uri)}"
        size = math.inf if files is None else files.size
        rows = None
        if files is not None and runs_here(size, MOST_BYTES_HERE, options):
            rows = changes_here(files, form, MOST_ROWS_HERE)
        if rows is None:
            session = spark_for(stack, "emit", short=size <= _SHORT_BYTES, settings=spark, quiet=options.as_json)
            changes: Any = changes_on_spark(session, options.input, files, form)
        else:
            changes = {info.full_name: rows}
        with step(doing, quiet=options.as_json):
            report = sink.write(changes)
        warn_of_nothing(report)
        print_report(report, as_json=options.as_json, table=info.full_name)
    return 0


def _table(catalog: Catalog, table: str | None) -> TableInfo:
    known = [(info.schema, info.name) for info in catalog.tables() if not info.is_view]
    names = [f"{schema}.{name}" for schema, name in known]
    if table is None and len(known) == 1:
        return catalog.table(*known[0])
    if table is None:
        raise SchemaError(
            f"the schema file has {len(known)} tables",
            remedy=f"Choose one with --table: {', '.join(names)}" if known else "Add a CREATE TABLE statement",
        )
    try:
        return catalog.table(*schema_and_name(table, known))
    except UnknownTableError as error:
        remedy = f"{did_you_mean(table, names)}The schema file has: {', '.join(names)}"
        raise UnknownTableError(error.message, remedy=remedy, option="table") from None


_OF_CHANGES = CHANGE_COLUMNS - {*GENERIC_NAMES}


def format_of(path: str, input_format: str | None) -> str:
    """Return the format of an input: the one given, else that of its name or its files. Raises :class:`ConfigError`."""
    from ticdc_emit.traffic.replay.sources import format_of as source_format

    given = input_format or format_by_name(path) or source_format(path)
    if given is None:
        raise ConfigError(
            "cannot tell the input's format from its name or its files",
            remedy=f"Add --format {' or '.join(FORMATS)}",
            option="format",
        )
    if given not in FORMATS:
        raise ConfigError(
            f"unknown input format {given!r}", remedy=f"Use one of: {', '.join(FORMATS)}", option="format"
        )
    return given


@dataclass(frozen=True)
class ChangeForm:
    """How the columns of an input become changes. ``commit_time_column``: of plain rows; without it, ``commit_ts``."""

    info: TableInfo
    file_format: str
    commit_time_column: str | None
    commit_ts: int
    ignore_unknown: bool = False

    @cached_property
    def nested(self) -> bool:
        """Whether rows with ``op`` are in the change form: the table has no such column."""
        return "op" not in self._columns

    @cached_property
    def _columns(self) -> list[str]:
        return [column.name for column in self.info.data_columns]

    def is_changes(self, names: Sequence[str]) -> bool:
        """Return whether columns of these names are in the change form."""
        return self.nested and "op" in names

    def check(self, schema: pa.Schema) -> None:
        """Warn once of columns that are left out. Raises :class:`MissingColumnError`, :class:`SchemaError`."""
        if not self.is_changes(schema.names):
            self._check_plain_rows(schema.names)
            return
        unknown, known = [], {column.name for column in self.info.columns}
        for field in schema:
            image, dot, name = field.name.partition(".")
            if pa.types.is_struct(field.type) and field.name in IMAGES:
                unknown += [each.name for each in field.type if each.name not in known]
            elif dot and image in IMAGES:
                unknown += [] if name in known else [name]
            elif field.name not in _OF_CHANGES:
                unknown.append(field.name)
        self._check_known(list(dict.fromkeys(unknown)), schema.names)

    def _check_plain_rows(self, names: Sequence[str]) -> None:
        known = {column.name for column in self.info.columns}
        missing = [name for name in self._columns if name not in names]
        if missing:
            hint = did_you_mean(missing[0], [name for name in names if name not in known])
            raise MissingColumnError(
                f"the input lacks columns of the table: {', '.join(missing)}",
                remedy=f"{hint}It has: {', '.join(names)}; names are case-sensitive. Row changes need a column op",
                table=self.info.full_name,
                column=missing[0],
            )
        self._check_known([name for name in names if name not in known and name != self.commit_time_column], names)
        if self.commit_time_column is not None and self.commit_time_column not in names:
            raise MissingColumnError(
                "the input lacks the commit time column",
                remedy=f"Choose one of its columns with --commit-time-column: {', '.join(names)}",
                table=self.info.full_name,
                column=self.commit_time_column,
            )

    def _check_known(self, unknown: Sequence[str], names: Sequence[str]) -> None:
        if not unknown:
            return
        table, listed = self.info.full_name, ", ".join(unknown)
        if self.ignore_unknown:
            warn_caller(f"columns that {table} does not have are left out: {listed}", ConfigWarning)
            return
        others = [column.name for column in self.info.columns if column.name not in names]
        raise SchemaError(
            f"the input has columns that the table does not have: {listed}",
            remedy=f"{did_you_mean(unknown[0], others)}Complete the schema file, or leave them out with "
            "--ignore-unknown-columns",
            table=table,
            column=unknown[0],
        )

    def changes(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows as changes. Raises :class:`InvalidValueError` for text that is not a number or a time."""
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        if self.is_changes(rows.schema.names):
            return pa.RecordBatch.from_pydict(self._changes(columns))
        time: pa.Array | None = None if self.commit_time_column is None else columns[self.commit_time_column]
        if time is None:
            moment = {"commit_ts": pa.repeat(pa.scalar(self.commit_ts, pa.int64()), rows.num_rows)}
        elif pa.types.is_integer(time.type):
            moment = {"commit_ts": time}
        else:
            moment = {"commit_time": self._moments(time, str(self.commit_time_column))}
        after = self._image(columns, None)
        return pa.RecordBatch.from_pydict({"op": pa.repeat("c", rows.num_rows), **moment, "after": after})

    def _changes(self, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
        changes = {name: values for name, values in columns.items() if name in _OF_CHANGES}
        for name in ("commit_ts", "seq"):
            if name in changes:
                changes[name] = self._integers(changes[name], name)
        if "commit_time" in changes:
            changes["commit_time"] = self._moments(changes["commit_time"], "commit_time")
        for image in IMAGES:
            whole = columns.get(image)
            if whole is None:
                source = {
                    name.removeprefix(f"{image}."): values
                    for name, values in columns.items()
                    if name.startswith(f"{image}.")
                }
                if source:
                    changes[image] = self._image(source, None)
            elif pa.types.is_struct(whole.type):
                changes[image] = self._image(
                    dict(zip((field.name for field in whole.type), whole.flatten(), strict=True)), whole.is_null()
                )
            elif pa.types.is_null(whole.type) or pa.types.is_string(whole.type):  # JSON in which it is always null
                changes[image] = self._image({}, whole.is_null())
        return changes

    def _image(self, source: Mapping[str, pa.Array], absent: pa.Array | None) -> pa.StructArray:
        """Return a struct of the table's columns, without those that are missing; what a JSON object lacks is NULL."""
        columns = {name: source[name] for name in self._columns if name in source}
        if self.file_format == "json" and absent is not None:
            empty = pa.nulls(len(absent), pa.string())
            columns = {name: columns.get(name, empty) for name in self._columns}
        return pa.StructArray.from_arrays(list(columns.values()), list(columns), mask=absent)

    def _integers(self, column: pa.Array, name: str) -> pa.Array:
        return self._parsed(column, name, lambda values: values.cast(pa.int64()), "a whole number of 64 bits", "digits")

    def _moments(self, column: pa.Array, name: str) -> pa.Array:
        return self._parsed(
            column, name, utc_timestamps, "a time", "2024-05-25 05:09:30.123456+00:00; by default in UTC"
        )

    def _parsed(
        self, column: pa.Array, name: str, parse: Callable[[pa.Array], pa.Array], what: str, example: str
    ) -> pa.Array:
        try:
            return parse(column)
        except pa.ArrowException:
            for number in range(len(column)):
                try:
                    parse(column.slice(number, 1))
                except pa.ArrowException:
                    raise InvalidValueError(
                        f"{shown(column[number].as_py())} is not {what}",
                        remedy=f"Write it as {example}",
                        table=self.info.full_name,
                        column=name,
                    ) from None
            raise


def changes_here(files: InputFiles, form: ChangeForm, most_rows: int) -> pa.Table | None:
    """Return the changes in files; ``None`` if there are more than ``most_rows``. Raises the errors of the form."""
    batches = batches_here(files, form.file_format, most_rows, nested=form.nested)
    if batches is None:
        return None
    form.check(unified([batch.schema for batch in batches]))
    return pa.Table.from_batches(list(map(form.changes, batches)))


def batches_here(
    files: InputFiles, file_format: str, most_rows: int, *, nested: bool = False
) -> list[pa.RecordBatch] | None:
    """Return the rows of files, all with the columns of all; ``None`` if there are more than ``most_rows``."""
    batches: list[pa.RecordBatch] = []
    rows = 0
    for file in files.files:
        for batch in files.read(file.whole, file_format, nested=nested):
            rows += batch.num_rows
            if rows > most_rows:
                return None
            batches.append(batch)
    schema = unified([batch.schema for batch in batches])
    return [_aligned(batch, schema) for batch in batches]


def _aligned(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    return pa.RecordBatch.from_arrays(
        [_of_type(columns.get(field.name), field.type, batch.num_rows) for field in schema], schema=schema
    )


def _of_type(column: pa.Array | None, kind: pa.DataType, rows: int) -> pa.Array:
    if column is None or pa.types.is_null(column.type):
        return pa.nulls(rows, kind)
    if column.type == kind:
        return column
    if not (pa.types.is_struct(kind) and pa.types.is_struct(column.type)):
        return column.cast(kind)
    fields = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    return pa.StructArray.from_arrays(
        [_of_type(fields.get(field.name), field.type, rows) for field in kind], fields=list(kind), mask=column.is_null()
    )


_Read = Callable[[pa.RecordBatch], Iterator[pa.RecordBatch]]


def changes_on_spark(spark: SparkSession, path: str, files: InputFiles | None, form: ChangeForm) -> DataFrame:
    """Return the changes as a DataFrame. ``files``: those at the path; without them, Spark opens it."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from ticdc_emit.spark.functions import to_arrow
    from ticdc_emit.spark.worker import with_offsets

    file_format = form.file_format
    schema = None
    if files is not None:
        columns, pieces = files.layout(file_format)
        schema = None if file_format == "json" else columns
        rows, read = _pieces_on_spark(spark, files, pieces, form)
    elif file_format == "json":
        rows, read = spark.read.text(path), lambda lines: iter([_of_lines(lines, form)])
    else:
        from ticdc_emit.traffic.replay.sources import read_source

        opened = read_source(spark, path, format=file_format)
        names, schema = opened.columns, to_arrow(opened.limit(0)).schema
        rows = opened.toDF(*map(str, range(len(names))))  # mapInArrow does not find a name with a dot
        read = lambda batch: iter([batch.rename_columns(names)])  # noqa: E731
    if schema is None:
        schema = _json_schema(rows, read)
    form.check(schema)
    made = form.changes(pa.RecordBatch.from_pylist([], schema)).schema
    kept = pa.schema([(field.name, _type_on_spark(field.type)) for field in made])

    def changes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for given in map(with_offsets, batches):
            for batch in read(given):
                yield _aligned(form.changes(_aligned(batch, schema)), kept)

    return rows.mapInArrow(changes, from_arrow_schema(kept, prefer_timestamp_ntz=True))


def _pieces_on_spark(
    spark: SparkSession, files: InputFiles, pieces: Sequence[Piece], form: ChangeForm
) -> tuple[DataFrame, _Read]:
    def read(numbers: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for number in numbers.column("id").to_pylist():
            yield from files.read(pieces[number], form.file_format, nested=form.nested)

    return spark.range(0, len(pieces), 1, max(len(pieces), 1)), read


def _of_lines(lines: pa.RecordBatch, form: ChangeForm) -> pa.RecordBatch:
    return json_batch(lines.column("value").cast(pa.binary()).to_pylist(), nested=form.nested, path="--input")


def _json_schema(rows: DataFrame, read: _Read) -> pa.Schema:
    """Return the columns of JSON, which show only in all of its rows."""

    def schemas(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = unified([batch.schema for given in batches for batch in read(given)])
        yield pa.record_batch({"schema": pa.array([schema.serialize().to_pybytes()], pa.binary())})

    from ticdc_emit.spark.functions import to_arrow

    found = to_arrow(rows.mapInArrow(schemas, "schema binary").distinct()).column("schema").to_pylist()
    return unified([pa.ipc.read_schema(pa.py_buffer(each)) for each in sorted(found)])


def _type_on_spark(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _type_on_spark(field.type)) for field in kind])
    if pa.types.is_dictionary(kind):
        return _type_on_spark(kind.value_type)
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return kind
