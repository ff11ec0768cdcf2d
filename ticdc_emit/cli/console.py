"""What every command shares: a console for results, and progress for terminals and logs.

Results go to stdout, progress to stderr. On a terminal there are colours, tables and a progress bar. Elsewhere there
are plain lines, with progress at most every few seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from ticdc_emit.config.secrets import printable

__all__ = ["ProgressLine", "print_json", "progress", "result_console", "say", "step"]

_QUIET_S = 5.0


class ProgressLine(Protocol):
    """Shows that ``done`` of ``total`` steps are finished and what comes next."""

    def __call__(self, done: int, total: int, doing: str) -> None: ...


def result_console() -> Console:
    """Return the console on stdout; its ``is_terminal`` decides between tables and plain lines."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """Print one line of progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def print_json(data: Any) -> None:
    """Print machine-readable data on stdout, on one line."""
    print(printable(json.dumps(data, ensure_ascii=False)))  # JSON itself leaves DEL, C1 and marks as they are


@contextmanager
def progress(title: str) -> Iterator[ProgressLine]:
    """Show progress for the length of the block: a bar on a terminal, else a line every few seconds."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield _PlainProgress(title)
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, TextColumn("[dim]{task.fields[doing]}"), console=console, transient=True) as bar:
        task = bar.add_task(title, total=None, doing="")

        def show(done: int, total: int, doing: str) -> None:
            bar.update(task, completed=done, total=total, doing=doing)

        yield show


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


class _PlainProgress:
    def __init__(self, title: str) -> None:
        self._title = title
        self._last = time.monotonic()

    def __call__(self, done: int, total: int, doing: str) -> None:
        if time.monotonic() - self._last >= _QUIET_S:
            self._last = time.monotonic()
            say(f"{self._title}: {done}/{total} {doing}".rstrip())
