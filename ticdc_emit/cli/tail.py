"""``ticdc-emit tail``: show the decoded messages of a topic, one per line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from rich.text import Text

from ticdc_emit.cli import signals
from ticdc_emit.cli.console import result_console, say
from ticdc_emit.cli.topic_source import SourceOptions, open_source
from ticdc_emit.config.secrets import printable
from ticdc_emit.consume.tail import Tail, TailLine
from ticdc_emit.errors import ConfigError

__all__ = ["run"]

_FROM = re.compile(r"beginning|newest(?:[ :](\d+))?")
_NEWEST = 10
_LOOK_BACK = 20_000
"""The number of a partition's messages in which TiCDC repeats the schema of every changing table: twice its BOOTSTRAP
interval.
"""
_STYLES = {
    "insert": "green",
    "update": "yellow",
    "delete": "red",
    "ddl": "magenta",
    "watermark": "dim",
    "bootstrap": "cyan",
    "unreadable": "bold red",
}


def run(
    options: SourceOptions,
    *,
    follow: bool,
    start: str | None,
    tables: Sequence[str],
    ops: Sequence[str],
    claims: bool,
    as_json: bool,
) -> int:
    """Print each message when it is read; return the exit code.

    ``start``: ``beginning``, or ``newest:N``; default: the newest 10, or the beginning if a table or operation is
    selected.
    """
    if follow:
        signals.endless()
    source = open_source(options)
    store = source.claims() if claims else None
    if start is None:
        start = "beginning" if (tables or ops) and not follow else "newest"
    newest = _newest(start)
    tail = Tail(
        source.config,
        tables=tables,
        ops=ops,
        claims=None if store is None else store.get,
        earlier=None if newest is None else lambda: source.messages(newest=newest + _LOOK_BACK),
    )
    read = shown = 0
    show = _json_line(flush=follow) if as_json else _text_line()
    for message in source.messages(newest=newest, follow=follow):
        read += 1
        for line in tail.lines(message):
            shown += 1
            show(line)
    if read and not shown:
        say(f"no message in {source.looked_at()} matches --table or --op ({read:,} read)")
    elif not shown:
        say(f"no messages in {source.looked_at()}")
    return 0


def _newest(start: str) -> int | None:
    match = _FROM.fullmatch(start.strip())
    if match is None:
        raise ConfigError(f"cannot read from {start!r}", remedy="Write beginning, newest or newest:20", option="from")
    if start.startswith("beginning"):
        return None
    return int(match[1] or _NEWEST)


def _json_line(*, flush: bool) -> Callable[[TailLine], None]:
    def show(line: TailLine) -> None:
        text = json.dumps(line.to_dict(), ensure_ascii=False, default=str)
        print(printable(text), flush=flush)  # JSON itself leaves DEL, C1 and marks as they are

    return show


def _text_line() -> Callable[[TailLine], None]:
    console = result_console()
    return lambda line: console.print(Text.assemble(*_parts(line)))


def _parts(line: TailLine) -> Iterator[str | tuple[str, str]]:
    style = _STYLES[line.op]
    yield line.place, "dim"
    yield f" {line.time} "
    yield line.op, style
    if line.table:
        yield f" {printable(line.table)}"
    for name, value in line.key.items():
        yield printable(f" {name}={value}"), "bold"
    if line.said:
        yield f" {printable(line.said)}"
