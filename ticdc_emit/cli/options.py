"""Options that several commands have, what a shell completes for them, and how ``--help`` shows them."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ticdc_emit.config.document import LENIENT
from ticdc_emit.config.protocols import PROTOCOL_NAMES
from ticdc_emit.config.releases import RELEASES
from ticdc_emit.errors import ConfigError, TicdcEmitWarning
from ticdc_emit.pipeline.options import CHOICES, URI, RunOptions


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
    """Complete the name of a dialect of schema files."""
    from ticdc_emit.source_schemas import DIALECTS

    return one_of(*DIALECTS)(incomplete)


complete_protocol = one_of(*PROTOCOL_NAMES)
complete_release = one_of(*RELEASES)

PROTOCOLS = f"{', '.join(PROTOCOL_NAMES[:-1])} or {PROTOCOL_NAMES[-1]}"
PROTOCOL_HELP = f"Protocol: {PROTOCOLS}."
ProtocolName = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help=f"{PROTOCOL_HELP} A protocol in the sink URI wins. Default: canal-json.",
        autocompletion=complete_protocol,
    ),
]
RELEASE_HELP = "Release of TiCDC: classic, next, or a version such as 8.5.3 or next-8.5.7."
"""Without the default, which differs between commands."""
ReleaseName = Annotated[
    str | None,
    typer.Option(
        "--release",
        help=f"{RELEASE_HELP} Default: the changefeed file's, else classic.",
        autocompletion=complete_release,
    ),
]
ReleaseOrClassic = Annotated[
    str | None, typer.Option("--release", help=f"{RELEASE_HELP} Default: classic.", autocompletion=complete_release)
]
DIALECTS_HELP = "postgres, oracle, tsql, snowflake, bigquery, redshift, spark or hive"
SchemaDialect = Annotated[
    str | None,
    typer.Option(
        "--schema-dialect",
        metavar="NAME",
        help=f"System that the schema file is of: {DIALECTS_HELP}. Default: TiDB.",
        autocompletion=complete_dialect,
    ),
]
ChangefeedFile = Annotated[
    Path | None, typer.Option(metavar="FILE.toml", help="TiCDC's changefeed file.", exists=True, dir_okay=False)
]
SourceFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="parquet, csv, json, delta, iceberg … Default: from the name.",
        autocompletion=one_of("parquet", "csv", "json", "orc", "delta", "iceberg", "jdbc"),
    ),
]
OnSpark = Annotated[bool, typer.Option("--on-spark", help="Use a local Spark even if this process could do it alone.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on one line, for programs.")]


def _choose_strictness(strict: bool | None) -> None:
    if strict:
        warnings.simplefilter("error", TicdcEmitWarning)  # until the command ends (cli/main.py)
    LENIENT.set(strict is False)


Strict = Annotated[
    bool | None,
    typer.Option(
        "--strict/--lenient",
        help="Treat warnings as errors, or only warn of unknown options in the changefeed file.",
        callback=_choose_strictness,
        is_eager=True,
    ),
]


def from_file(param: typer.CallbackParam, value: str | None) -> str | None:
    """Return an option's value; for ``@path`` the first line of that file, so that a secret need not be on the command
    line.

    Raises :class:`ConfigError` for a file that cannot be read or whose first line is empty.
    """
    if value is None or not value.startswith("@"):
        return value
    option, path = str(param.name).replace("_", "-"), Path(value[1:])
    try:
        with path.open(encoding="utf-8") as lines:
            text = lines.readline().strip()
    except (OSError, UnicodeDecodeError) as fault:
        cause = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8"
        raise ConfigError(
            f"the file of --{option} cannot be read: {cause}",
            remedy="Give a text file whose first line is the value",
            option=option,
            path=str(path),
        ) from None
    if not text:
        raise ConfigError(
            f"the first line of the file of --{option} is empty",
            remedy="Write the value there",
            option=option,
            path=str(path),
        )
    return text


def sink_uri_text(param: typer.CallbackParam, value: str | None) -> str | None:
    """Return the value as :func:`from_file` does; of ``stdout://`` and ``-``, results make way for the messages."""
    text = from_file(param, value)
    if text is not None and (text.lower().startswith("stdout:") or text == "-" or text.startswith("-?")):
        from ticdc_emit.cli.console import leave_stdout_to_messages

        leave_stdout_to_messages()
    return text


def uri_option(name: str, metavar: str, text: str, *, envvar: str | None = None, sends: bool = True) -> Any:
    """Return an option that may hold a secret: it also takes ``@FILE`` and, with ``envvar``, an environment variable's
    value. ``sends``: messages are sent to a sink URI.

    Commands that send made-up data have no variable: a variable that is still set must not lead them to a real topic.
    """
    return typer.Option(
        name,
        metavar=f"{metavar}|@FILE",
        help=text,
        envvar=envvar,
        callback=sink_uri_text if sends and name == "--sink-uri" else from_file,
    )


def run_option(name: str, metavar: str | None = None) -> Any:
    """Return the option of a changefeed's run of this name: its help and its values are those of ``RunOptions``."""
    (field,) = (each for each in fields(RunOptions) if each.name == name)
    text = field.metadata["help"]
    if field.metadata["text"] is URI:
        return uri_option(f"--{name.replace('_', '-')}", metavar or "URI", text)
    choices = CHOICES.get(name, ())
    return typer.Option(
        metavar=metavar or "|".join(choices), help=text, autocompletion=one_of(*choices) if choices else None
    )


BadRows = Annotated[str, run_option("bad_rows")]
BadRowsPath = Annotated[str | None, run_option("bad_rows_path", "FOLDER")]
StateUri = Annotated[str | None, run_option("state_uri")]
WatermarkInterval = Annotated[float | None, run_option("watermark_interval", "SECONDS")]
_REGISTRY_HELP = "Schema registry URL for Avro, if the sink URI has none. Percent-encode user and password."
Registry = Annotated[str | None, uri_option("--schema-registry", "URL", _REGISTRY_HELP)]
RegistryOrVariable = Annotated[
    str | None, uri_option("--schema-registry", "URL", _REGISTRY_HELP, envvar="TICDC_EMIT_SCHEMA_REGISTRY")
]
SinkUri = Annotated[
    str, uri_option("--sink-uri", "URI", "TiCDC's sink URI: where to send.", envvar="TICDC_EMIT_SINK_URI")
]
SinkUriOrEmbedded = Annotated[
    str | None, uri_option("--sink-uri", "URI", "TiCDC's sink URI: where to send. Default: an embedded Kafka.")
]
SparkSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--spark", metavar="NAME=VALUE", help="A setting of Spark, such as spark.jars.packages=…. Repeat it for more."
    ),
]


class Command(TyperCommand):
    """A command whose help shows no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))


class Program(TyperGroup):
    """The program itself; its help shows no type for flags either."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))


def _plain_flags(parameters: Sequence[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return list(parameters)


def grouped(panels: Mapping[str, str], rest: str = "Output") -> type[Command]:
    """Return a kind of command whose help shows its options in panels.

    ``panels``: by title, the names of the parameters in it, with spaces between them. ``rest``: the title of the last
    panel, which has all others.
    """
    panel_of = {name: title for title, names in panels.items() for name in names.split()}
    order = [*panels, rest]

    class Grouped(Command):
        def get_params(self, ctx: Any) -> list[Any]:
            parameters = super().get_params(ctx)
            for each in parameters:
                each.rich_help_panel = panel_of.get(each.name, rest)
            return sorted(parameters, key=lambda each: order.index(each.rich_help_panel))

    return Grouped


def examples(*commands: str) -> str:
    """Return the end of a command's ``--help``: one example per line."""
    return "\n\n".join(["Examples:", *commands])


def from_variable(context: typer.Context, name: str) -> bool:
    """Return whether a parameter's value comes from an environment variable."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "ENVIRONMENT"


def spark_settings(given: Sequence[str] | None) -> dict[str, str]:
    """Read ``spark.name=value`` arguments. Raises :class:`ConfigError` for others, without the value, which may be
    secret.
    """
    settings: dict[str, str] = {}
    for number, entry in enumerate(given or (), 1):
        name, equals, value = entry.partition("=")
        if not (equals and name.startswith("spark.")):
            raise ConfigError(
                f"--spark number {number} is not spark.name=value",
                remedy="Write for instance --spark spark.driver.memory=4g",
                option="spark",
            )
        settings[name] = value
    return settings
