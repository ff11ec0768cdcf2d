"""``python -m benchmarks``: measure and print."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from ticdc_emit.cli.console import print_json, result_console, step
from ticdc_emit.cli.options import OutputOptions, command, option, sink_uri_option
from ticdc_emit.cli.session import local_spark
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import TicdcEmitError

from .end_to_end import EndToEnd, measure_end_to_end
from .lines import ONE_TABLE_BAR
from .run import BenchReport, LineResult, run_bench

__all__ = ["main"]

_GOOD = 1.5  # times the bar
_LEAST_END_TO_END = 0.5
_FEED = "kafka://{brokers}/ticdc-bench?protocol=canal-json&enable-tidb-extension=true"

app = typer.Typer(pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]})


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program and exit; ``arguments`` default to the process's own."""
    try:
        app(args=arguments, prog_name="python -m benchmarks")
    except TicdcEmitError as error:
        print(f"benchmarks: error: {error}", file=sys.stderr)
        sys.exit(2)


@command(app, "python -m benchmarks", "python -m benchmarks --quick --no-end-to-end --json")
@dataclass(frozen=True, kw_only=True)
class Bench(OutputOptions):
    """Measure rows per CPU-second from Arrow batch to message batch, against TiCDC's Go encoders."""

    quick: bool = option("One short round: a smoke test, rough figures.", False)
    end_to_end: bool = option("Also measure Spark to Kafka.", True)
    rows: int = option("Rows of the end-to-end run.", 1_000_000, min=1)
    table: str = option("Table of the end-to-end run: orders or sbtest.", "orders")
    sink_uri: str | None = sink_uri_option("Kafka of the end-to-end run. Default: an embedded one.")
    release: str | None = option("Release of the end-to-end run: classic or next. Default: classic.", None)

    def run(self) -> int:
        if self.table not in ("orders", "sbtest"):
            raise typer.BadParameter("choose orders or sbtest", param_hint="--table")
        if self.end_to_end:  # what is refused is refused before anything is measured
            load_changefeed(self.sink_uri or _FEED.format(brokers="127.0.0.1:9092"), release=self.release)
        on = Console(stderr=True)
        bar = partial(track, description="bench", console=on, transient=True, disable=not on.is_terminal)
        report = run_bench(quick=self.quick, progress=bar)
        if self.end_to_end:
            with step(f"end to end, {self.rows:,} rows of {self.table}", quiet=self.as_json):
                report = replace(report, end_to_end=_end_to_end(self.table, self.rows, self.sink_uri, self.release))
        if self.as_json:
            print_json(report.as_dict())
            return 0
        console = result_console()
        (_print_table if console.is_terminal else _print_lines)(console, report)
        for variant, median in report.medians().items():
            console.print(Text(f"{variant}: median {median:.2f} x Go", _style(median, ONE_TABLE_BAR)))
        if report.end_to_end is not None:
            _print_end_to_end(console, report.end_to_end)
        return 0


def _end_to_end(table: str, rows: int, sink_uri: str | None, release: str | None) -> EndToEnd:
    from ticdc_emit.delivery.kafka import KafkaSink
    from ticdc_emit.testing import EmbeddedKafka

    with ExitStack() as stack:
        if sink_uri is None:
            kafka = stack.enter_context(EmbeddedKafka())
            changefeed = load_changefeed(_FEED.format(brokers=kafka.bootstrap), release=release)
            sink = kafka.sink()
        else:
            changefeed = load_changefeed(sink_uri, release=release)
            sink = KafkaSink.of(changefeed.kafka)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ticdc-emit-bench-")))
        spark = stack.enter_context(local_spark("bench", cores="2"))
        (measured,) = measure_end_to_end(spark, changefeed, sink, folder, table=table, rows=rows)
        return measured


def _style(ratio: float | None, bar: float | None) -> str:
    if ratio is None or bar is None:
        return ""
    if bar == ONE_TABLE_BAR and ratio < _GOOD * bar:
        return "yellow" if ratio >= bar else "red"
    return "green" if ratio >= bar else "red"


def _cells(line: LineResult) -> tuple[str, str, str]:
    ratio = "" if line.ratio_to_go is None else f"{line.ratio_to_go:.2f}"
    return f"{line.rows_per_cpu_s:,.0f}", f"{line.x_unit:.3f}", ratio


def _print_table(console: Console, report: BenchReport) -> None:
    table = Table(title=f"unit: {report.unit:,.0f} rows per CPU-second (json.dumps)", title_justify="left")
    table.add_column("line", no_wrap=True)
    for name in ("rows per CPU-s", "x unit", "x Go"):
        table.add_column(name, justify="right")
    for line in report.lines:
        rate, x_unit, ratio = _cells(line)
        table.add_row(line.name, rate, x_unit, Text(ratio, _style(line.ratio_to_go, line.bar)))
    console.print(table)


def _print_lines(console: Console, report: BenchReport) -> None:
    console.print(Text(f"unit {report.unit:,.0f} rows per CPU-second (json.dumps)"))
    width = max(len(line.name) for line in report.lines)
    for line in report.lines:
        rate, x_unit, ratio = _cells(line)
        bar = f"{ratio:>6} x Go (bar {line.bar})" if ratio else ""
        console.print(Text(f"{line.name:<{width}} {rate:>12} rows/cpu-s {x_unit:>8} x unit {bar}".rstrip()))


def _print_end_to_end(console: Console, result: EndToEnd) -> None:
    style = "green" if result.ratio_to_lower >= _LEAST_END_TO_END else "red"
    console.print(
        Text(
            f"end to end ({result.rows:,} rows of {result.table}): {result.library:,.0f} rows/s; "
            f"Spark with an identity mapInArrow {result.spark_identity:,.0f}, in order {result.spark_ordered:,.0f}, "
            f"raw produce {result.raw_produce:,.0f}; {result.ratio_to_lower:.2f} of the lower of the last two",
            style,
        )
    )


if __name__ == "__main__":
    main()
