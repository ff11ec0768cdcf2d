"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ticdc_emit.errors import ConfigError

__all__ = ["PROTOCOLS", "PROTOCOL_HELP", "AsJson", "Registry", "SparkSettings", "spark_settings"]

PROTOCOLS = "canal-json, simple (simple-json), simple-avro, debezium or avro"
PROTOCOL_HELP = f"Protocol: {PROTOCOLS}."
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]
Registry = Annotated[
    str | None,
    typer.Option(
        "--schema-registry",
        metavar="URL",
        help="Of Avro, where the sink URI names none: https://user:password@host, both URL-encoded.",
    ),
]
SparkSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--spark", metavar="NAME=VALUE", help="A setting of Spark: spark.jars.packages=…; may be given again."
    ),
]


def spark_settings(given: Sequence[str] | None) -> dict[str, str]:
    """Read ``spark.name=value`` arguments; :class:`ConfigError` for others, without the value, which may be secret."""
    found: dict[str, str] = {}
    for place, entry in enumerate(given or ()):
        name, equals, value = entry.partition("=")
        if not (equals and name.startswith("spark.")):
            raise ConfigError(
                f"--spark number {place + 1} is not spark.name=value",
                remedy="Write for instance --spark spark.driver.memory=4g",
                option="spark",
            )
        found[name] = value
    return found
