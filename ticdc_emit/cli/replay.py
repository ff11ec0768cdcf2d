"""``ticdc-emit replay``: send the history in files and tables, through Spark, as TiCDC would have sent it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticdc_emit.cli.console import print_json, result_console, say, step
from ticdc_emit.cli.html import Pictures
from ticdc_emit.cli.interrupt import Stop, stopped_by_interrupt
from ticdc_emit.cli.local_files import check_readable, columns_at
from ticdc_emit.cli.replay_data import BASED, ColumnOptions, history_of
from ticdc_emit.cli.session import local_spark
from ticdc_emit.cli.summary import print_summary, warn_of_nothing
from ticdc_emit.config import load_changefeed, mask_uri
from ticdc_emit.errors import ConfigError, DuplicateChangeError, SchemaError
from ticdc_emit.pipeline.plan import catalog_for
from ticdc_emit.pipeline.planning import current_database
from ticdc_emit.pipeline.report import RunReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ticdc_emit.traffic.replay import ReplayReport

__all__ = ["CommandOptions", "print_report", "run"]

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class CommandOptions:
    """The options of the command. ``columns``: those of the tables' columns. ``spark``: further settings of Spark."""

    schema: Path
    tables: Sequence[str]
    before: Sequence[str]
    sink_uri: str
    columns: ColumnOptions
    config: Path | None = None
    ddl: Path | None = None
    speed: float | None = None
    slice: str | None = None
    state_uri: str | None = None
    watermark_interval: float | None = None
    time_zone: str = "UTC"
    profile: str | None = None
    schema_registry: str | None = None
    bad_rows: str = "refuse"
    bad_rows_path: str | None = None
    spark: Mapping[str, str] = field(default_factory=dict)
    html: Path | None = None
    as_json: bool = False


def run(options: CommandOptions) -> int:
    """Replay, print the result of each slice and the total; return the exit code."""
    from ticdc_emit.traffic.replay import read_ddl, replay, versions_of
    from ticdc_emit.traffic.replay.sources import FILE_FORMATS, format_of, unknown_format

    pictures, reports = Pictures(options.html, "ticdc-emit replay"), list[RunReport]()
    changefeed = load_changefeed(
        options.sink_uri,
        options.config,
        profile=options.profile,
        time_zone=options.time_zone,
        schema_registry=options.schema_registry,
    )
    sources, befores = _named_paths(options.tables, "--table"), _named_paths(options.before, "--before")
    unknown = sorted(set(befores) - set(sources))
    if unknown:
        raise ConfigError(
            f"--before names {unknown[0]}, but no --table does",
            remedy=f"Add --table {unknown[0]}=PATH",
            option="before",
        )
    if befores and options.columns.mode not in BASED:
        raise ConfigError(
            f"--before has no meaning with --mode {options.columns.mode}",
            remedy=f"It is for {' and '.join(BASED)}",
            option="before",
        )
    if options.state_uri is not None and options.columns.takes_the_clock:
        raise ConfigError("a replay that can be resumed needs a fixed time", remedy="Add --at", option="at")
    catalog = catalog_for(changefeed, _text(options.schema))
    # the database of DDL without one, as in the changefeed of the replay
    database = current_database(next(iter(sources)) if len(sources) == 1 else None, catalog)
    ddl = () if options.ddl is None else read_ddl(_text(options.ddl))
    width = None if options.slice is None else seconds_of(options.slice)
    # what is wrong without looking into the data is said before Spark, which takes seconds to start
    versions = {name: versions_of(copy.deepcopy(catalog), ddl, name, database=database) for name in sources}
    for option, paths in (("table", sources), ("before", befores)):
        for name, path in paths.items():
            source_format = options.columns.format or format_of(path)
            if source_format in FILE_FORMATS or (source_format is None and "/" in path):
                check_readable(path, option, options.spark)
            if source_format is None and "/" in path:
                raise unknown_format(path)
            columns = columns_at(path, source_format, options.spark)
            if option == "table" and columns is not None:
                options.columns.check(columns, name)
    with ExitStack() as stack:
        with step("starting Spark", quiet=options.as_json):
            spark = stack.enter_context(local_spark("replay", settings=options.spark, quiet=options.as_json))
        history = {
            name: history_of(
                _reader(spark),
                name,
                path,
                befores.get(name),
                options.columns,
                versions[name],
                options.time_zone,
            )
            for name, path in sources.items()
        }
        if not options.as_json:
            say(f"replaying {', '.join(sources)} to {mask_uri(options.sink_uri)}")
        # a replay in one slice has nothing to finish first, so a signal ends it like any other command
        sliced = options.speed is not None or width is not None
        stop = stack.enter_context(stopped_by_interrupt("slice", quiet=options.as_json)) if sliced else Stop()
        try:
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
                bad_rows=options.bad_rows,  # type: ignore[arg-type]  # checked there
                bad_rows_path=options.bad_rows_path,
                stop=stop,
                on_report=reports.append,
                on_slice=() if options.as_json else lambda done: say(str(done)),
            )
        except DuplicateChangeError as error:
            if options.columns.mode == "snapshot":
                error.remedy += ". For a series of snapshots, use --mode snapshots with --time-column"
            raise
    if report.finished and not report.first_slice:
        warn_of_nothing(report.total)
    pictures.add_run(reports, changefeed)
    pictures.write()
    print_report(report, options)
    return 0 if report.finished else stop.exit_code()


def seconds_of(text: str) -> float:
    """Return the seconds of ``90``, ``500ms``, ``10m``, ``1h`` or ``1d``; :class:`ConfigError` for other text."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        return float(digits) * _UNITS[text[len(digits) :] or "s"]
    except (KeyError, ValueError):
        raise ConfigError(
            f"{text!r} is not a length of time", remedy="Use seconds, or 500ms, 10m, 1h, 1d", option="slice"
        ) from None


def _named_paths(given: Sequence[str], option: str) -> dict[str, str]:
    """Read ``schema.name=path`` arguments."""
    paths_by_table: dict[str, str] = {}
    for entry in given:
        name, equals, path = entry.partition("=")
        if not (equals and name and path):
            raise ConfigError(
                f"{option} {entry!r} is not name=path",
                remedy=f"Write {option} schema.table=PATH",
                option=option.lstrip("-"),
            )
        name = name if "." in name else f"test.{name}"
        if name in paths_by_table:
            raise ConfigError(
                f"{option} names {name} twice",
                remedy="Put the files of a table into one folder, and give that",
                option=option.lstrip("-"),
            )
        paths_by_table[name] = path
    return paths_by_table


def _reader(spark: SparkSession) -> Callable[[str, str | None], Any]:
    from ticdc_emit.traffic.replay import read_source

    def read(source: str, given: str | None) -> Any:
        url, hash_, table = source.partition("#") if source.startswith("jdbc:") else (source, "", "")
        return read_source(spark, url, format=given, options={"dbtable": table} if hash_ else None)

    return read


def print_report(report: ReplayReport, options: CommandOptions) -> None:
    """Print the report of the replay, as JSON with ``--json``."""
    if options.as_json:
        print_json(report.to_dict())
        return
    if not report.nothing_to_do:
        print_summary(result_console(), report.total)
    print(report.outcome)
    if not report.finished and options.state_uri is not None:
        say("run the same command again to continue from here")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(
            f"cannot read the file: {error}", remedy="Give a file in UTF-8 that can be read", path=str(path)
        ) from None
