"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ticdc_emit.config.protocol import PROTOCOL_NAMES
from ticdc_emit.errors import ConfigError

__all__ = [
    "PROTOCOLS",
    "PROTOCOL_HELP",
    "AsJson",
    "BadRows",
    "BadRowsPath",
    "Html",
    "Lineage",
    "LineageOrClassic",
    "OnSpark",
    "Registry",
    "RegistryOrVariable",
    "SinkUri",
    "SinkUriOrEmbedded",
    "SparkSettings",
    "examples",
    "from_variable",
    "spark_settings",
    "uri_option",
]

PROTOCOLS = f"{', '.join(PROTOCOL_NAMES[:-1])} or {PROTOCOL_NAMES[-1]}"
PROTOCOL_HELP = f"Protocol: {PROTOCOLS}."
Lineage = Annotated[
    str | None,
    typer.Option(
        "--profile", help="TiCDC's lineage: classic or next. Default: that of the changefeed file, else classic."
    ),
]
LineageOrClassic = Annotated[
    str | None, typer.Option("--profile", help="TiCDC's lineage: classic or next. Default: classic.")
]
OnSpark = Annotated[bool, typer.Option("--on-spark", help="Use a local Spark even if this process could do it alone.")]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE.html",
        help="Also write pictures of the run to one HTML file (extra plot).",
        dir_okay=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]


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


def uri_option(name: str, metavar: str, text: str, *, envvar: str | None = None) -> Any:
    """Return an option that may hold a secret: it also takes ``@FILE`` and, with ``envvar``, an environment variable's
    value.

    Commands that send made-up data have no variable: a variable that is still set must not lead them to a real topic.
    """
    return typer.Option(name, metavar=f"{metavar}|@FILE", help=text, envvar=envvar, callback=from_file)


BadRows = Annotated[str, typer.Option(metavar="refuse|skip", help="Whether a bad row refuses its batch or is skipped.")]
BadRowsPath = Annotated[
    str | None,
    uri_option("--bad-rows-path", "FOLDER", "Folder for skipped rows, written as JSON lines."),
]
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
    for place, entry in enumerate(given or ()):
        name, equals, value = entry.partition("=")
        if not (equals and name.startswith("spark.")):
            raise ConfigError(
                f"--spark number {place + 1} is not spark.name=value",
                remedy="Write for instance --spark spark.driver.memory=4g",
                option="spark",
            )
        settings[name] = value
    return settings
