"""``python -m tests.conformance``: run golden vectors and show what matched."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from ticdc_emit.cli.console import print_json, result_console
from ticdc_emit.cli.options import OUTPUT, PROTOCOLS, OutputOptions, argument, command, option
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.hints import counted

from .report import Report, Tally
from .run import run_conformance

__all__ = ["main"]

app = typer.Typer(pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]})


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program and exit; ``arguments`` default to the process's own."""
    try:
        app(args=arguments, prog_name="python -m tests.conformance")
    except TicdcEmitError as error:
        print(f"conformance: error: {error}", file=sys.stderr)
        sys.exit(2)


@command(
    app,
    "python -m tests.conformance tests/vectors --protocol canal-json",
    "python -m tests.conformance my_vectors/ more.json.gz --json --dump messages.jsonl",
)
@dataclass(frozen=True, kw_only=True)
class Conformance(OutputOptions):
    """Run golden vectors and compare byte for byte. Exit 1 on any mismatch."""

    paths: list[Path] = argument("Vector files, or folders of them.", metavar="PATH…")
    protocol: str | None = option(f"Only variants of this protocol: {PROTOCOLS}.", None)
    release: str | None = option(
        "Release of the files, such as 8.5.3. Default: the one their folder is named after, else classic.", None
    )
    jobs: int = option("How many processes run the files.", 1, min=1)
    dump: Path | None = option(
        "Write every produced message as JSON Lines.", None, panel=OUTPUT, metavar="FILE", dir_okay=False
    )
    show: int = option("How many mismatches to print.", 5, panel=OUTPUT, min=0)

    def run(self) -> int:
        with self.dump.open("w", encoding="utf-8") if self.dump else nullcontext() as stream:
            stderr = Console(stderr=True)
            shown = partial(
                track, description="conformance", console=stderr, transient=True, disable=not stderr.is_terminal
            )
            report = run_conformance(
                self.paths, protocol=self.protocol, release=self.release, dump=stream, progress=shown, jobs=self.jobs
            )
        if self.as_json:
            print_json(report.summary())
        else:
            console = result_console()
            (_print_table if console.is_terminal else _print_lines)(console, report)
            _print_left_out(console, report)
            _print_mismatches(console, report, self.show)
            _print_verdict(console, report)
        return 0 if report.ok else 1


def _sum(tallies: dict[str, Tally]) -> Tally:
    return Tally(sum(tally.matched for tally in tallies.values()), sum(tally.total for tally in tallies.values()))


def _print_lines(console: Console, report: Report) -> None:
    for protocol, variants in report.protocols().items():
        total = _sum(variants)
        _line(console, f"{protocol} {total.matched}/{total.total}")
        for name, tally in variants.items():
            _line(console, f"  {name} {tally.matched}/{tally.total}")
    _line(console, f"catalog {report.catalog.matched}/{report.catalog.total}")
    if report.registrations.total:
        _line(console, f"registrations {report.registrations.matched}/{report.registrations.total}")
    if report.routes.total:
        _line(console, f"routes {report.routes.matched}/{report.routes.total}")
    if report.verdicts.total:
        _line(console, f"verdicts {report.verdicts.matched}/{report.verdicts.total}")
    if report.texts.total:
        _line(console, f"texts {report.texts.matched}/{report.texts.total}")
    if report.statements.total:
        _line(console, f"statements {report.statements.matched}/{report.statements.total}")


def _print_table(console: Console, report: Report) -> None:
    table = Table(title=f"{report.files} vector files", title_justify="left")
    table.add_column("protocol / variant", no_wrap=True)
    table.add_column("matched", justify="right")
    table.add_column("total", justify="right")
    for protocol, variants in report.protocols().items():
        _row(table, protocol, _sum(variants), "bold")
        for name, tally in variants.items():
            _row(table, f"  {name}", tally, "")
    table.add_section()
    _row(table, "catalog (table_info of DDL events)", report.catalog, "bold")
    if report.registrations.total:
        _row(table, "registrations (requests to the schema registry)", report.registrations, "bold")
    if report.routes.total:
        _row(table, "routes (events of each dispatcher configuration)", report.routes, "bold")
    if report.verdicts.total:
        _row(table, "verdicts (jobs and rows of a changefeed)", report.verdicts, "bold")
    if report.texts.total:
        _row(table, "texts (DDL as each release prints it)", report.texts, "bold")
    if report.statements.total:
        _row(table, "statements (cases of SQL against TiDB's rows)", report.statements, "bold")
    console.print(table)


def _row(table: Table, name: str, tally: Tally, style: str) -> None:
    colour = "green" if tally.matched == tally.total else "red"
    table.add_row(Text(name, style), Text(f"{tally.matched}", colour), Text(f"{tally.total}"))


def _print_left_out(console: Console, report: Report) -> None:
    for what, left in report.left_out.items():
        counts = {"variant": left.variants, "event": left.events}
        shown = ", ".join(counted(count, name) for name, count in counts.items() if count)
        _line(console, f"left out: {what}: {shown}", "yellow")


def _print_mismatches(console: Console, report: Report, show: int) -> None:
    for mismatch in report.mismatches[:show]:
        _line(console, "")
        _line(console, f"mismatch: {mismatch.title}", "bold red")
        for line in mismatch.detail.splitlines():
            _line(console, f"  {line}")
    hidden = len(report.mismatches) - show
    if hidden > 0:
        _line(console, f"\n… and {hidden} more (--show {len(report.mismatches)} prints all, --json lists them)")


def _print_verdict(console: Console, report: Report) -> None:
    total = report.total
    if report.ok:
        _line(console, f"all matched: {total.matched}/{total.total}", "bold green")
    else:
        mismatches = counted(len(report.mismatches), "mismatch", "mismatches")
        _line(console, f"\n{mismatches}, matched {total.matched}/{total.total}", "bold red")


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style))


if __name__ == "__main__":
    main()
