"""``ticdc-emit tail``: what is on a topic, decoded, a line per message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from ticdc_emit.cli.console import result_console
from ticdc_emit.cli.topic_source import SourceOptions, open_source
from ticdc_emit.decode.tail import Tail, TailLine
from ticdc_emit.errors import ConfigError

__all__ = ["run"]

_FROM = re.compile(r"beginning|newest(?:[ :](\d+))?")
_NEWEST = 10
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
    """Print lines in the order in which messages are read, each at once; return the exit code.

    ``start``: ``beginning``, or ``newest N``; default the newest 10, but the beginning if some of what is there is
    asked for by table or operation.
    """
    source = open_source(options)
    store = source.claims() if claims else None
    tail = Tail(source.config, tables=tables, ops=ops, claims=None if store is None else store.get)
    if start is None:
        start = "beginning" if (tables or ops) and not follow else "newest"
    lines = (tail.line(message) for message in source.messages(newest=_newest(start), follow=follow))
    wanted = (line for line in lines if line is not None)
    if as_json:
        for line in wanted:
            print(json.dumps(line.to_dict(), ensure_ascii=False, default=str), flush=follow)
        return 0
    _print(wanted)
    return 0


def _newest(start: str) -> int | None:
    match = _FROM.fullmatch(start.strip())
    if match is None:
        raise ConfigError(f"cannot read from {start!r}", remedy="Write beginning, newest or 'newest 20'", option="from")
    if start.startswith("beginning"):
        return None
    return int(match[1] or _NEWEST)


def _print(lines: Iterable[TailLine]) -> None:
    console = result_console()
    for line in lines:
        console.print(Text.assemble(*_parts(line)))


def _parts(line: TailLine) -> Iterator[str | tuple[str, str]]:
    style = _STYLES[line.op]
    yield line.place, "dim"
    yield f" {line.time} "
    yield line.op, style
    if line.table:
        yield f" {line.table}"
    for name, value in line.key.items():
        yield f" {name}={value}", "bold"
    if line.said:
        yield f" {line.said}"
