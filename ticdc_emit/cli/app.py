"""The commands and their options. Each command's work is imported when it runs, so that ``--help`` is quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from ticdc_emit.cli import consumer_commands
from ticdc_emit.cli.option_sets import TRAFFIC, TrafficOptions, traffic, with_options
from ticdc_emit.cli.options import (
    DIALECTS_HELP,
    PROTOCOL_HELP,
    AsJson,
    BadRows,
    BadRowsPath,
    ChangefeedFile,
    Command,
    OnSpark,
    Program,
    ProtocolName,
    Registry,
    RegistryOrVariable,
    ReleaseName,
    ReleaseOrClassic,
    SchemaDialect,
    SinkUri,
    SinkUriOrEmbedded,
    SourceFormat,
    SparkSettings,
    StateUri,
    Strict,
    WatermarkInterval,
    complete_dialect,
    complete_protocol,
    complete_schema,
    examples,
    grouped,
    one_of,
    spark_settings,
    uri_option,
)
from ticdc_emit.pipeline.options import RunOptions


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
    protocol: ProtocolName = None,
    rows: Annotated[int, typer.Option(help="Row changes to make.", min=1)] = 20_000,
    sink_uri: SinkUriOrEmbedded = None,
    release: ReleaseOrClassic = None,
    schema_registry: Registry = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same history.")] = 1,
    on_spark: OnSpark = False,
    as_json: AsJson = False,
    strict: Strict = None,
) -> None:
    """Replay a table's history into Kafka and show the messages.

    A protocol that needs a schema registry gets an embedded one unless you name yours.
    """
    _run("demo", locals())


def _run(command: str, arguments: Mapping[str, Any]) -> NoReturn:
    """Run a command's module with the arguments of its function here; ``--strict`` has had its effect."""
    run = importlib.import_module(f"ticdc_emit.cli.{command}").run
    raise typer.Exit(run(**{name: value for name, value in arguments.items() if name != "strict"}))


_SINK = "sink_uri config protocol time_zone release schema_registry registry_ca registry_cert registry_key"
_SPARK = "on_spark spark"
_BROKERS = ("embedded", "kafka")


@app.command(
    cls=grouped(
        {
            "Source": "schema schema_dialect input_path table keys input_format commit_time_column commit_ts "
            "ignore_unknown_columns bad_rows bad_rows_path",
            "Sink": _SINK,
            "Spark": _SPARK,
        }
    ),
    epilog=examples(
        "ticdc-emit emit --schema tables.sql --input changes.parquet --sink-uri "
        "'kafka://127.0.0.1:9092/t?protocol=canal-json'",
        "ticdc-emit emit --schema tables.sql --table shop.orders --input 'rows/*.csv' --sink-uri "
        "'jsonl:///tmp/out?protocol=canal-json'",
        "ticdc-emit emit --table shop.orders --keys id --input orders.parquet --sink-uri "
        "'jsonl:///tmp/out?protocol=canal-json'",
    ),
)
def emit(
    input_path: Annotated[
        str,
        typer.Option(
            "--input", metavar="PATH|-", help="Parquet, Arrow IPC, CSV or JSON lines; -: from standard input."
        ),
    ],
    sink_uri: SinkUri,
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.sql", help="DDL of the tables. Default: the input's columns.", exists=True, dir_okay=False
        ),
    ] = None,
    schema_dialect: SchemaDialect = None,
    config: ChangefeedFile = None,
    table: Annotated[
        str | None, typer.Option(help="schema.name; needed if the schema file has several tables, and without it.")
    ] = None,
    keys: Annotated[str | None, typer.Option(help="Without --schema: the key columns, with commas.")] = None,
    input_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="parquet, arrow, csv or json. Default: from the name, of standard input from its first bytes.",
            autocompletion=one_of("parquet", "arrow", "csv", "json"),
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
    release: ReleaseName = None,
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
    bad_rows: BadRows = RunOptions.bad_rows,
    bad_rows_path: BadRowsPath = None,
    on_spark: OnSpark = False,
    spark: SparkSettings = None,
    as_json: AsJson = False,
    strict: Strict = None,
) -> None:
    """Emit your own data: row changes (with a column op), or plain rows as inserts."""
    _run("emit", {**locals(), "spark": spark_settings(spark)})


@app.command(
    cls=grouped(
        {
            "Traffic": f"schema rows {TRAFFIC}",
            "Time": "start rate live stream endless",
            "Delivery": "redelivery lag",
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
@with_options(traffic, after="schema")
def generate(
    traffic: TrafficOptions,
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
    protocol: ProtocolName = None,
    sink_uri: SinkUriOrEmbedded = None,
    schema_registry: Registry = None,
    stream: Annotated[bool, typer.Option("--stream", help="Run as a Structured Streaming query.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Send at --rate in wall time.")] = False,
    on_spark: OnSpark = False,
    spark: SparkSettings = None,
    as_json: AsJson = False,
    strict: Strict = None,
) -> int:
    """Generate traffic from table schemas alone: inserts, updates, deletes and schema changes."""
    from ticdc_emit.cli.generate import Wanted, run

    settings = traffic.settings if endless else replace(traffic.settings, rows=rows)
    return run(
        Wanted(schema, settings, stream, live, start, traffic.dialect),
        protocol=protocol,
        sink_uri=sink_uri,
        config=traffic.config,
        release=traffic.release,
        schema_registry=schema_registry,
        on_spark=on_spark,
        spark=spark_settings(spark),
        as_json=as_json,
    )


@app.command(
    cls=grouped({"Arguments": "script", "Script": "schema start", "Sink": f"{_SINK} watermark_interval"}),
    epilog=examples(
        "ticdc-emit sql changes.sql",
        "ticdc-emit sql changes.sql --schema tables.sql --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json'",
        """echo "create table t (id int primary key); insert into t values (1)" | ticdc-emit sql -""",
    ),
)
def sql(
    script: Annotated[
        str, typer.Argument(help="Statements of TiDB: INSERT, UPDATE, DDL …; -: standard input.", metavar="FILE.sql|-")
    ],
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.sql", help="DDL of tables that exist before; it is not sent.", exists=True, dir_okay=False
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="now|TIME|TSO",
            help="Time of the first statement; each further one is a second later. Default: 2024.",
        ),
    ] = None,
    protocol: ProtocolName = None,
    sink_uri: Annotated[
        str | None, uri_option("--sink-uri", "URI", "TiCDC's sink URI: where to send. Default: show the messages.")
    ] = None,
    config: ChangefeedFile = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone, and the session's.")] = "UTC",
    release: ReleaseName = None,
    schema_registry: Registry = None,
    watermark_interval: WatermarkInterval = RunOptions.watermark_interval,
    as_json: AsJson = False,
    strict: Strict = None,
) -> None:
    """Execute SQL over tables in memory, and send or show the messages of what it commits."""
    _run("sql", locals())


@app.command(
    "table-sql",
    cls=grouped({"Arguments": "source", "Table": "name keys type_ input_format", "Spark": "spark"}),
    epilog=examples(
        "ticdc-emit table-sql orders.parquet --name shop.orders --keys id",
        "ticdc-emit table-sql 'rows/*.csv' --name shop.orders --keys id --type id=bigint --type 'price=decimal(8,2)'",
        "ticdc-emit table-sql lake.shop.orders --spark spark.jars.packages=…",
    ),
)
def table_sql(
    source: Annotated[
        str,
        typer.Argument(metavar="PATH|TABLE", help="Files that emit or replay reads, or a table of Spark's catalog."),
    ],
    name: Annotated[
        str | None, typer.Option(help="schema.name of the table in TiDB. Default, for a table of a catalog: its own.")
    ] = None,
    keys: Annotated[str | None, typer.Option(help="Key columns, with commas.")] = None,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type", metavar="COLUMN=TYPE", help="TiDB's type of a column, such as 'price=decimal(8,2)'; repeat it."
        ),
    ] = None,
    input_format: SourceFormat = None,
    spark: SparkSettings = None,
    as_json: AsJson = False,
    strict: Strict = None,
) -> None:
    """Print the CREATE TABLE for files or a table of Spark, with what it assumes as comments."""
    _run("table_sql", {**locals(), "type_": type_ or [], "spark": spark_settings(spark)})


@app.command(
    "schema-sql",
    cls=grouped({"Arguments": "script"}),
    epilog=examples(
        "ticdc-emit schema-sql dump.sql --dialect postgres > tables.sql",
        "ticdc-emit schema-sql hr.sql --dialect oracle --schema hr --json",
    ),
)
def schema_sql(
    script: Annotated[
        Path, typer.Argument(metavar="FILE.sql", help="DDL of another system.", exists=True, dir_okay=False)
    ],
    dialect: Annotated[str, typer.Option(metavar="NAME", help=f"{DIALECTS_HELP}.", autocompletion=complete_dialect)],
    schema: Annotated[str, typer.Option(help="Database of the tables whose name has no schema.")] = "test",
    as_json: AsJson = False,
) -> None:
    """Print the tables of another system's DDL in TiDB's SQL, with what was assumed as comments."""
    _run("schema_sql", locals())


def _complete_mode(incomplete: str) -> list[str]:
    from ticdc_emit.cli.replay import MODES

    return one_of(*MODES)(incomplete)


@app.command(
    cls=grouped(
        {
            "Source": "schema schema_dialect table mode before input_format keys op order_by transaction valid_from "
            "valid_to step deleted_when overlaps operations bad_rows bad_rows_path",
            "Time": "time_column time_unit at start end ddl speed slice_ state_uri watermark_interval",
            "Sink": "sink_uri config time_zone release schema_registry",
            "Spark": "spark",
        }
    ),
    epilog=examples(
        "ticdc-emit replay --schema tables.sql --table shop.orders=changes.parquet --sink-uri "
        "'kafka://127.0.0.1:9092/t?protocol=canal-json'",
        "ticdc-emit replay --mode diff --schema tables.sql --before shop.orders=day1.parquet "
        "--table shop.orders=day2.parquet --sink-uri 'jsonl:///tmp/out?protocol=canal-json'",
        "ticdc-emit replay --mode snapshots --time-column dt --schema tables.sql "
        "--table shop.stock=daily/ --sink-uri 'jsonl:///tmp/out?protocol=canal-json'",
        "ticdc-emit replay --speed 1440 --schema tables.sql --table shop.orders=changes.parquet --sink-uri "
        "'kafka://127.0.0.1:9092/t?protocol=simple'",
    ),
)
def replay(
    table: Annotated[
        list[str],
        typer.Option(metavar="NAME=PATH", help="schema.name and its source; repeat it. jdbc:…#table for a database."),
    ],
    sink_uri: SinkUri,
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.sql",
            help="DDL of the tables before the history. Default: the sources' columns.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    schema_dialect: SchemaDialect = None,
    mode: Annotated[
        str,
        typer.Option(
            help="Kind of the sources: snapshot, snapshots, diff, validity, operations, changes or versions.",
            autocompletion=_complete_mode,
        ),
    ] = "operations",
    before: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PATH",
            help="diff: the earlier snapshot. operations: the table's rows before the first change, if known.",
        ),
    ] = None,
    time_column: Annotated[
        str | None, typer.Option(help="The column with each row's commit time (snapshots: the time of its snapshot).")
    ] = None,
    time_unit: Annotated[
        str,
        typer.Option(
            help="Unit of times that are whole numbers: tso, s, ms or us.",
            autocompletion=one_of("tso", "s", "ms", "us"),
        ),
    ] = "tso",
    at: Annotated[
        str | None, typer.Option(help="ISO time or TSO for all rows when --time-column is not given. Default: now.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(help="changes, versions: the first version (its number or snapshot id), or an ISO time."),
    ] = None,
    end: Annotated[
        str | None, typer.Option(help="changes, versions: the last version, or an ISO time. Default: all versions.")
    ] = None,
    keys: Annotated[str | None, typer.Option(help="Key columns, with commas. Default: the key in --schema.")] = None,
    op: Annotated[str | None, typer.Option(help="operations: column with the kind of change. Default: op.")] = None,
    order_by: Annotated[
        list[str] | None,
        typer.Option(help="operations: column or SQL expression that orders changes with the same time."),
    ] = None,
    transaction: Annotated[str | None, typer.Option(help="operations: column that names the transaction.")] = None,
    valid_from: Annotated[
        str | None, typer.Option(help="validity: column with the start of validity. Default: valid_from.")
    ] = None,
    valid_to: Annotated[
        str | None,
        typer.Option(help="validity: column with the end of validity (NULL: still valid). Default: valid_to."),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="validity: time from an end to the next start, such as 1ms or 1d."),
    ] = None,
    deleted_when: Annotated[
        str | None, typer.Option(metavar="COLUMN[=VALUE]", help="validity: column that marks a version as a deletion.")
    ] = None,
    overlaps: Annotated[
        str | None, typer.Option(help="validity: error if versions overlap, or cut: each ends where the next begins.")
    ] = None,
    operations: Annotated[
        list[str] | None,
        typer.Option(metavar="X=delete", help="operations: a word of --op. =insert: no word. Repeat it."),
    ] = None,
    input_format: SourceFormat = None,
    ddl: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.sql", help="Later DDL: statements under '-- at <time>'.", exists=True, dir_okay=False
        ),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(help="Speed factor; 1440: a day in a minute, 1: the original pace. Default: full speed."),
    ] = None,
    slice_: Annotated[
        str | None, typer.Option("--slice", help="Event time of one batch: 10m, 1h. Default: 2 s at --speed, or all.")
    ] = None,
    state_uri: StateUri = None,
    watermark_interval: WatermarkInterval = RunOptions.watermark_interval,
    config: ChangefeedFile = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone, for TIMESTAMP values.")] = "UTC",
    release: ReleaseName = None,
    schema_registry: RegistryOrVariable = None,
    bad_rows: BadRows = RunOptions.bad_rows,
    bad_rows_path: BadRowsPath = None,
    spark: SparkSettings = None,
    as_json: AsJson = False,
    strict: Strict = None,
) -> None:
    """Replay history: snapshots, slowly changing tables and change tables as CDC, at their own pace or faster.

    With --slice or --speed, Ctrl-C stops after the current slice; with --state-uri the same command resumes there.
    """
    given = dict(locals())
    from ticdc_emit.cli.replay import ColumnOptions, CommandOptions, run, version_or_time

    if time_unit not in ("tso", "s", "ms", "us"):
        raise typer.BadParameter("choose tso, s, ms or us", param_hint="--time-unit")
    given |= {
        "keys": [name.strip() for name in keys.split(",")] if keys else (),
        **{name: version_or_time(given[name], name) for name in ("start", "end")},
        "spark": spark_settings(spark),
        **{name: given[name] or () for name in ("before", "order_by", "operations")},
        "format": input_format,
        "tables": table,
        "slice": slice_,
    }
    given["columns"] = ColumnOptions(**{each.name: given[each.name] for each in fields(ColumnOptions)})
    raise typer.Exit(run(CommandOptions(**{each.name: given[each.name] for each in fields(CommandOptions)})))


@app.command(
    cls=grouped(
        {
            "Server": "broker port registry_port host advertise ready_file until_stdin_ends",
            "Traffic": f"schema {TRAFFIC}",
            "Time": "rate on_spark",
            "Delivery": "redelivery lag",
            "Changefeed": "protocol enable_tidb_extension config time_zone release",
        }
    ),
    epilog=examples(
        "ticdc-emit serve",
        "ticdc-emit serve --schema shop --rate 500",
        "ticdc-emit serve --schema bank --protocol avro --broker kafka --port 19092 --registry-port 18081",
        "ticdc-emit serve --schema bank --port 0 --registry-port 0 --json --ready-file /tmp/ready.json",
    ),
)
@with_options(traffic, after="schema", deferred=True)
def serve(
    make_traffic: Callable[[], TrafficOptions],
    port: Annotated[int, typer.Option(help="Port of Kafka; 0 for any free one.", min=0, max=65535)] = 9092,
    registry_port: Annotated[
        int, typer.Option(help="Port of the schema registry; 0 for any free one.", min=0, max=65535)
    ] = 8081,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on; 0.0.0.0 for all of this machine's.",
            envvar="TICDC_EMIT_HOST",
        ),
    ] = "127.0.0.1",
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="Where clients connect to, if that is not --host and --port: the name of a container, a published "
            "port …",
            envvar="TICDC_EMIT_ADVERTISE",
        ),
    ] = None,
    broker: Annotated[
        str,
        typer.Option(
            metavar="embedded|kafka",
            help="embedded: starts at once. kafka: a real broker; needs Java, and Maven once.",
            autocompletion=one_of(*_BROKERS),
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
    protocol: Annotated[
        str | None,
        typer.Option(
            help=f"{PROTOCOL_HELP} Default: the changefeed file's, else canal-json.", autocompletion=complete_protocol
        ),
    ] = None,
    enable_tidb_extension: Annotated[
        bool,
        typer.Option(
            "--enable-tidb-extension",
            help="Write TiDB's extension fields, as with enable-tidb-extension=true in a sink URI.",
        ),
    ] = False,
    ready_file: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write the settings to this file once consumers can connect and the first message is there.",
            envvar="TICDC_EMIT_READY_FILE",
            dir_okay=False,
        ),
    ] = None,
    until_stdin_ends: Annotated[
        bool,
        typer.Option(
            "--until-stdin-ends",
            help="End when standard input ends: when the process that started this one closes it, or is gone.",
        ),
    ] = False,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS:PORT",
            help="Also serve the control API, for tests in other languages: SQL, redelivery, reset … Port 0 for any "
            "free one. Traffic begins when it is asked for.",
        ),
    ] = None,
    control_token: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The token that requests to the control API must have; or TICDC_EMIT_CONTROL_TOKEN.",
            dir_okay=False,
            exists=True,
        ),
    ] = None,
    control_any_sink: Annotated[
        bool,
        typer.Option(
            "--control-any-sink",
            help="Let requests create changefeeds into any Kafka, not only into this and loopback's.",
        ),
    ] = False,
    retain: Annotated[
        int, typer.Option(metavar="MIB", help="Memory for commits and messages that the control API keeps.", min=2)
    ] = 128,
    on_spark: OnSpark = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line: settings, begin of traffic, end.")
    ] = False,
    strict: Strict = None,
) -> int:
    """Run a Kafka and a schema registry until Ctrl-C, with live traffic if you name a schema.

    Prints connection settings for confluent-kafka, kcat, ClickHouse, Flink SQL, Kafka Connect, Spark.
    """
    from signal import SIGTERM

    from ticdc_emit.cli import signals
    from ticdc_emit.cli.console import never_wait_for_stderr
    from ticdc_emit.cli.served_kafka import ServedKafka, Server

    signals.endless()
    never_wait_for_stderr()
    if until_stdin_ends:
        signals.interrupt_at_the_end_of_stdin()
    if broker not in _BROKERS:
        raise typer.BadParameter(f"choose {' or '.join(_BROKERS)}", param_hint="--broker")
    server = Server(broker, port, registry_port, host, advertise)
    server.check()
    with ServedKafka(server) as kafka:
        from ticdc_emit.cli.serve import Control, run

        code = run(
            kafka,
            make_traffic(),
            control=Control.of(control, control_token, any_sink=control_any_sink, retain=retain),
            schema=schema,
            protocol=protocol,
            enable_tidb_extension=enable_tidb_extension,
            ready_file=ready_file,
            on_spark=on_spark,
            as_json=as_json,
        )
    if code == signals.exit_code(SIGTERM):
        with suppress(OSError):
            sys.stdout.flush()
        signals.leave(SIGTERM)  # all is closed, and to free what a call has in memory takes a second
    return code


app.add_typer(consumer_commands.commands)
