"""The commands and their options. Each command's work is imported when it runs, so that ``--help`` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ticdc_emit.cli.options import (
    PROTOCOL_HELP,
    AsJson,
    BadRows,
    BadRowsPath,
    Command,
    Html,
    Lineage,
    LineageOrClassic,
    OnSpark,
    Program,
    Registry,
    RegistryOrVariable,
    SinkUri,
    SinkUriOrEmbedded,
    SparkSettings,
    Strict,
    complete_protocol,
    complete_schema,
    examples,
    grouped,
    one_of,
    spark_settings,
)
from ticdc_emit.cli.replay_command import add_replay_command
from ticdc_emit.cli.serve_command import add_serve_command
from ticdc_emit.cli.topic_commands import add_topic_commands

__all__ = ["app"]


def _print_version(wanted: bool) -> None:
    if wanted:
        from ticdc_emit import __version__

        print(f"ticdc-emit {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="ticdc-emit",
    cls=Program,
    help="Emit the exact bytes that TiCDC would put on Kafka, without a TiDB cluster.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the program itself."""


@app.command(
    cls=Command,
    epilog=examples(
        "ticdc-emit demo",
        "ticdc-emit demo --protocol avro",
        "ticdc-emit demo --rows 1000000 --sink-uri 'kafka://127.0.0.1:9092/orders?protocol=canal-json'",
    ),
)
def demo(
    protocol: Annotated[
        str, typer.Option(help=PROTOCOL_HELP + " A protocol in the sink URI wins.", autocompletion=complete_protocol)
    ] = "canal-json",
    rows: Annotated[int, typer.Option(help="Row changes to make.", min=1)] = 20_000,
    sink_uri: SinkUriOrEmbedded = None,
    profile: LineageOrClassic = None,
    schema_registry: Registry = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same history.")] = 1,
    on_spark: OnSpark = False,
    html: Html = None,
    as_json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Replay a table's history into Kafka and show the messages.

    A protocol that needs a schema registry gets an embedded one unless you name yours.
    """
    from ticdc_emit.cli.demo import run

    code = run(
        protocol=protocol,
        rows=rows,
        sink_uri=sink_uri,
        profile=profile,
        schema_registry=schema_registry,
        seed=seed,
        on_spark=on_spark,
        html=html,
        as_json=as_json,
    )
    raise typer.Exit(code)


_SINK = "sink_uri config protocol time_zone profile schema_registry registry_ca registry_cert registry_key"
_SPARK = "on_spark spark"


@app.command(
    cls=grouped(
        {
            "Source": "schema input_path table input_format commit_time_column commit_ts ignore_unknown_columns "
            "bad_rows bad_rows_path",
            "Sink": _SINK,
            "Spark": _SPARK,
        }
    ),
    epilog=examples(
        "ticdc-emit emit --schema tables.sql --input changes.parquet --sink-uri "
        "'kafka://127.0.0.1:9092/t?protocol=canal-json'",
        "ticdc-emit emit --schema tables.sql --table shop.orders --input 'rows/*.csv' --sink-uri "
        "'file:///tmp/out?protocol=canal-json'",
    ),
)
def emit(
    schema: Annotated[Path, typer.Option(metavar="FILE.sql", help="DDL of the tables.", exists=True, dir_okay=False)],
    input_path: Annotated[str, typer.Option("--input", metavar="PATH", help="Parquet, CSV or JSON lines.")],
    sink_uri: SinkUri,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="TiCDC's changefeed file.", exists=True, dir_okay=False)
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="schema.name; needed if the schema file has several tables.")
    ] = None,
    input_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="parquet, csv or json. Default: from the name.",
            autocompletion=one_of("parquet", "csv", "json"),
        ),
    ] = None,
    commit_time_column: Annotated[
        str | None, typer.Option(help="Column of plain rows with each row's commit time or TSO.")
    ] = None,
    commit_ts: Annotated[
        int | None,
        typer.Option(help="TSO for all plain rows when --commit-time-column is not given. Default: now.", min=1),
    ] = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone, for TIMESTAMP values.")] = "UTC",
    profile: Lineage = None,
    schema_registry: RegistryOrVariable = None,
    registry_ca: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PEM file of the registry's authorities.", dir_okay=False)
    ] = None,
    registry_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PEM file of the client's certificate.", dir_okay=False)
    ] = None,
    registry_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PEM file of the client's key.", dir_okay=False)
    ] = None,
    ignore_unknown_columns: Annotated[
        bool, typer.Option("--ignore-unknown-columns", help="Leave out columns that the table does not have.")
    ] = False,
    bad_rows: BadRows = "refuse",
    bad_rows_path: BadRowsPath = None,
    on_spark: OnSpark = False,
    spark: SparkSettings = None,
    html: Html = None,
    as_json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Emit your own data: row changes (with a column op), or plain rows as inserts."""
    from ticdc_emit.cli.emit import run

    code = run(
        schema=schema,
        input_path=input_path,
        sink_uri=sink_uri,
        config=config,
        table=table,
        input_format=input_format,
        commit_time_column=commit_time_column,
        commit_ts=commit_ts,
        time_zone=time_zone,
        profile=profile,
        schema_registry=schema_registry,
        registry_tls=(registry_ca, registry_cert, registry_key),
        bad_rows=bad_rows,
        bad_rows_path=bad_rows_path,
        ignore_unknown=ignore_unknown_columns,
        on_spark=on_spark,
        spark=spark_settings(spark),
        html=html,
        as_json=as_json,
    )
    raise typer.Exit(code)


@app.command(
    cls=grouped(
        {
            "Traffic": "schema rows table seed columns updates deletes skew transaction_size ddl_rate",
            "Time": "start rate live stream endless",
            "Sink": _SINK,
            "Spark": _SPARK,
        }
    ),
    epilog=examples(
        "ticdc-emit generate --schema bank",
        "ticdc-emit generate --schema tables.sql --rows 1000000 --ddl-rate 0.01 --sink-uri "
        "'kafka://127.0.0.1:9092/t?protocol=canal-json'",
        "ticdc-emit generate --schema shop --rate 1000 --live --endless --sink-uri "
        "'kafka://127.0.0.1:9092/t?protocol=simple'",
    ),
)
def generate(
    schema: Annotated[
        str,
        typer.Option(
            metavar="FILE.sql",
            help="DDL of the tables, or a sample: bank, shop, sysbench, wide, all_types …",
            autocompletion=complete_schema,
        ),
    ],
    rows: Annotated[int, typer.Option(help="Row changes to make.", min=1)] = 20_000,
    endless: Annotated[
        bool,
        typer.Option(
            "--endless",
            help="Keep generating until Ctrl-C instead of stopping after --rows (needs --live or --stream).",
        ),
    ] = False,
    start: Annotated[
        str | None,
        typer.Option(metavar="now|TIME|TSO", help="First commit; TIME in ISO form. Default: 2024, with --live now."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Changes per second of commit time. Default: 1,000.", min=0.001)
    ] = None,
    ddl_rate: Annotated[float, typer.Option(help="Schema changes per second of commit time.", min=0)] = 0.0,
    seed: Annotated[int, typer.Option(help="The same seed makes the same traffic.")] = 0,
    table: Annotated[
        list[str] | None, typer.Option(help="schema.name; generate only this table. Repeat it for more.")
    ] = None,
    transaction_size: Annotated[float, typer.Option(help="Average number of changes per transaction.", min=1)] = 1.0,
    updates: Annotated[float, typer.Option(help="Average number of updates of a row.", min=0)] = 3.0,
    deletes: Annotated[float, typer.Option(help="Share of rows that are deleted in the end.", min=0, max=1)] = 0.5,
    skew: Annotated[float, typer.Option(help="Zipf exponent of updates over rows; 0: all rows alike.", min=0)] = 1.0,
    columns: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Ranges, labels and weights of columns.", exists=True, dir_okay=False),
    ] = None,
    protocol: Annotated[
        str, typer.Option(help=PROTOCOL_HELP + " A protocol in the sink URI wins.", autocompletion=complete_protocol)
    ] = "canal-json",
    sink_uri: SinkUriOrEmbedded = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="TiCDC's changefeed file.", exists=True, dir_okay=False)
    ] = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone.")] = "UTC",
    profile: Lineage = None,
    schema_registry: Registry = None,
    stream: Annotated[bool, typer.Option("--stream", help="Run as a Structured Streaming query.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Send at --rate in wall time, as a stream.")] = False,
    on_spark: OnSpark = False,
    spark: SparkSettings = None,
    html: Html = None,
    as_json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Generate traffic from table schemas alone: inserts, updates, deletes and schema changes."""
    from ticdc_emit.cli.generate import Wanted, run
    from ticdc_emit.traffic.generate.settings import Settings

    settings = Settings(
        rows=None if endless else rows,
        seed=seed,
        tables=tuple(table or ()),
        rate=rate,
        transaction_size=transaction_size,
        updates=updates,
        deletes=deletes,
        skew=skew,
        ddl_rate=ddl_rate,
        time_zone=time_zone,
        columns=columns,
    )
    code = run(
        Wanted(schema, settings, stream, live, start),
        protocol=protocol,
        sink_uri=sink_uri,
        config=config,
        profile=profile,
        schema_registry=schema_registry,
        on_spark=on_spark,
        spark=spark_settings(spark),
        html=html,
        as_json=as_json,
    )
    raise typer.Exit(code)


add_replay_command(app)
add_serve_command(app)
add_topic_commands(app)
