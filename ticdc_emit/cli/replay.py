"""``ticdc-emit replay``: send the history in files and tables, through Spark, as TiCDC would have sent it.

Without ``--schema``, Delta and Iceberg tables bring the schema history of their feed: CREATE TABLE and DDL.
"""

from __future__ import annotations

import copy
import datetime as dt
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ticdc_emit.cli.app import MODES
from ticdc_emit.cli.console import print_json, print_summary, result_console, result_stream, say, warn_of_nothing
from ticdc_emit.cli.emit import batches_here
from ticdc_emit.cli.input_files import FORMATS, InputFiles, check_readable, columns_of, find_files
from ticdc_emit.cli.options import NOW, moment, pairs
from ticdc_emit.cli.report_page import write_sent
from ticdc_emit.cli.schema import key_names
from ticdc_emit.cli.schema_files import schema_of_file, text_of_file
from ticdc_emit.cli.session import MOST_BYTES_HERE, MOST_ROWS_HERE, spark_for
from ticdc_emit.cli.signals import Stop, stopped_by_interrupt
from ticdc_emit.cli.topics import source_of
from ticdc_emit.config import ChangefeedConfig, mask_uri
from ticdc_emit.errors import ConfigError, DdlError, MissingColumnError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.pipeline.plan.ddl import catalog_for
from ticdc_emit.pipeline.report import RunTotal
from ticdc_emit.schema.catalog import Catalog, current_database
from ticdc_emit.schema.frames.any_frame import schema_of_changes
from ticdc_emit.spark.change_feed import changes_of_table, feed_form
from ticdc_emit.spark.row_changes import operation_of, refusing_rows
from ticdc_emit.spark.sink import TicdcSink
from ticdc_emit.sql.words import quoted
from ticdc_emit.traffic.replay.column_history import schema_history
from ticdc_emit.traffic.replay.ddl_history import Versions, backfilled, time_or_number
from ticdc_emit.traffic.replay.history_forms import (
    from_operations,
    from_snapshots,
    from_validity,
    snapshot_diff,
    snapshot_inserts,
)
from ticdc_emit.traffic.replay.run import ReplayReport, SliceReport
from ticdc_emit.traffic.replay.small_history import MODES_HERE, changes_here
from ticdc_emit.traffic.replay.sources import FILE_FORMATS, format_of, read_source, unknown_format
from ticdc_emit.traffic.replay.table_versions import VersionedTable, feed_of_versions, versioned_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ticdc_emit.cli.app import Replay


_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def run(options: Replay) -> int:
    from ticdc_emit.traffic.replay.ddl_history import read_ddl, versions_of
    from ticdc_emit.traffic.replay.run import replay

    check_options(options)
    spark_settings, keys = options.spark_settings, key_names(options.keys)
    changefeed = options.changefeed()
    sources, befores = _named_paths(options.tables, "table"), _named_paths(options.before, "before")
    unknown = sorted(set(befores) - set(sources))
    if unknown:
        raise ConfigError(
            f"--before names {unknown[0]}, but no --table does",
            remedy=f"Add --table {unknown[0]}=PATH",
            option="before",
        )
    is_timed = options.mode not in ("snapshot", "diff") or options.time_column or options.at
    if options.state_uri is not None and not is_timed:
        raise ConfigError("a replay that can be resumed needs a fixed time", remedy="Add --at", option="at")
    if options.schema is not None and options.mode == "snapshot" and keys:
        raise ConfigError(
            "--keys has no meaning with --mode snapshot and --schema", remedy="Leave it out", option="keys"
        )
    if options.schema is None and not keys and not changefeed.force_replicate:
        raise ConfigError(
            "no schema is given, so the keys are not known", remedy="Add --schema, or --keys", option="keys"
        )
    schema = schema_of_file(options.schema, options.schema_dialect)
    catalog = None if schema is None else catalog_for(changefeed, schema)
    ddl: Sequence[tuple[int, str]] = () if options.ddl is None else read_ddl(text_of_file(options.ddl, "file"))
    width = None if options.slice is None else seconds_of(options.slice)

    def versions_in(catalog: Catalog) -> dict[str, Versions]:
        # the database of DDL without one, as in the changefeed of the replay
        database = current_database(next(iter(sources)) if len(sources) == 1 else None, catalog)
        return {name: versions_of(copy.deepcopy(catalog), ddl, name, database=database) for name in sources}

    # what is wrong without looking into the data is said before Spark, which takes seconds to start
    versions = {} if catalog is None else versions_in(catalog)
    found: dict[str, tuple[str | None, InputFiles | None]] = {}
    for option, paths in (("table", sources), ("before", befores)):
        for name, path in paths.items():
            source_format = options.format or format_of(path)
            files = find_files(path, spark_settings, remote=False)
            if source_format in FILE_FORMATS or (source_format is None and "/" in path):
                check_readable(path, option, files)
            if source_format is None and "/" in path:
                raise unknown_format(path)
            columns = columns_of(files, source_format) if option == "table" else None
            if columns is not None:
                _check_columns(options, columns, name)
            found[name] = source_format, files
    is_plain = options.ddl is None and options.state_uri is None and options.speed is None and width is None
    if catalog is not None and is_plain and not (befores or spark_settings):
        began = time.monotonic()
        here = histories_here(found, options, versions)
        if here is not None:
            return _end(_sent_here(here, changefeed, catalog, options, began), changefeed, options, Stop())
    with ExitStack() as stack:
        spark = spark_for(stack, "replay", short=False, settings=spark_settings, quiet=options.as_json)
        reader = Reader(spark, options)
        if catalog is None:
            lakes = {name: lake for name, path in sources.items() if (lake := reader.lake(path)) is not None}
            if options.ddl is None and len(lakes) == len(sources):
                text, ddl = schema_history(spark, lakes, keys, start=reader.start, end=reader.end)
            else:
                text = _assumed_schema(reader, sources, options, keyless=changefeed.force_replicate)
            catalog = catalog_for(changefeed, text)
            versions = versions_in(catalog)
        history = {}
        for name, path in sources.items():
            with refusing_rows(name):
                history[name] = history_of(reader, name, path, befores.get(name), options, versions[name])
        if not options.as_json:
            say(f"replaying {', '.join(sources)} to {mask_uri(options.sink_uri)}")
        # a replay in one slice has nothing to finish first, so a signal ends it like any other command
        sliced = options.speed is not None or width is not None
        stop = stack.enter_context(stopped_by_interrupt("slice", quiet=options.as_json)) if sliced else Stop()
        report = replay(
            spark,
            changefeed,
            history,
            catalog,
            ddl=ddl,
            speed=options.speed,
            slice=width,
            state_uri=options.state_uri,
            watermark_interval=options.watermark_interval,
            stop=stop,
            on_slice=() if options.as_json else lambda done: say(str(done)),
            message_digests=options.as_json,
            **options.bad_row_options,
        )
    return _end(report, changefeed, options, stop)


def _end(report: ReplayReport, changefeed: ChangefeedConfig, options: Replay, stop: Stop) -> int:
    if report.finished and not report.first_slice:
        warn_of_nothing(report.total)
    write_sent(options, changefeed, report.total, source_of)
    print_report(report, options)
    return 0 if report.finished else stop.exit_code()


def histories_here(
    sources: Mapping[str, tuple[str | None, InputFiles | None]], options: Replay, versions: Mapping[str, Versions]
) -> dict[str, pa.Table] | None:
    """Return the row changes of small local files, made in this process; ``None`` where Spark is needed."""
    size = sum(math.inf if files is None else files.size for _, files in sources.values())
    if options.mode not in MODES_HERE or options.transaction or options.order_by or options.deleted_when:
        return None
    if size > MOST_BYTES_HERE:
        return None
    result = {}
    for name, (file_format, files) in sources.items():
        batches = None
        if files is not None and file_format in FORMATS:
            batches = batches_here(files, file_format, MOST_ROWS_HERE)
        changes = None if not batches else _changes_here(pa.Table.from_batches(batches), options, versions[name], name)
        if changes is None:
            return None
        result[name] = changes
    return result


def _changes_here(rows: pa.Table, options: Replay, versions: Versions, table: str) -> pa.Table | None:
    _check_columns(options, rows.column_names, table)
    names, at = _columns(rows.column_names, versions, table), options.time_column
    keys = list(key_names(options.keys) or versions[0][1].handle_key_names)
    unit: Any = options.time_unit
    if options.mode == "validity":
        at = options.valid_from or "valid_from"
    if options.mode != "snapshot" and (at is None or not keys or not set(keys) <= set(rows.column_names)):
        return None
    return changes_here(
        rows,
        options.mode,
        names,
        keys,
        at or moment(options.at or NOW, "at"),
        unit,
        valid_to=options.valid_to or "valid_to",
        step=dt.timedelta(seconds=seconds_of(options.step or "0", "step")),
        op=options.op or "op",
        operations=_meanings(options),
    )


def _sent_here(
    tables: dict[str, pa.Table], changefeed: ChangefeedConfig, catalog: Catalog, options: Replay, began: float
) -> ReplayReport:
    if not options.as_json:
        say(f"replaying {', '.join(tables)} to {mask_uri(options.sink_uri)}")
    interval: Any = options.watermark_interval
    given: Any = {"message_digests": options.as_json, **options.bad_row_options}
    sink = TicdcSink(changefeed, catalog, watermark_interval=interval, **given)
    ready = time.monotonic()
    batch = sink.write(tables)
    seconds = time.monotonic() - ready
    if not options.as_json:
        say(str(SliceReport(0, 1, None, batch, None)))
    return ReplayReport(total=RunTotal.of([batch]), seconds=seconds, prepare_seconds=ready - began)


def _meanings(options: Replay) -> dict[str, str]:
    return {word: meaning for word, _, meaning in (each.partition("=") for each in options.operations)}


def seconds_of(text: str, option: str = "slice") -> float:
    """Return the seconds of ``90``, ``500ms``, ``10m``, ``1h`` or ``1d``; :class:`ConfigError` for other text."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        return float(digits) * _UNITS[text[len(digits) :] or "s"]
    except (KeyError, ValueError):
        raise ConfigError(
            f"{text!r} is not a length of time", remedy="Use seconds, or 500ms, 10m, 1h, 1d", option=option
        ) from None


def _named_paths(given: Sequence[str], option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in given:
        for name, path in pairs([entry], option, "schema.table=PATH").items():
            name = name if "." in name else f"test.{name}"
            if name in found:
                remedy = "Put the files of a table into one folder, and give that"
                raise ConfigError(f"--{option} names {name} twice", remedy=remedy, option=option)
            found[name] = path
    return found


class Reader:
    """Reads sources with a session of Spark. Delta and Iceberg tables of which it reads changes are looked up once."""

    def __init__(self, spark: SparkSession, options: Replay) -> None:
        self.spark = spark
        self._mode, self._format = options.mode, options.format
        self.start, self.end = (_version_or_time(getattr(options, name), name) for name in ("start", "end"))
        self._lakes: dict[str, VersionedTable] = {}

    def lake(self, source: str) -> VersionedTable | None:
        """Return the Delta or Iceberg table whose feed is replayed; ``None`` for files and other modes."""
        wanted = self._mode == "changes" and (self._format or format_of(source)) in (None, "delta", "iceberg")
        if wanted and source not in self._lakes:
            self._lakes[source] = versioned_table(self.spark, source, self._format)
        if not wanted and (self.start is not None or self.end is not None):
            raise ConfigError(
                "--start and --end choose versions of Delta and Iceberg tables, and the source is none",
                remedy="Leave them out",
                option="start" if self.start is not None else "end",
                table=source,
            )
        return self._lakes.get(source)

    def rows(self, source: str) -> DataFrame:
        """Return the rows of a source: its feed with ``--mode changes``."""
        lake = self.lake(source)
        if lake is not None:
            return feed_of_versions(self.spark, lake, start=self.start, end=self.end)
        url, hash_, table = source.partition("#") if source.startswith("jdbc:") else (source, "", "")
        return read_source(self.spark, url, format=self._format, options={"dbtable": table} if hash_ else None)


def print_report(report: ReplayReport, options: Replay) -> None:
    if options.as_json:
        print_json(report.to_dict())
        return
    if not report.nothing_to_do:
        print_summary(result_console(), report.total)
    print(report.outcome, file=result_stream())
    if not report.finished and options.state_uri is not None:
        say("run the same command again to continue from here")


_MODES_OF = {
    "time_column": ("snapshot", "snapshots", "diff", "operations"),
    "at": ("snapshot", "diff"),
    "before": ("diff", "operations"),
    **dict.fromkeys(("op", "order_by", "transaction", "operations"), ("operations",)),
    **dict.fromkeys(("valid_from", "valid_to", "step", "deleted_when", "overlaps"), ("validity",)),
    **dict.fromkeys(("start", "end"), ("changes",)),
}
_BEFORE_ALL = 1  # the TSO of rows from before the history


def check_options(options: Replay) -> None:
    """Raise :class:`ConfigError` for an unknown mode, options without a meaning in it, and a wrong time."""
    if options.mode not in MODES:
        raise ConfigError(f"unknown mode {options.mode!r}", remedy=f"Use one of: {', '.join(MODES)}", option="mode")
    for name, modes in _MODES_OF.items():
        if getattr(options, name) not in (None, ()) and options.mode not in modes:
            option, remedy = name.replace("_", "-"), f"It is for {' and '.join(modes)}"
            raise ConfigError(f"--{option} has no meaning with --mode {options.mode}", remedy=remedy, option=option)
    if options.at is not None and options.time_column is not None:
        raise ConfigError("--at and --time-column both give the time", remedy="Give one of them", option="at")
    if options.at is not None:
        moment(options.at, "at")
    seconds_of(options.step or "0", "step")
    for name in ("start", "end"):
        _version_or_time(getattr(options, name), name)
    for each in options.operations:
        if operation_of(each.partition("=")[2]) is None:
            raise ConfigError(f"{each!r} is not word=meaning", remedy="Write X=delete", option="operations")


def _check_columns(options: Replay, held: Sequence[str], table: str) -> None:
    for option, name in _named(options).items():
        if name is not None and name not in held:
            raise MissingColumnError(
                f"the source has no column {name!r}",
                remedy=f"{did_you_mean(name, held)}Name another one with {option}. It has: {', '.join(held)}",
                table=table,
                column=name,
            )


def _named(options: Replay) -> dict[str, str | None]:
    named = {"--time-column": options.time_column, "--transaction": options.transaction}
    if options.mode == "operations":
        named["--op"] = options.op or "op"
    if options.mode == "validity":
        named |= {"--valid-from": options.valid_from or "valid_from", "--valid-to": options.valid_to or "valid_to"}
        named["--deleted-when"] = (options.deleted_when or "").partition("=")[0] or None
    return named


def _version_or_time(text: str | None, option: str) -> dt.datetime | int | None:
    try:
        return None if text is None else time_or_number(text)
    except DdlError as error:
        remedy = "Give the number of a version or snapshot, or ISO time with Z or an offset (2026-01-05T08:00:00Z)"
        raise ConfigError(f"--{option}: {error.message}", remedy=remedy, option=option) from None


def _assumed_schema(reader: Reader, sources: Mapping[str, str], options: Replay, *, keyless: bool) -> str:
    from pyspark.sql.types import StructField, StructType

    images = {}
    for name, source in sources.items():
        df = reader.rows(source)
        _check_columns(options, df.columns, name)
        form = feed_form(df.columns)
        beside = {*_named(options).values(), *options.order_by, *(() if form is None else form.columns)}
        own = StructType([field for field in df.schema.fields if field.name not in beside])
        images[name] = StructType([StructField("after", own)])
    return schema_of_changes(images, dict.fromkeys(sources, key_names(options.keys)), keyless=keyless)


def history_of(
    reader: Reader, table: str, source: str, before: str | None, options: Replay, versions: Versions
) -> DataFrame:
    """Return the row changes of one table. ``before``: the source of its rows before the history, if there is one."""
    given, at = key_names(options.keys), options.time_column or moment(options.at or NOW, "at")
    unit: Any = options.time_unit
    df = reader.rows(source)
    _check_columns(options, df.columns, table)
    if options.mode == "changes":
        return changes_of_table(df, [info for _, info in versions], given)
    keys = list(given or versions[0][1].handle_key_names)
    if not keys and options.mode != "snapshot":
        raise ConfigError("the table has no key", remedy="Name columns with --keys", option="keys", table=table)
    names = _columns(df.columns, versions, table)
    if options.mode == "snapshot":
        return snapshot_inserts(df, at, columns=names, unit=unit)
    base = None
    if before is not None:
        base = reader.rows(before)
        base = backfilled(
            base.select(*map(quoted, _columns(base.columns, versions, table))),
            versions,
            _BEFORE_ALL,
            zone=options.time_zone,
        )
    if options.mode == "diff":
        if base is None:
            raise ConfigError("a difference needs two snapshots", remedy=f"Add --before {table}=…", option="before")
        about = [options.time_column] if options.time_column is not None and options.time_column not in names else []
        return snapshot_diff(base, df.select(*map(quoted, [*names, *about])), keys, at, unit=unit)
    if options.mode == "validity":
        start, end = options.valid_from or "valid_from", options.valid_to or "valid_to"
        rows = backfilled(df, versions, start, unit=unit, zone=options.time_zone)
        return from_validity(
            rows,
            keys,
            start,
            end,
            columns=_columns(rows.columns, versions, table),
            step=dt.timedelta(seconds=seconds_of(options.step or "0", "step")),
            deleted_when=options.deleted_when,
            overlaps=options.overlaps or "error",  # type: ignore[arg-type]  # checked there
            unit=unit,
        )
    if options.time_column is None:
        raise ConfigError(
            f"{options.mode} need a time", remedy="Name its column with --time-column", option="time-column"
        )
    rows = backfilled(df, versions, options.time_column, unit=unit, zone=options.time_zone)
    if options.mode == "snapshots":
        names = _columns(rows.columns, versions, table)
        return from_snapshots(rows, keys, options.time_column, columns=names, unit=unit)
    return from_operations(
        rows,
        keys,
        options.op or "op",
        options.time_column,
        order_by=options.order_by,
        base=base,
        columns=_columns(rows.columns, versions, table),
        transaction=options.transaction,
        operations=_meanings(options),
        unit=unit,
    )


def _columns(held: Sequence[str], versions: Versions, table: str) -> list[str]:
    known = {column.name for _, info in versions for column in info.columns}
    names = [name for name in held if name in known]
    if not names:
        hint = next(filter(None, (did_you_mean(name, held) for name in known)), "")
        raise MissingColumnError(
            "the source has no column of the table", remedy=f"{hint}It has: {', '.join(held)}", table=table
        )
    return names
