"""``python -m tests.conformance``: run golden vectors and show what matched."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import typer

from ticdc_emit.cli.console import print_json
from ticdc_emit.cli.options import OUTPUT, PROTOCOLS, OutputOptions, argument, command, option
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.hints import counted

from .report import COUNTED, Report
from .run import run_conformance

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
            report = run_conformance(
                self.paths, protocol=self.protocol, release=self.release, dump=stream, jobs=self.jobs
            )
        if self.as_json:
            print_json(report.summary())
        else:
            _print_counts(report)
            _print_left_out(report)
            _print_mismatches(report, self.show)
            _print_verdict(report)
        return 0 if report.ok else 1


def _print_counts(report: Report) -> None:
    for protocol, variants in report.protocols().items():
        matched, total = (sum(getattr(tally, name) for tally in variants.values()) for name in ("matched", "total"))
        print(f"{protocol} {matched}/{total}")
        for name, tally in variants.items():
            print(f"  {name} {tally.matched}/{tally.total}")
    for name in COUNTED:
        tally = getattr(report, name)
        if tally.total or name == "catalog":
            print(f"{name} {tally.matched}/{tally.total}")


def _print_left_out(report: Report) -> None:
    for what, left in report.left_out.items():
        counts = {"variant": left.variants, "event": left.events}
        shown = ", ".join(counted(count, name) for name, count in counts.items() if count)
        print(f"left out: {what}: {shown}")


def _print_mismatches(report: Report, show: int) -> None:
    for mismatch in report.mismatches[:show]:
        print("")
        print(f"mismatch: {mismatch.title}")
        for line in mismatch.detail.splitlines():
            print(f"  {line}")
    hidden = len(report.mismatches) - show
    if hidden > 0:
        print(f"\n… and {hidden} more (--show {len(report.mismatches)} prints all, --json lists them)")


def _print_verdict(report: Report) -> None:
    total = report.total
    if report.ok:
        print(f"all matched: {total.matched}/{total.total}")
    else:
        mismatches = counted(len(report.mismatches), "mismatch", "mismatches")
        print(f"\n{mismatches}, matched {total.matched}/{total.total}")


if __name__ == "__main__":
    main()
