"""``ticdc-emit verify``: check a topic or a file against every invariant."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ticdc_emit.cli.console import print_json, result_console, step
from ticdc_emit.cli.html import Pictures
from ticdc_emit.cli.topic_source import SourceOptions, open_source
from ticdc_emit.config.secrets import printable
from ticdc_emit.consume.figures import Points
from ticdc_emit.consume.invariants import Finding
from ticdc_emit.consume.verify import INVARIANTS, Verifier
from ticdc_emit.hints import counted

__all__ = ["run"]

_KINDS = {
    "row": "row",
    "ddl": "DDL message",
    "watermark": "watermark",
    "bootstrap": "BOOTSTRAP message",
    "unreadable": "unreadable message",
}


def run(options: SourceOptions, *, claims: bool, show: int, allow_empty: bool, html: Path | None, as_json: bool) -> int:
    """Read all messages that exist now and print the problems; return 1 if there are any.

    ``claims``: also check that claim-check objects exist. ``show``: how many findings of each invariant to print.
    ``allow_empty``: return 0, not 1, if there are no messages. ``html``: the file to draw the messages to.
    """
    pictures, points = Pictures(html, "ticdc-emit verify"), Points()
    source = open_source(options)
    store = source.claims() if claims else None
    verifier = Verifier(
        source.config,
        claims=None if store is None else store.get,
        most=show,
        watch=points.see if pictures.wanted else None,
    )
    with step("reading", quiet=as_json):
        for message in source.messages():
            verifier.see(message)
    findings = verifier.finish(source.used_partitions())
    pictures.add_points(points.all, findings)
    pictures.write()
    if as_json:
        print_json(
            {
                "messages": dict(verifier.counts),
                "partitions": source.used_partitions(),
                "topics_left_out": source.foreign,
                "found": dict(verifier.found),
                "findings": [vars(finding) for finding in findings],
            }
        )
    else:
        _print(result_console(), findings, verifier, source.looked_at())
    return 1 if findings or not (verifier.counts or allow_empty) else 0


def _print(console: Console, findings: list[Finding], verifier: Verifier, topics: str) -> None:
    if console.is_terminal and findings:
        table = Table("place", "invariant", "row", "what is wrong")
        for finding in findings:
            row = " ".join(part for part in (finding.table, finding.key) if part)
            table.add_row(finding.place, finding.invariant, Text(printable(row)), Text(printable(finding.text)))
        console.print(table)
    else:
        for finding in findings:
            console.print(Text(printable(str(finding))))
    for name, count in verifier.found.items():
        console.print(Text(f"{name}: {count:,} ({INVARIANTS[name]})", "red"))
    if not verifier.counts:
        console.print(Text(f"no messages in {topics}: nothing was checked", "bold yellow"))
        return
    counts = ", ".join(_count(kind, count) for kind, count in verifier.counts.items())
    total = sum(verifier.found.values())
    problems = counted(total, "problem") if total else "no problems"
    console.print(Text(f"Checked {counts}: {problems} found", "bold red" if total else "bold green"))


def _count(kind: str, count: int) -> str:
    return counted(count, _KINDS[kind])
