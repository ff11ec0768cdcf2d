"""What every command prints: results to stdout (to stderr if ``stdout://`` gets the messages), progress to stderr, with
colours, tables and a spinner on a terminal, elsewhere as plain lines.
"""

from __future__ import annotations

import io
import json
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.text import Text

from ticdc_emit.config.document import ConfigWarning
from ticdc_emit.config.secrets import printable
from ticdc_emit.errors import warn_caller

if TYPE_CHECKING:
    from ticdc_emit.pipeline.report import RunReport, RunTotal


_messages_on_stdout = ContextVar("messages_on_stdout", default=False)


def leave_stdout_to_messages() -> None:
    """From now on the command at hand prints its results on stderr."""
    _messages_on_stdout.set(True)


def result_stream() -> TextIO:
    """Return where results are printed: stdout, unless messages go there."""
    return sys.stderr if _messages_on_stdout.get() else sys.stdout


def result_console() -> Console:
    """Return the console for results; its ``is_terminal`` decides between tables and plain lines."""
    return Console(file=result_stream(), highlight=False, soft_wrap=True)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Lossy(io.FileIO):
    def write(self, data: Any) -> int:
        return super().write(data) or len(data)  # nothing of it fits: it is dropped


def never_wait_for_stderr() -> None:
    """Drop from now on what is written to a stderr that is a full pipe, instead of waiting until somebody reads it."""
    with suppress(OSError):  # a system where a pipe cannot be opened again, and its flags are those of other processes
        if stat.S_ISFIFO(os.fstat(sys.stderr.fileno()).st_mode):
            os.dup2(os.open("/proc/self/fd/2", os.O_WRONLY | os.O_NONBLOCK), 2)
            raw = io.BufferedWriter(_Lossy(2, "w", closefd=False))
            sys.stderr = io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)


def print_json(data: Any, *, flush: bool = False) -> None:
    """Print machine-readable data as a result, on one line; what JSON does not have, as text."""
    text = json.dumps(data, ensure_ascii=False, default=str)
    print(printable(text), file=result_stream(), flush=flush)  # JSON itself leaves DEL, C1 and marks as they are


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees it whole or as it was."""
    part = part_of(path)
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def part_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


@contextmanager
def step(doing: str, *, quiet: bool = False) -> Iterator[None]:
    """Show on stderr what the block does: on a terminal a spinner that becomes a tick, elsewhere a line at the end."""
    console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
    started = time.monotonic()
    if quiet:
        yield
    elif console.is_terminal:
        with console.status(Text(doing)):
            yield
        took = f" {time.monotonic() - started:.1f} s"
        console.print(Text.assemble(("✓ ", "green"), doing, (took, "dim")))
    else:
        yield
        say(f"{doing}: {time.monotonic() - started:.1f} s")


def warn_of_nothing(report: RunReport | RunTotal) -> None:
    """Warn if the changefeed's filter left no row of a whole run."""
    if report.filtered_rows and not report.rows:
        rules = ", ".join(name for name, count in report.filtered.items() if count)
        warn_caller(f"[filter] left out all {report.filtered_rows:,} rows ({rules}): nothing was sent", ConfigWarning)


def print_summary(console: Console, report: RunReport | RunTotal) -> None:
    """Print the totals and the counts of every topic-partition."""
    *lines, total = str(report).splitlines()
    for line in lines:
        console.print(Text(line))
    console.print(Text(total, "bold green"))


def print_report(report: RunReport | RunTotal, *, as_json: bool, **facts: Any) -> None:
    """Print a report as a result: as JSON behind the ``facts``, or for people."""
    if as_json:
        print_json({**facts, **report.to_dict()})
    else:
        print_summary(result_console(), report)
