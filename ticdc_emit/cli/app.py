"""The commands and their options. Each command's work is imported when it runs, so that ``--help`` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ticdc_emit.cli.options import AsJson, Registry
from ticdc_emit.cli.topic_commands import add_topic_commands

__all__ = ["app"]

app = typer.Typer(
    name="ticdc-emit",
    help="Emit the exact bytes that TiCDC would put on Kafka, without a TiDB cluster.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def conformance(
    paths: Annotated[list[Path], typer.Argument(help="Vector files, or folders of them.", metavar="PATH…")],
    protocol: Annotated[str | None, typer.Option(help="Only variants of this protocol.")] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="Lineage of the files: classic or next. Default: the folder's name, else classic."),
    ] = None,
    as_json: AsJson = False,
    dump: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every produced message as JSON Lines.", dir_okay=False)
    ] = None,
    show: Annotated[int, typer.Option(help="How many mismatches to print.", min=0)] = 5,
) -> None:
    """Run golden vectors and compare byte for byte. Exit 1 on any mismatch."""
    from ticdc_emit.cli.conformance import run

    raise typer.Exit(run(paths, protocol=protocol, profile=profile, as_json=as_json, dump=dump, show=show))


@app.command()
def bench(
    as_json: AsJson = False,
    quick: Annotated[bool, typer.Option("--quick", help="One short round: a smoke test, rough figures.")] = False,
    end_to_end: Annotated[bool, typer.Option(help="Also measure Spark to Kafka.")] = True,
    rows: Annotated[int, typer.Option(help="Rows of the end-to-end run.", min=1)] = 1_000_000,
    table: Annotated[str, typer.Option(help="Table of the end-to-end run: orders or sbtest.")] = "orders",
    sink_uri: Annotated[
        str | None, typer.Option("--sink-uri", help="Kafka of the end-to-end run. Default: an embedded one.")
    ] = None,
) -> None:
    """Measure rows per CPU-second from Arrow batch to message batch, against TiCDC's Go encoders."""
    from ticdc_emit.cli.bench import run

    if table not in ("orders", "sbtest"):
        raise typer.BadParameter("choose orders or sbtest", param_hint="--table")
    code = run(as_json=as_json, quick=quick, end_to_end=end_to_end, rows=rows, table=table, sink_uri=sink_uri)
    raise typer.Exit(code)


@app.command()
def demo(
    protocol: Annotated[str, typer.Option(help="Protocol, unless the sink URI names one.")] = "canal-json",
    rows: Annotated[int, typer.Option(help="Row changes to make.", min=1)] = 20_000,
    sink_uri: Annotated[
        str | None, typer.Option("--sink-uri", help="Where to, in TiCDC's form. Default: an embedded Kafka.")
    ] = None,
    schema_registry: Registry = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same history.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Replay a table's history through Spark into Kafka and show the messages.

    A protocol that needs a schema registry gets an embedded one unless you name yours.
    """
    from ticdc_emit.cli.demo import run

    code = run(
        protocol=protocol, rows=rows, sink_uri=sink_uri, schema_registry=schema_registry, seed=seed, as_json=as_json
    )
    raise typer.Exit(code)


@app.command()
def emit(
    schema: Annotated[Path, typer.Option(metavar="FILE.sql", help="DDL of the tables.", exists=True, dir_okay=False)],
    input_path: Annotated[str, typer.Option("--input", metavar="PATH", help="Parquet, CSV or JSON lines.")],
    sink_uri: Annotated[str, typer.Option("--sink-uri", metavar="URI", help="Where to, in TiCDC's form.")],
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="TiCDC's changefeed file.", exists=True, dir_okay=False)
    ] = None,
    table: Annotated[str | None, typer.Option(help="schema.name, where the file has several tables.")] = None,
    input_format: Annotated[
        str | None, typer.Option("--format", help="parquet, csv or json. Default: from the name.")
    ] = None,
    commit_time_column: Annotated[
        str | None, typer.Option(help="Of plain rows: the column with each row's commit time or TSO.")
    ] = None,
    commit_ts: Annotated[
        int | None, typer.Option(help="Of plain rows without such a column: the TSO of all. Default: now.", min=1)
    ] = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone, for TIMESTAMP values.")] = "UTC",
    schema_registry: Registry = None,
    registry_ca: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PEM file of the registry's own authorities.", dir_okay=False)
    ] = None,
    registry_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PEM file of the client's certificate.", dir_okay=False)
    ] = None,
    registry_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PEM file of the client's key.", dir_okay=False)
    ] = None,
    as_json: AsJson = False,
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
        schema_registry=schema_registry,
        registry_tls=(registry_ca, registry_cert, registry_key),
        as_json=as_json,
    )
    raise typer.Exit(code)


@app.command()
def generate(
    schema: Annotated[
        str,
        typer.Option(
            metavar="FILE.sql", help="DDL of the tables, or a sample: bank, shop, sysbench, wide, all_types …"
        ),
    ],
    rows: Annotated[int, typer.Option(help="Row changes to make.", min=1)] = 20_000,
    rate: Annotated[
        float | None, typer.Option(help="Changes per second of commit time. Default: 1,000.", min=0.001)
    ] = None,
    ddl_rate: Annotated[float, typer.Option(help="Schema changes per second of commit time.", min=0)] = 0.0,
    seed: Annotated[int, typer.Option(help="The same seed makes the same traffic.")] = 0,
    table: Annotated[
        list[str] | None, typer.Option(help="schema.name; only this table. May be given again for more.")
    ] = None,
    transaction_size: Annotated[float, typer.Option(help="Changes with one commit_ts, on average.", min=1)] = 1.0,
    updates: Annotated[float, typer.Option(help="Updates of a row, on average.", min=0)] = 3.0,
    deletes: Annotated[float, typer.Option(help="Share of rows that are deleted in the end.", min=0, max=1)] = 0.5,
    skew: Annotated[float, typer.Option(help="Zipf exponent of updates over rows; 0: evenly.", min=0)] = 1.0,
    protocol: Annotated[str, typer.Option(help="Protocol, unless the sink URI names one.")] = "canal-json",
    sink_uri: Annotated[
        str | None, typer.Option("--sink-uri", help="Where to, in TiCDC's form. Default: an embedded Kafka.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="TiCDC's changefeed file.", exists=True, dir_okay=False)
    ] = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone.")] = "UTC",
    schema_registry: Registry = None,
    stream: Annotated[bool, typer.Option("--stream", help="As a Structured Streaming query.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Keep to --rate in wall time too (a stream).")] = False,
    as_json: AsJson = False,
) -> None:
    """Generate traffic from table schemas alone: inserts, updates, deletes and schema changes."""
    from ticdc_emit.cli.generate import Wanted, run

    settings = {
        "rate": rate,
        "ddl_rate": ddl_rate,
        "seed": seed,
        "tables": table,
        "transaction_size": transaction_size,
        "updates": updates,
        "deletes": deletes,
        "skew": skew,
        "time_zone": time_zone,
    }
    code = run(
        Wanted(schema, rows, stream, live, settings),
        protocol=protocol,
        sink_uri=sink_uri,
        config=config,
        schema_registry=schema_registry,
        as_json=as_json,
    )
    raise typer.Exit(code)


@app.command()
def replay(
    schema: Annotated[
        Path,
        typer.Option(metavar="FILE.sql", help="DDL of the tables before the history.", exists=True, dir_okay=False),
    ],
    table: Annotated[
        list[str],
        typer.Option(metavar="NAME=PATH", help="schema.name and its source; repeat it. jdbc:…#table for a database."),
    ],
    sink_uri: Annotated[str, typer.Option("--sink-uri", metavar="URI", help="Where to, in TiCDC's form.")],
    mode: Annotated[str, typer.Option(help="What sources are: snapshot, diff, validity or operations.")] = "operations",
    before: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATH", help="The rows before: of diff, and of operations where they are known."),
    ] = None,
    time_column: Annotated[str | None, typer.Option(help="The column with each row's commit time.")] = None,
    time_unit: Annotated[str, typer.Option(help="Of times that are whole numbers: tso, s, ms or us.")] = "tso",
    at: Annotated[
        str | None, typer.Option(help="Of snapshots without such a column: ISO time or TSO of all. Default: now.")
    ] = None,
    keys: Annotated[str | None, typer.Option(help="Key columns, with commas. Default: each table's own key.")] = None,
    op: Annotated[str, typer.Option(help="Of operations: the column that says what happened.")] = "op",
    order_by: Annotated[
        list[str] | None, typer.Option(help="Of operations: orders changes of one moment; a column or SQL expression.")
    ] = None,
    transaction: Annotated[str | None, typer.Option(help="Of operations: the column that names transactions.")] = None,
    valid_from: Annotated[
        str, typer.Option(help="Of validity: the column from when on a row was valid.")
    ] = "valid_from",
    valid_to: Annotated[str, typer.Option(help="Of validity: the column until when it was, or NULL.")] = "valid_to",
    input_format: Annotated[
        str | None, typer.Option("--format", help="parquet, csv, json, delta, iceberg … Default: from the name.")
    ] = None,
    ddl: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.sql", help="Later DDL: statements under '-- at <time>'.", exists=True, dir_okay=False
        ),
    ] = None,
    speed: Annotated[
        float | None, typer.Option(help="1440: a day in a minute; 1: as it was. Default: as fast as it goes.")
    ] = None,
    slice_: Annotated[
        str | None, typer.Option("--slice", help="Event time of one batch: 10m, 1h. Default: 5 s at --speed, or all.")
    ] = None,
    state_uri: Annotated[
        str | None, typer.Option("--state-uri", metavar="URI", help="Where a stopped replay finds how far it came.")
    ] = None,
    watermark_interval: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Event time between watermarks within a slice.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="TiCDC's changefeed file.", exists=True, dir_okay=False)
    ] = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone, for TIMESTAMP values.")] = "UTC",
    schema_registry: Registry = None,
    as_json: AsJson = False,
) -> None:
    """Replay history: snapshots, slowly changing tables and change tables as CDC, at their own pace or faster.

    Ctrl-C stops behind the slice at hand; with --state-uri the same command goes on there.
    """
    from ticdc_emit.cli.replay import Asked, run
    from ticdc_emit.cli.replay_data import MODES, Told

    if mode not in MODES:
        raise typer.BadParameter(f"choose {', '.join(MODES)}", param_hint="--mode")
    if time_unit not in ("tso", "s", "ms", "us"):
        raise typer.BadParameter("choose tso, s, ms or us", param_hint="--time-unit")
    told = Told(
        mode,
        time_column=time_column,
        time_unit=time_unit,  # type: ignore[arg-type]  # checked above
        at=at,
        keys=[name.strip() for name in keys.split(",")] if keys else (),
        op=op,
        order_by=order_by or (),
        transaction=transaction,
        valid_from=valid_from,
        valid_to=valid_to,
        format=input_format,
    )
    asked = Asked(
        schema,
        table,
        before or (),
        sink_uri,
        told,
        config=config,
        ddl=ddl,
        speed=speed,
        slice=slice_,
        state_uri=state_uri,
        watermark_interval=watermark_interval,
        time_zone=time_zone,
        schema_registry=schema_registry,
        as_json=as_json,
    )
    raise typer.Exit(run(asked))


add_topic_commands(app)
