"""How a command is declared: a dataclass whose fields are its options, each with its help, panel, type and default.

Shared options are fields of the classes here; those of the command are shown first. What a command does is imported
when it runs, so that ``--help`` is quick.
"""

from __future__ import annotations

import glob
import inspect
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from ticdc_emit.config.document import LENIENT
from ticdc_emit.config.protocols import PROTOCOL_NAMES
from ticdc_emit.config.releases import RELEASES
from ticdc_emit.errors import ConfigError, DdlError, TicdcEmitWarning
from ticdc_emit.pipeline.options import CHOICES, URI, RunOptions
from ticdc_emit.tso import compose

if TYPE_CHECKING:
    from ticdc_emit.config import ChangefeedConfig

_Class = TypeVar("_Class", bound=type[Any])

REQUIRED: Any = MISSING

SOURCE, TRAFFIC, TIME = "Source", "Traffic", "Time"
CHANGEFEED, SPARK, OUTPUT, SERVER = "Changefeed", "Spark", "Output", "Server"


def option(text: str, default: Any = REQUIRED, *flags: str, panel: str = SOURCE, **settings: Any) -> Any:
    """Return an option's field. ``text``: its help; default ``()``: it may be repeated; ``settings``: of typer."""
    made = partial(typer.Option, *flags, help=text, rich_help_panel=panel, **settings)
    return field(**({} if default is REQUIRED else {"default": default}), metadata={"parameter": made, "flags": flags})


def argument(text: str, default: Any = REQUIRED, **settings: Any) -> Any:
    made = partial(typer.Argument, help=text, **settings)
    return field(**({} if default is REQUIRED else {"default": default}), metadata={"parameter": made})


def sql_file(text: str, default: Any = None, **settings: Any) -> Any:
    return option(text, default, metavar="FILE.sql", exists=True, dir_okay=False, **settings)


def uri_option(
    text: str, default: Any = None, *flags: str, metavar: str = "URI", sends: bool = True, **rest: Any
) -> Any:
    """Return the field of an option that may hold a secret, so that it also takes ``@FILE``, and a variable's value.
    Commands that send made-up data have no variable: one that is still set must not lead them to a real topic.
    """
    callback = _sink_uri if sends and {"--sink-uri", "--send"} & {*flags} else from_file
    return option(text, default, *flags, metavar=f"{metavar}|@FILE", callback=callback, **rest)


def sink_uri_option(text: str = "TiCDC's sink URI: where to send.", default: Any = None, **rest: Any) -> Any:
    return uri_option(text, default, "--sink-uri", panel=CHANGEFEED, **rest)


def run_option(name: str, metavar: str | None = None, **settings: Any) -> Any:
    """Return the field of a changefeed's run option: its help, default and values are those of ``RunOptions``."""
    (known,) = (each for each in fields(RunOptions) if each.name == name)
    text, choices = known.metadata["help"], CHOICES.get(name, ())
    if known.metadata["text"] is URI:
        return uri_option(text, known.default, metavar=metavar or "URI", **settings)
    completion: dict[str, Any] = {"autocompletion": one_of(*choices)} if choices else {}
    return option(text, known.default, metavar=metavar or "|".join(choices), **completion, **settings)


def command(app: typer.Typer, *examples: str, name: str | None = None) -> Callable[[_Class], _Class]:
    """Return a decorator that makes a command of a class. ``examples``: the end of its ``--help``."""

    def register(kind: _Class) -> _Class:
        declared = {each.name: each for each in fields(kind)}
        hints = get_type_hints(kind)
        own = dict.fromkeys(each for base in kind.__mro__ for each in inspect.get_annotations(base))
        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        parameters = [context, *(_parameter(declared[each], hints[each]) for each in own if each in declared)]

        def run(context: typer.Context, **given: Any) -> None:
            for each, others in getattr(kind, "rivals", {}).items():
                source = context.get_parameter_source(each)
                if source is not None and source.name == "ENVIRONMENT" and any(given[other] for other in others):
                    given[each] = None
            values = {each: value for each, value in given.items() if value is not None or declared[each].default != ()}
            raise typer.Exit(kind(**values).run())

        run.__doc__ = kind.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        epilog = "\n\n".join(["Examples:", *examples])
        app.command(name or kind.__name__.lower(), cls=Command, epilog=epilog)(run)
        return kind

    return register


def _parameter(declared: Any, hint: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if declared.default is REQUIRED else declared.default
    if hint == Sequence[str]:
        hint, default = (list[str], default) if default is inspect.Parameter.empty else (list[str] | None, None)
    flags = [f"--{declared.name.replace('_', '-')}"] if default is False and not declared.metadata["flags"] else []
    annotation = Annotated[hint, declared.metadata["parameter"](*flags)]
    return inspect.Parameter(declared.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


class Command(TyperCommand):
    """A command whose help shows no type for flags, and ``--help`` among the options about output."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters = _plain_flags(super().get_params(ctx))
        for each in parameters:
            if each.name == "help":
                each.rich_help_panel = OUTPUT
        last = [None, CHANGEFEED, SPARK, OUTPUT]
        return sorted(
            parameters, key=lambda each: last.index(each.rich_help_panel) if each.rich_help_panel in last else 0
        )


class Program(TyperGroup):
    """The program itself; its help shows no type for flags either."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))


def _plain_flags(parameters: Sequence[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return list(parameters)


def one_of(*values: str) -> Callable[[str], list[str]]:
    """Return a function that completes an option's value in a shell."""
    return lambda incomplete: [value for value in values if value.startswith(incomplete)]


def complete_schema(incomplete: str) -> list[str]:
    """Complete the name of a sample schema, or the path of an SQL file."""
    from ticdc_emit.traffic.sample_schemas import sample_names

    folder, name = os.path.split(incomplete)
    paths = sorted(Path(folder or ".").glob(f"{glob.escape(name)}*"))
    files = [f"{path}/" if path.is_dir() else str(path) for path in paths if path.is_dir() or path.suffix == ".sql"]
    return [*one_of(*sample_names())(incomplete), *files]


def complete_dialect(incomplete: str) -> list[str]:
    from ticdc_emit.schema.scripts import DIALECTS

    return one_of(*DIALECTS)(incomplete)


PROTOCOLS = f"{', '.join(PROTOCOL_NAMES[:-1])} or {PROTOCOL_NAMES[-1]}"
DIALECTS_HELP = "postgres, oracle, tsql, snowflake, bigquery, redshift, spark, hive or another that sqlglot reads"


def protocol_option(more: str) -> Any:
    """Return the field of ``--protocol``. ``more``: what its help says about this command."""
    text = f"Protocol: {PROTOCOLS}. {more}"
    return option(text, None, panel=CHANGEFEED, autocompletion=one_of(*PROTOCOL_NAMES))


def release_option(default: str) -> Any:
    """Return the field of ``--release``. ``default``: its default, for the help."""
    text = f"Release of TiCDC: classic, next, or a version such as 8.5.3 or next-8.5.7. Default: {default}."
    return option(text, None, panel=CHANGEFEED, autocompletion=one_of(*RELEASES))


def registry_option(*, envvar: str | None = None) -> Any:
    text = "Schema registry URL for Avro, if the sink URI has none. Percent-encode user and password."
    return uri_option(text, metavar="URL", panel=CHANGEFEED, envvar=envvar)


def from_file(param: typer.CallbackParam, value: str | None) -> str | None:
    """Return an option's value; for ``@path`` the first line of that file: no secret need be on a command line."""
    if value is None or not value.startswith("@"):
        return value
    name, path = str(param.name).replace("_", "-"), Path(value[1:])
    try:
        with path.open(encoding="utf-8") as lines:
            text = lines.readline().strip()
    except (OSError, UnicodeDecodeError) as fault:
        cause = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8"
        raise ConfigError(
            f"the file of --{name} cannot be read: {cause}",
            remedy="Give a text file whose first line is the value",
            option=name,
            path=str(path),
        ) from None
    if not text:
        raise ConfigError(
            f"the first line of the file of --{name} is empty",
            remedy="Write the value there",
            option=name,
            path=str(path),
        )
    return text


def new_file(param: typer.CallbackParam, value: Path | None) -> Path | None:
    """Refuse a file that cannot be written, before the work. Raises :class:`ConfigError`."""
    from ticdc_emit.cli.console import part_of

    try:
        if value is not None and (value.is_file() or not value.exists()):  # not /dev/stdout
            part_of(value).touch()
            part_of(value).unlink()
    except OSError as fault:
        raise ConfigError(
            f"the file cannot be written: {fault.strerror}",
            remedy="Give a path in a folder that exists and may be written to",
            option=param.name,
            path=str(value),
        ) from None
    return value


def report_option() -> Any:
    """Return the field of ``--report``, the page of a command that reads or sends messages."""
    text = "Write an HTML page: totals, and a sample of the messages, partition by partition."
    return option(text, None, panel=OUTPUT, metavar="FILE.html", dir_okay=False, callback=new_file)


def _sink_uri(param: typer.CallbackParam, value: str | None) -> str | None:
    """Of ``stdout://`` and ``-``, results make way for the messages."""
    text = from_file(param, value)
    if text is not None and (text.lower().startswith("stdout:") or text == "-" or text.startswith("-?")):
        from ticdc_emit.cli.console import leave_stdout_to_messages

        leave_stdout_to_messages()
    return text


NOW = "now"


def moment(text: str, option: str = "start") -> int:
    """Return the TSO of an option: ``now``, an ISO time or a TSO. Raises :class:`ConfigError` for another text."""
    from ticdc_emit.traffic.replay.ddl_history import parse_moment

    if text == NOW:
        return compose(time.time_ns() // 1_000_000)
    try:
        return parse_moment(text)
    except DdlError as fault:
        raise ConfigError(fault.message, remedy=f"{fault.remedy}, or {NOW}", option=option) from None


def _choose_strictness(strict: bool | None) -> None:
    if strict:
        warnings.simplefilter("error", TicdcEmitWarning)  # until the command ends (cli/main.py)
    LENIENT.set(strict is False)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What every command has. The callback of ``strict`` is its effect."""

    as_json: bool = option("Print one JSON object on one line, for programs.", False, "--json", panel=OUTPUT)
    strict: bool | None = option(
        "Treat warnings as errors, or only warn of unknown options in the changefeed file.",
        None,
        "--strict/--lenient",
        panel=OUTPUT,
        callback=_choose_strictness,
        is_eager=True,
    )

    def run(self) -> int:
        return self.work()

    def work(self, *beside: Any, module: str = "", function: str = "run") -> int:
        """Call the ``function`` of a module of this room, by default of the one with the command's name."""
        home = import_module(f"ticdc_emit.cli.{module or type(self).__name__.lower()}")
        code: int = getattr(home, function)(*beside, self)
        return code


@dataclass(frozen=True, kw_only=True)
class FeedOptions:
    """What a changefeed is beside its sink URI."""

    config: Path | None = option(
        "TiCDC's changefeed file.", None, panel=CHANGEFEED, metavar="FILE.toml", exists=True, dir_okay=False
    )
    time_zone: str = option("The changefeed's time zone, for TIMESTAMP values.", "UTC", panel=CHANGEFEED)
    release: str | None = release_option("the changefeed file's, else classic")

    def load(self, uri: str, changefeed: Any, *, schema_registry: str | None) -> ChangefeedConfig:
        """Load a configuration with the time zone and the release of the command."""
        from ticdc_emit.config import load_changefeed

        zone, release = self.time_zone, self.release
        return load_changefeed(uri, changefeed, release=release, time_zone=zone, schema_registry=schema_registry)


@dataclass(frozen=True, kw_only=True)
class SinkOptions(FeedOptions):
    """A changefeed that sends a user's data: its sink URI and registry may be in the environment."""

    sink_uri: str = sink_uri_option(default=REQUIRED, envvar="TICDC_EMIT_SINK_URI")
    schema_registry: str | None = registry_option(envvar="TICDC_EMIT_SCHEMA_REGISTRY")

    def changefeed(self) -> ChangefeedConfig:
        return self.load(self.sink_uri, self.config, schema_registry=self.schema_registry)


@dataclass(frozen=True, kw_only=True)
class ShownOptions:
    """Where made-up data is sent, or shown; no variable of the environment counts."""

    protocol: str | None = protocol_option("A protocol in the sink URI wins. Default: canal-json.")
    sink_uri: str | None = sink_uri_option("TiCDC's sink URI: where to send. Default: an embedded Kafka.")
    schema_registry: str | None = registry_option()


def dialect_option(panel: str = SOURCE) -> Any:
    text = f"System that the schema file is of: {DIALECTS_HELP}. Default: TiDB."
    return option(text, None, panel=panel, metavar="NAME", autocompletion=complete_dialect)


@dataclass(frozen=True, kw_only=True)
class BadRowOptions:
    """What becomes of bad rows."""

    bad_rows: str = run_option("bad_rows")
    bad_rows_path: str | None = run_option("bad_rows_path", "FOLDER")

    @property
    def bad_row_options(self) -> dict[str, Any]:
        """As a sink takes them, which checks them."""
        return {"bad_rows": self.bad_rows, "bad_rows_path": self.bad_rows_path}


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """Settings of Spark."""

    spark: Sequence[str] = option(
        "A setting of Spark, such as spark.jars.packages=…. Repeat it for more.", (), panel=SPARK, metavar="NAME=VALUE"
    )

    @property
    def spark_settings(self) -> dict[str, str]:
        """The settings by name; an error shows no value, which may be secret."""
        return pairs(self.spark, "spark", "spark.name=value", prefix="spark.")


def pairs(given: Sequence[str], option: str, form: str, *, prefix: str = "") -> dict[str, str]:
    """Return what an option that may be repeated says in a ``form``, such as ``column=type``. Raises
    :class:`ConfigError`. With a ``prefix`` of all names, errors do not show the text, which may have a secret, and
    values may be empty.
    """
    found: dict[str, str] = {}
    for number, entry in enumerate(given, 1):
        name, equals, value = entry.partition("=")
        if not (equals and name and name.startswith(prefix) and (value or prefix)):
            what = f"number {number}" if prefix else repr(entry)
            raise ConfigError(f"--{option} {what} is not {form}", remedy=f"Write --{option} {form}", option=option)
        found[name] = value
    return found


def on_spark_option(panel: str = SPARK) -> Any:
    return option("Use a local Spark even if this process could do it alone.", False, panel=panel)


def format_option(panel: str = SOURCE) -> Any:
    """Return the field of ``--format``, of sources that Spark may read."""
    return option(
        "parquet, csv, json, delta, iceberg … Default: from the name.",
        None,
        panel=panel,
        autocompletion=one_of("parquet", "csv", "json", "orc", "delta", "iceberg", "jdbc"),
    )


@dataclass(frozen=True, kw_only=True)
class TrafficOptions(FeedOptions):
    """What ``generate`` and ``serve`` generate."""

    schema_dialect: str | None = dialect_option(TRAFFIC)
    rate: float | None = option(
        "Changes per second of commit time. Default: 1,000, of serve 100.", None, panel=TIME, min=0.001
    )
    seed: int = option("The same seed makes the same traffic.", 0, panel=TRAFFIC)
    tables: Sequence[str] = option(
        "schema.name; generate only this table. Repeat it for more.", (), "--table", panel=TRAFFIC
    )
    model: str | None = option(
        "How tables, columns, load and trouble are: a file, or TOML such as load.ddl_rate=0.1.",
        None,
        panel=TRAFFIC,
        metavar="FILE.toml|TOML",
    )

    def settings(self, **more: Any) -> Any:
        """Return the traffic's ``Settings``. Raises ``SchemaError``, and ``ConfigError`` for a wrong model."""
        from ticdc_emit.traffic.generate.model import read_model
        from ticdc_emit.traffic.generate.settings import Settings

        given = {"rows": None, "seed": self.seed, "rate": self.rate, "time_zone": self.time_zone}
        return Settings(**{**given, "tables": tuple(self.tables), "model": read_model(self.model), **more})


@dataclass(frozen=True, kw_only=True)
class TopicOptions(FeedOptions):
    """Where messages are read: ``path`` and ``brokers`` replace the sink URI, also one of the environment."""

    rivals: ClassVar[dict[str, tuple[str, ...]]] = {"sink_uri": ("path", "brokers")}

    path: Path | None = argument(
        "Files of a jsonl:// sink: its folder, a topic's folder, or one file; or a storage sink's folder.",
        None,
        metavar="PATH",
    )
    topics: Sequence[str] = option("Topic; repeat it for more. Default: the changefeed's topics.", (), "--topic")
    brokers: str | None = option("Kafka brokers, instead of --sink-uri.", None, metavar="HOST:PORT,…")
    protocol: str | None = protocol_option("Not with --sink-uri, which names it.")
    sink_uri: str | None = sink_uri_option(
        "The changefeed's sink URI with all its options.", envvar="TICDC_EMIT_SINK_URI"
    )
    schema_registry: str | None = registry_option(envvar="TICDC_EMIT_SCHEMA_REGISTRY")
