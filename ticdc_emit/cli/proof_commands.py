"""The commands that check and measure the library, and their options: ``conformance`` and ``bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ticdc_emit.cli.options import PROTOCOLS, AsJson, Command, examples, uri_option

__all__ = ["add_proof_commands"]


def conformance(
    paths: Annotated[list[Path], typer.Argument(help="Vector files, or folders of them.", metavar="PATH…")],
    protocol: Annotated[str | None, typer.Option(help=f"Only variants of this protocol: {PROTOCOLS}.")] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="Profile of the files: classic or next. Default: the folder's name, else classic."),
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


def bench(
    as_json: AsJson = False,
    quick: Annotated[bool, typer.Option("--quick", help="One short round: a smoke test, rough figures.")] = False,
    end_to_end: Annotated[bool, typer.Option(help="Also measure Spark to Kafka.")] = True,
    rows: Annotated[int, typer.Option(help="Rows of the end-to-end run.", min=1)] = 1_000_000,
    table: Annotated[str, typer.Option(help="Table of the end-to-end run: orders or sbtest.")] = "orders",
    sink_uri: Annotated[
        str | None, uri_option("--sink-uri", "URI", "Kafka of the end-to-end run. Default: an embedded one.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Profile of the end-to-end run: classic or next. Default: classic.")
    ] = None,
) -> None:
    """Measure rows per CPU-second from Arrow batch to message batch, against TiCDC's Go encoders."""
    from ticdc_emit.cli.bench import run

    if table not in ("orders", "sbtest"):
        raise typer.BadParameter("choose orders or sbtest", param_hint="--table")
    code = run(
        as_json=as_json,
        quick=quick,
        end_to_end=end_to_end,
        rows=rows,
        table=table,
        sink_uri=sink_uri,
        profile=profile,
    )
    raise typer.Exit(code)


def add_proof_commands(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command(
        cls=Command,
        epilog=examples(
            "ticdc-emit conformance tests/vectors --protocol canal-json",
            "ticdc-emit conformance my_vectors/ more.json.gz --json --dump messages.jsonl",
        ),
    )(conformance)
    app.command(cls=Command, epilog=examples("ticdc-emit bench", "ticdc-emit bench --quick --no-end-to-end --json"))(
        bench
    )
