"""The command ``replay`` and its options. Its work is imported when it runs, so that ``--help`` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ticdc_emit.cli.options import (
    AsJson,
    BadRows,
    BadRowsPath,
    Html,
    Lineage,
    RegistryOrVariable,
    SinkUri,
    SparkSettings,
    Strict,
    examples,
    grouped,
    one_of,
    spark_settings,
    uri_option,
)

__all__ = ["add_replay_command"]


def _complete_mode(incomplete: str) -> list[str]:
    from ticdc_emit.cli.replay_data import MODES

    return one_of(*MODES)(incomplete)


def replay(
    schema: Annotated[
        Path,
        typer.Option(metavar="FILE.sql", help="DDL of the tables before the history.", exists=True, dir_okay=False),
    ],
    table: Annotated[
        list[str],
        typer.Option(metavar="NAME=PATH", help="schema.name and its source; repeat it. jdbc:…#table for a database."),
    ],
    sink_uri: SinkUri,
    mode: Annotated[
        str,
        typer.Option(
            help="Kind of the sources: snapshot, snapshots, diff, validity or operations.",
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
    keys: Annotated[str | None, typer.Option(help="Key columns, with commas. Default: each table's key.")] = None,
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
    input_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="parquet, csv, json, delta, iceberg … Default: from the name.",
            autocompletion=one_of("parquet", "csv", "json", "orc", "delta", "iceberg", "jdbc"),
        ),
    ] = None,
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
    state_uri: Annotated[
        str | None,
        uri_option("--state-uri", "URI", "Folder for the state of a replay, so that it can resume after a stop."),
    ] = None,
    watermark_interval: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Event time between watermarks within a slice.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="TiCDC's changefeed file.", exists=True, dir_okay=False)
    ] = None,
    time_zone: Annotated[str, typer.Option(help="The changefeed's time zone, for TIMESTAMP values.")] = "UTC",
    profile: Lineage = None,
    schema_registry: RegistryOrVariable = None,
    bad_rows: BadRows = "refuse",
    bad_rows_path: BadRowsPath = None,
    spark: SparkSettings = None,
    html: Html = None,
    as_json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Replay history: snapshots, slowly changing tables and change tables as CDC, at their own pace or faster.

    With --slice or --speed, Ctrl-C stops after the current slice; with --state-uri the same command resumes there.
    """
    from ticdc_emit.cli.replay import CommandOptions, run
    from ticdc_emit.cli.replay_data import MODES, ColumnOptions

    if mode not in MODES:
        raise typer.BadParameter(f"choose {', '.join(MODES)}", param_hint="--mode")
    if time_unit not in ("tso", "s", "ms", "us"):
        raise typer.BadParameter("choose tso, s, ms or us", param_hint="--time-unit")
    columns = ColumnOptions(
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
    options = CommandOptions(
        schema,
        table,
        before or (),
        sink_uri,
        columns,
        config=config,
        ddl=ddl,
        speed=speed,
        slice=slice_,
        state_uri=state_uri,
        watermark_interval=watermark_interval,
        time_zone=time_zone,
        profile=profile,
        schema_registry=schema_registry,
        bad_rows=bad_rows,
        bad_rows_path=bad_rows_path,
        spark=spark_settings(spark),
        html=html,
        as_json=as_json,
    )
    raise typer.Exit(run(options))


def add_replay_command(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command(
        cls=grouped(
            {
                "Source": "schema table mode before input_format keys op order_by transaction valid_from valid_to "
                "bad_rows bad_rows_path",
                "Time": "time_column time_unit at ddl speed slice_ state_uri watermark_interval",
                "Sink": "sink_uri config time_zone profile schema_registry",
                "Spark": "spark",
            }
        ),
        epilog=examples(
            "ticdc-emit replay --schema tables.sql --table shop.orders=changes.parquet --sink-uri "
            "'kafka://127.0.0.1:9092/t?protocol=canal-json'",
            "ticdc-emit replay --mode diff --schema tables.sql --before shop.orders=day1.parquet "
            "--table shop.orders=day2.parquet --sink-uri 'file:///tmp/out?protocol=canal-json'",
            "ticdc-emit replay --mode snapshots --time-column dt --schema tables.sql "
            "--table shop.stock=daily/ --sink-uri 'file:///tmp/out?protocol=canal-json'",
            "ticdc-emit replay --speed 1440 --schema tables.sql --table shop.orders=changes.parquet --sink-uri "
            "'kafka://127.0.0.1:9092/t?protocol=simple'",
        ),
    )(replay)
