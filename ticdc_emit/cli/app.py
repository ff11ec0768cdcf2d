"""The commands, each a dataclass of its options (``cli.options``). Their work is imported when they run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ticdc_emit.cli.options import (
    CHANGEFEED,
    DIALECTS_HELP,
    OUTPUT,
    REQUIRED,
    SERVER,
    TIME,
    TRAFFIC,
    BadRowOptions,
    FeedOptions,
    OutputOptions,
    Program,
    ShownOptions,
    SinkOptions,
    SparkOptions,
    TopicOptions,
    TrafficOptions,
    argument,
    command,
    complete_dialect,
    complete_schema,
    dialect_option,
    format_option,
    new_file,
    on_spark_option,
    one_of,
    option,
    protocol_option,
    registry_option,
    release_option,
    report_option,
    run_option,
    sink_uri_option,
    sql_file,
    uri_option,
)


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


@command(
    app,
    "ticdc-emit demo",
    "ticdc-emit demo --protocol avro",
    "ticdc-emit demo --rows 1000000 --sink-uri 'kafka://127.0.0.1:9092/orders?protocol=canal-json'",
)
@dataclass(frozen=True, kw_only=True)
class Demo(ShownOptions, OutputOptions):
    """Generate the history of a table of orders, send it to Kafka and show the messages of one order.

    A protocol that needs a schema registry gets an embedded one unless you name yours.
    """

    rows: int = option("Row changes to make.", 20_000, panel=TRAFFIC, min=1)
    seed: int = option("The same seed makes the same history.", 1, panel=TRAFFIC)
    release: str | None = release_option("classic")
    on_spark: bool = on_spark_option()

    def run(self) -> int:
        return Generate(schema="orders", **vars(self)).run()


@command(
    app,
    "ticdc-emit emit --schema tables.sql --input changes.parquet --sink-uri "
    "'kafka://127.0.0.1:9092/t?protocol=canal-json'",
    "ticdc-emit emit --schema tables.sql --table shop.orders --input 'rows/*.csv' --sink-uri "
    "'jsonl:///tmp/out?protocol=canal-json'",
    "ticdc-emit emit --table shop.orders --keys id --input orders.parquet --sink-uri "
    "'jsonl:///tmp/out?protocol=canal-json'",
)
@dataclass(frozen=True, kw_only=True)
class Emit(BadRowOptions, SinkOptions, SparkOptions, OutputOptions):
    """Emit your own data: row changes (with a column op), or plain rows as inserts."""

    input: str = option("Parquet, Arrow IPC, CSV or JSON lines; -: from standard input.", metavar="PATH|-")
    schema: Path | None = sql_file("DDL of the tables. Default: the input's columns.")
    schema_dialect: str | None = dialect_option()
    table: str | None = option("schema.name; needed if the schema file has several tables, and without it.", None)
    keys: str | None = option("Without --schema: the key columns, with commas.", None)
    format: str | None = option(
        "parquet, arrow, csv or json. Default: from the name, of standard input from its first bytes.",
        None,
        autocompletion=one_of("parquet", "arrow", "csv", "json"),
    )
    commit_time_column: str | None = option("Column of plain rows with each row's commit time or TSO.", None)
    commit_ts: int | None = option(
        "TSO for all plain rows when --commit-time-column is not given. Default: now.", None, min=1
    )
    ignore_unknown_columns: bool = option("Leave out columns that the table does not have.", False)
    on_spark: bool = on_spark_option()


@command(
    app,
    "ticdc-emit generate --schema bank",
    "ticdc-emit generate --schema tables.sql --rows 1000000 --model model.toml --sink-uri "
    "'kafka://127.0.0.1:9092/t?protocol=canal-json'",
    "ticdc-emit generate --schema shop --rate 1000 --live --endless --sink-uri "
    "'kafka://127.0.0.1:9092/t?protocol=simple'",
)
@dataclass(frozen=True, kw_only=True)
class Generate(TrafficOptions, ShownOptions, SparkOptions, OutputOptions):
    """Generate traffic from table schemas alone: inserts, updates, deletes and schema changes."""

    schema: str | None = option(
        "DDL of the tables, or a sample: bank, shop, sysbench, wide, all_types …",
        None,
        panel=TRAFFIC,
        metavar="FILE.sql",
        autocompletion=complete_schema,
    )
    like: str | None = option(
        "Data that the traffic looks like, a source of profile; also its columns, without --schema.",
        None,
        panel=TRAFFIC,
        metavar="PATH|NAME=PATH|URI",
    )
    format: str | None = format_option(TRAFFIC)
    rows: int = option("Row changes to make.", 20_000, panel=TRAFFIC, min=1)
    start: str | None = option(
        "First commit; TIME in ISO form. Default: 2024, with --live now.", None, panel=TIME, metavar="now|TIME|TSO"
    )
    live: bool = option("Send at --rate in wall time.", False, panel=TIME)
    endless: bool = option(
        "Keep generating until Ctrl-C instead of stopping after --rows (needs --live).", False, "--endless", panel=TIME
    )
    on_spark: bool = on_spark_option()
    report: Path | None = report_option()

    @property
    def most_rows(self) -> int | None:
        """How many changes to make; ``None`` for no end."""
        return None if self.endless else self.rows


@command(
    app,
    "ticdc-emit profile shop.orders=orders.parquet --output model.toml",
    "ticdc-emit profile shop.orders=day1.parquet --compare shop.orders=day2.parquet",
)
@dataclass(frozen=True, kw_only=True)
class Profile(FeedOptions, SparkOptions, OutputOptions):
    """Learn a model of data for generate, without the data, or compare two sources."""

    source: str = argument(
        "Parquet or CSV, a folder of tables, NAME=PATH of any format of replay, or a sink URI with messages.",
        metavar="PATH|NAME=PATH|URI",
    )
    schema: str | None = option("DDL of the tables. Default: the source's columns.", None, metavar="FILE.sql")
    format: str | None = format_option()
    keep_values: Sequence[str] = option(
        "Column whose values may be in the model, as labels. Repeat it for more.", (), "--keep-values", metavar="COLUMN"
    )
    compare: str | None = option("Print the distance to this source instead.", None, metavar="SOURCE")
    output: Path | None = option(
        "The model's file. Default: standard output.", None, "--output", "-o", panel=OUTPUT, callback=new_file
    )
    schema_registry: str | None = registry_option()


@command(
    app,
    "ticdc-emit sql changes.sql",
    "ticdc-emit sql changes.sql --schema tables.sql --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json'",
    """echo "create table t (id int primary key); insert into t values (1)" | ticdc-emit sql -""",
)
@dataclass(frozen=True, kw_only=True)
class Sql(FeedOptions, ShownOptions, OutputOptions):
    """Execute SQL over tables in memory, and send or show the messages of what it commits."""

    script: str = argument("Statements of TiDB: INSERT, UPDATE, DDL …; -: standard input.", metavar="FILE.sql|-")
    schema: Path | None = sql_file("DDL of tables that exist before; it is not sent.")
    start: str | None = option(
        "Time of the first statement; each further one is a second later. Default: 2024.", None, metavar="now|TIME|TSO"
    )
    sink_uri: str | None = sink_uri_option("TiCDC's sink URI: where to send. Default: show the messages.")
    time_zone: str = option("The changefeed's time zone, and the session's.", "UTC", panel=CHANGEFEED)
    watermark_interval: float | None = run_option("watermark_interval", "SECONDS", panel=CHANGEFEED)


@command(
    app,
    "ticdc-emit schema orders.parquet --name shop.orders --keys id",
    "ticdc-emit schema 'rows/*.csv' --name shop.orders --keys id --type id=bigint --type 'price=decimal(8,2)'",
    "ticdc-emit schema lake.shop.orders --spark spark.jars.packages=…",
    "ticdc-emit schema dump.sql --dialect postgres > tables.sql",
)
@dataclass(frozen=True, kw_only=True)
class Schema(SparkOptions, OutputOptions):
    """Print TiDB's CREATE TABLE for data, or for a script of another system, with what it assumes as comments."""

    source: str = argument(
        "Files that emit or replay reads, a table of Spark's catalog, or with --dialect a script.",
        metavar="PATH|TABLE|FILE.sql",
    )
    name: str | None = option(
        "schema.name of the table in TiDB. Default, for a table of a catalog: its own.", None, panel="Table"
    )
    keys: str | None = option("Key columns, with commas.", None, panel="Table")
    types: Sequence[str] = option(
        "TiDB's type of a column, such as 'price=decimal(8,2)'; repeat it.",
        (),
        "--type",
        panel="Table",
        metavar="COLUMN=TYPE",
    )
    format: str | None = format_option("Table")
    dialect: str | None = option(
        f"System that a script is of: {DIALECTS_HELP}.",
        None,
        panel="Script",
        metavar="NAME",
        autocompletion=complete_dialect,
    )
    schema: str | None = option(
        "Database of the script's tables whose name has no schema. Default: test.", None, panel="Script"
    )


MODES = ("snapshot", "snapshots", "diff", "validity", "operations", "changes")
"""Of ``replay``."""


@command(
    app,
    "ticdc-emit replay --schema tables.sql --table shop.orders=changes.parquet --sink-uri "
    "'kafka://127.0.0.1:9092/t?protocol=canal-json'",
    "ticdc-emit replay --mode diff --schema tables.sql --before shop.orders=day1.parquet "
    "--table shop.orders=day2.parquet --sink-uri 'jsonl:///tmp/out?protocol=canal-json'",
    "ticdc-emit replay --mode snapshots --time-column dt --schema tables.sql "
    "--table shop.stock=daily/ --sink-uri 'jsonl:///tmp/out?protocol=canal-json'",
    "ticdc-emit replay --speed 1440 --schema tables.sql --table shop.orders=changes.parquet --sink-uri "
    "'kafka://127.0.0.1:9092/t?protocol=simple'",
)
@dataclass(frozen=True, kw_only=True)
class Replay(BadRowOptions, SinkOptions, SparkOptions, OutputOptions):
    """Replay history: snapshots, slowly changing tables and change tables as CDC, at their own pace or faster.

    With --slice or --speed, Ctrl-C stops after the current slice; with --state-uri the same command resumes there.
    """

    schema: Path | None = sql_file("DDL of the tables before the history. Default: the sources' columns.")
    schema_dialect: str | None = dialect_option()
    tables: Sequence[str] = option(
        "schema.name and its source; repeat it. jdbc:…#table for a database.", REQUIRED, "--table", metavar="NAME=PATH"
    )
    mode: str = option(
        "Kind of the sources: snapshot, snapshots, diff, validity, operations or changes.",
        "operations",
        autocompletion=one_of(*MODES),
    )
    before: Sequence[str] = option(
        "diff: the earlier snapshot. operations: the table's rows before the first change, if known.",
        (),
        metavar="NAME=PATH",
    )
    format: str | None = format_option()
    keys: str | None = option("Key columns, with commas. Default: the key in --schema.", None)
    op: str | None = option("operations: column with the kind of change. Default: op.", None)
    order_by: Sequence[str] = option("operations: column or SQL expression that orders changes with the same time.", ())
    transaction: str | None = option("operations: column that names the transaction.", None)
    valid_from: str | None = option("validity: column with the start of validity. Default: valid_from.", None)
    valid_to: str | None = option(
        "validity: column with the end of validity (NULL: still valid). Default: valid_to.", None
    )
    step: str | None = option("validity: time from an end to the next start, such as 1ms or 1d.", None, metavar="TIME")
    deleted_when: str | None = option(
        "validity: column that marks a version as a deletion.", None, metavar="COLUMN[=VALUE]"
    )
    overlaps: str | None = option("validity: error if versions overlap, or cut: each ends where the next begins.", None)
    operations: Sequence[str] = option(
        "operations: a word of --op. =insert: no word. Repeat it.", (), metavar="X=delete"
    )
    time_column: str | None = option(
        "The column with each row's commit time (snapshots: the time of its snapshot).", None, panel=TIME
    )
    time_unit: str = option(
        "Unit of times that are whole numbers: tso, s, ms or us.",
        "tso",
        panel=TIME,
        autocompletion=one_of("tso", "s", "ms", "us"),
    )
    at: str | None = option(
        "ISO time or TSO for all rows when --time-column is not given. Default: now.", None, panel=TIME
    )
    start: str | None = option(
        "changes: the first version (its number or snapshot id), or an ISO time.", None, panel=TIME
    )
    end: str | None = option("changes: the last version, or an ISO time. Default: all versions.", None, panel=TIME)
    ddl: Path | None = sql_file("Later DDL: statements under '-- at <time>'.", panel=TIME)
    speed: float | None = option(
        "Speed factor; 1440: a day in a minute, 1: the original pace. Default: full speed.", None, panel=TIME
    )
    slice: str | None = option("Event time of one batch: 10m, 1h. Default: 2 s at --speed, or all.", None, panel=TIME)
    state_uri: str | None = run_option("state_uri", panel=TIME)
    watermark_interval: float | None = run_option("watermark_interval", "SECONDS", panel=TIME)
    report: Path | None = report_option()

    def run(self) -> int:
        if self.time_unit not in ("tso", "s", "ms", "us"):
            raise typer.BadParameter("choose tso, s, ms or us", param_hint="--time-unit")
        return super().run()


_BROKERS = ("embedded", "kafka")


@command(
    app,
    "ticdc-emit serve",
    "ticdc-emit serve --schema shop --rate 500",
    "ticdc-emit serve --schema bank --protocol avro --broker kafka --port 19092 --registry-port 18081",
    "ticdc-emit serve --schema bank --port 0 --registry-port 0 --json --ready-file /tmp/ready.json",
)
@dataclass(frozen=True, kw_only=True)
class Serve(TrafficOptions, OutputOptions):
    """Run a Kafka and a schema registry until Ctrl-C, with live traffic if you name a schema.

    Prints connection settings for confluent-kafka, kcat, ClickHouse, Flink SQL, Kafka Connect, Spark.
    """

    port: int = option("Port of Kafka; 0 for any free one.", 9092, panel=SERVER, min=0, max=65535)
    registry_port: int = option(
        "Port of the schema registry; 0 for any free one.", 8081, panel=SERVER, min=0, max=65535
    )
    host: str = option(
        "Address to listen on; 0.0.0.0 for all of this machine's.",
        "127.0.0.1",
        panel=SERVER,
        metavar="ADDRESS",
        envvar="TICDC_EMIT_HOST",
    )
    advertise: str | None = option(
        "Where clients connect to, if that is not --host and --port: the name of a container, a published port …",
        None,
        panel=SERVER,
        metavar="HOST[:PORT]",
        envvar="TICDC_EMIT_ADVERTISE",
    )
    broker: str = option(
        "embedded: starts at once. kafka: a real broker; needs Java, and Maven once.",
        "embedded",
        panel=SERVER,
        metavar="embedded|kafka",
        autocompletion=one_of(*_BROKERS),
    )
    ready_file: Path | None = option(
        "Write the settings to this file once consumers can connect and the first message is there.",
        None,
        panel=SERVER,
        metavar="PATH",
        envvar="TICDC_EMIT_READY_FILE",
        dir_okay=False,
        callback=new_file,
    )
    until_stdin_ends: bool = option(
        "End when standard input ends: when the process that started this one closes it, or is gone.",
        False,
        "--until-stdin-ends",
        panel=SERVER,
    )
    schema: str | None = option(
        "Also send live traffic of these tables: a DDL file or a sample: bank, shop …",
        None,
        panel=TRAFFIC,
        metavar="FILE.sql",
        autocompletion=complete_schema,
    )
    protocol: str | None = protocol_option("Default: the changefeed file's, else canal-json.")
    enable_tidb_extension: bool = option(
        "Write TiDB's extension fields, as with enable-tidb-extension=true in a sink URI.",
        False,
        "--enable-tidb-extension",
        panel=CHANGEFEED,
    )
    control: str | None = option(
        "Also serve the control API, for tests in other languages: SQL, redelivery, reset … Port 0 for any free one. "
        "Traffic begins when it is asked for.",
        None,
        panel="Control",
        metavar="ADDRESS:PORT",
    )
    control_token: Path | None = option(
        "The token that requests to the control API must have; or TICDC_EMIT_CONTROL_TOKEN.",
        None,
        panel="Control",
        metavar="FILE",
        dir_okay=False,
        exists=True,
    )
    control_any_sink: bool = option(
        "Let requests create changefeeds into any Kafka, not only into this and loopback's.",
        False,
        "--control-any-sink",
        panel="Control",
    )
    retain: int = option(
        "Memory for commits and messages that the control API keeps.", 128, panel="Control", metavar="MIB", min=2
    )
    as_json: bool = option(
        "Print one JSON object per line: settings, begin of traffic, end.", False, "--json", panel=OUTPUT
    )

    def run(self) -> int:
        from signal import SIGTERM

        from ticdc_emit.cli import signals
        from ticdc_emit.cli.console import never_wait_for_stderr
        from ticdc_emit.cli.served_kafka import ServedKafka, Server

        signals.endless()
        never_wait_for_stderr()
        if self.until_stdin_ends:
            signals.interrupt_at_the_end_of_stdin()
        if self.broker not in _BROKERS:
            raise typer.BadParameter(f"choose {' or '.join(_BROKERS)}", param_hint="--broker")
        server = Server(self.broker, self.port, self.registry_port, self.host, self.advertise)
        server.check()
        with ServedKafka(server) as kafka:
            code = self.work(kafka)
        if code == signals.exit_code(SIGTERM):
            with suppress(OSError):
                sys.stdout.flush()
            signals.leave(SIGTERM)  # all is closed, and to free what a call has in memory takes a second
        return code


_EXAMPLES, _CONSUMER, _SCENARIO, _MESSAGES = "Examples", "Consumer", "One scenario", "Messages"


def _complete_behaviour(incomplete: str) -> list[str]:
    from ticdc_emit.check.behaviours import BEHAVIOURS
    from ticdc_emit.traffic.scenarios.files import file_scenarios

    return one_of(*(each.name for each in BEHAVIOURS), *(kind.name for kind in file_scenarios()))(incomplete)


@command(
    app,
    "ticdc-emit check --list",
    "ticdc-emit check --command 'java -jar consumer.jar' --protocol simple --junit check.xml",
    "ticdc-emit check --kafka embedded --tables-command ./tables.sh --only delivery",
    "ticdc-emit check --only redelivery --send 'kafka://127.0.0.1:9092/t?protocol=canal-json'",
    "ticdc-emit check --only date-rollover --send 'file:///tmp/lake?protocol=csv' --stage 1",
)
@dataclass(frozen=True, kw_only=True)
class Check(FeedOptions, OutputOptions):
    """Check whether a consumer survives TiCDC: types, schema changes, redelivery, and what broke others before.

    Without a consumer: show, send or save the examples. The same seed makes the same ones.
    """

    list_all: bool = option("List all behaviours.", False, "--list", panel=_EXAMPLES)
    only: Sequence[str] = option(
        "Name of a behaviour, or of a group of them. Repeat it for more. Default: all.",
        (),
        "--only",
        panel=_EXAMPLES,
        metavar="NAME",
        autocompletion=_complete_behaviour,
    )
    seed: int = option("The same seed makes the same examples.", 0, panel=_EXAMPLES, min=0)
    examples: int = option("How many random histories to draw.", 100, panel=_EXAMPLES, min=1)
    seconds: float | None = option(
        "Do not begin behaviours after this time.", None, panel=_EXAMPLES, metavar="SECONDS", min=0
    )
    schema: str | None = option(
        "DDL of the tables, or a sample: bank, shop … Default: random tables.",
        None,
        panel=_EXAMPLES,
        metavar="FILE.sql",
        autocompletion=complete_schema,
    )
    schema_dialect: str | None = dialect_option(_EXAMPLES)
    save: Path | None = option(
        "Write the examples as files, for tests elsewhere.", None, panel=_EXAMPLES, metavar="DIR", file_okay=False
    )
    command: str | None = option(
        "The consumer: a program that answers each example, a line on stdin, with a line on stdout.",
        None,
        panel=_CONSUMER,
        metavar="COMMAND",
    )
    kafka: str | None = option(
        "Put the messages of each example on new topics of this broker, or of an embedded one.",
        None,
        panel=_CONSUMER,
        metavar="HOST:PORT|embedded",
    )
    tables_command: str | None = option(
        "With --kafka: the program that prints the consumer's tables after each example.",
        None,
        panel=_CONSUMER,
        metavar="COMMAND",
    )
    canonical: bool = option(
        "Expect ENUM, SET and binary values as canonical text, not as in messages.", False, panel=_CONSUMER
    )
    answer_timeout: float = option("How long an answer may take.", 60.0, panel=_CONSUMER, metavar="SECONDS", min=0.001)
    shrink: float = option(
        "How long to look for smaller examples of a failure.", 20.0, panel=_CONSUMER, metavar="SECONDS", min=0
    )
    send: str | None = uri_option(
        "TiCDC's sink URI: send the messages, or write the files, of one scenario.", None, "--send", panel=_SCENARIO
    )
    stage: int | None = option(
        "Write or show only this stage of a scenario of files. Default: all stages.", None, panel=_SCENARIO, metavar="N"
    )
    schema_registry: str | None = registry_option()
    protocol: str | None = protocol_option("Default: the changefeed file's, else canal-json.")
    sink_uri: str | None = uri_option(
        "The changefeed's sink URI, for its options; nothing is sent.",
        None,
        "--sink-uri",
        panel=CHANGEFEED,
        sends=False,
    )
    junit: Path | None = option(
        "Write the verdict as JUnit's XML.", None, panel=OUTPUT, metavar="FILE", dir_okay=False, callback=new_file
    )
    report: Path | None = report_option()

    def run(self) -> int:
        if self.sink_uri is not None and self.protocol is not None:
            raise typer.BadParameter("the sink URI names the protocol", param_hint="--protocol")
        return super().run()


@command(
    app,
    "ticdc-emit tail --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json' --follow",
    "ticdc-emit tail --brokers 127.0.0.1:9092 --topic t --protocol canal-json --table 'shop.*' --op update",
)
@dataclass(frozen=True, kw_only=True)
class Tail(TopicOptions, OutputOptions):
    """Show the messages of topics, decoded, one line per message."""

    follow: bool = option("Continue with new messages as they arrive.", False, "--follow", "-f", panel=_MESSAGES)
    start: str | None = option(
        "beginning: all messages; the default with --table or --op, but not --follow.",
        None,
        "--from",
        panel=_MESSAGES,
        metavar="beginning",
    )
    last: int | None = option(
        "The last N messages of each partition. Default: 10.", None, panel=_MESSAGES, metavar="N", min=0
    )
    tables: Sequence[str] = option("Pattern of schema.table. Repeat it for more.", (), "--table", panel=_MESSAGES)
    ops: Sequence[str] = option(
        "insert, update, delete, ddl, watermark, bootstrap or unreadable. Repeat it for more.",
        (),
        "--op",
        panel=_MESSAGES,
        autocompletion=one_of("insert", "update", "delete", "ddl", "watermark", "bootstrap", "unreadable"),
    )
    claims: bool = option("Read large messages from the claim-check storage.", False, panel=_MESSAGES)
    as_json: bool = option("One JSON object per line, for programs.", False, "--json", panel=OUTPUT)

    def run(self) -> int:
        if self.last is not None and self.start is not None:
            raise typer.BadParameter("give either --last or --from", param_hint="--last")
        return self.work(module="topics", function="tail")


@command(
    app,
    "ticdc-emit verify /tmp/out --protocol debezium",
    "ticdc-emit verify --sink-uri 'kafka://127.0.0.1:9092/t?protocol=canal-json'",
)
@dataclass(frozen=True, kw_only=True)
class Verify(TopicOptions, OutputOptions):
    """Check all that the messages of topics can show. Exit 1 if a check fails or there are no messages."""

    claims: bool = option("Also check that the claim-check storage has its objects.", False, panel=_MESSAGES)
    show: int = option("How many findings of each invariant to print.", 20, panel=_MESSAGES, min=1)
    allow_empty: bool = option("Exit 0 even if there are no messages.", False, panel=_MESSAGES)
    empty_source: bool = option("The tables had no rows before the first message.", False, panel=_MESSAGES)
    report: Path | None = report_option()
    schema: Path | None = sql_file("DDL of the source's tables: compare keys, columns and labels.", panel=_MESSAGES)
    expect: Sequence[str] = option(
        "What the sender printed with --json: compare the changes of each table. Repeat it for more runs.",
        (),
        "--expect",
        panel=_MESSAGES,
        metavar="REPORT",
    )

    def run(self) -> int:
        return self.work(module="topics", function="verify")
