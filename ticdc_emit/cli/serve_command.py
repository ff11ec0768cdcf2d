"""The command ``serve`` and its options. Its work is imported when it runs, so that ``--help`` is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from ticdc_emit.cli.options import (
    PROTOCOL_HELP,
    Command,
    LineageOrClassic,
    Strict,
    complete_protocol,
    complete_schema,
    examples,
    one_of,
)

__all__ = ["add_serve_command"]


def serve(
    port: Annotated[int, typer.Option(help="Port of Kafka.", min=1, max=65535)] = 9092,
    registry_port: Annotated[int, typer.Option(help="Port of the schema registry.", min=1, max=65535)] = 8081,
    broker: Annotated[
        str,
        typer.Option(
            metavar="embedded|kafka",
            help="embedded: starts at once; not for Java clients. kafka: a real broker; needs Java, and Maven once.",
            autocompletion=one_of("embedded", "kafka"),
        ),
    ] = "embedded",
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.sql",
            help="Also send live traffic of these tables: a DDL file or a sample: bank, shop …",
            autocompletion=complete_schema,
        ),
    ] = None,
    rate: Annotated[float, typer.Option(help="Row changes per second of the traffic.", min=0.001)] = 100.0,
    protocol: Annotated[str, typer.Option(help=PROTOCOL_HELP, autocompletion=complete_protocol)] = "canal-json",
    enable_tidb_extension: Annotated[
        bool,
        typer.Option(
            "--enable-tidb-extension",
            help="Write TiDB's extension fields, as with enable-tidb-extension=true in a sink URI.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed makes the same rows.")] = 0,
    profile: LineageOrClassic = None,
    strict: Strict = False,
) -> None:
    """Run a Kafka and a schema registry until Ctrl-C, with live traffic if you name a schema.

    Prints connection settings for confluent-kafka, kcat, ClickHouse, Flink SQL, Kafka Connect, Spark.
    """
    from ticdc_emit.cli.serve import BROKERS, run

    if broker not in BROKERS:
        raise typer.BadParameter(f"choose {' or '.join(BROKERS)}", param_hint="--broker")
    code = run(
        port=port,
        registry_port=registry_port,
        broker=broker,
        schema=schema,
        rate=rate,
        protocol=protocol,
        enable_tidb_extension=enable_tidb_extension,
        seed=seed,
        profile=profile,
    )
    raise typer.Exit(code)


def add_serve_command(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command(
        cls=Command,
        epilog=examples(
            "ticdc-emit serve",
            "ticdc-emit serve --schema shop --rate 500",
            "ticdc-emit serve --schema bank --protocol avro --broker kafka --port 19092 --registry-port 18081",
        ),
    )(serve)
