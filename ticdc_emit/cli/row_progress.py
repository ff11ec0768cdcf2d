"""Progress in rows: a bar with rate and time left on a terminal, elsewhere one line at the end.

In: a local Spark session or a count, and the number of rows if it is known. Out: what a person sees on stderr. The rows
are those that have been encoded so far; sending them follows.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from ticdc_emit.cli.console import step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["row_progress"]

_EVERY_S = 0.2


@contextmanager
def row_progress(
    doing: str, source: SparkSession | Callable[[], int], rows: int | None, *, quiet: bool = False
) -> Iterator[None]:
    """Show the rows of the block, of ``rows`` or of an unknown number; ``quiet``: show nothing.

    ``source``: the session whose workers encode them, or a function that returns how many were encoded so far.
    """
    console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
    if quiet or not console.is_terminal:
        with step(doing, quiet=quiet):
            yield
        return
    began = time.monotonic()
    console.print(Text(doing))
    with ExitStack() as stack:
        read = source if callable(source) else stack.enter_context(_tally_of(source))
        stack.enter_context(_polled(stack.enter_context(_bar(console)), read, rows))
        yield
    console.print(Text.assemble(("✓ ", "green"), doing, (f" {time.monotonic() - began:.1f} s", "dim")))


@contextmanager
def _tally_of(spark: SparkSession) -> Iterator[Callable[[], int]]:
    from ticdc_emit.spark.worker import SETTING, tallied

    with tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True) as folder:
        spark.conf.set(SETTING, folder)
        try:
            yield lambda: tallied(Path(folder))
        finally:
            spark.conf.unset(SETTING)


def _bar(console: Console) -> Progress:
    left = TimeRemainingColumn(compact=True)
    return Progress(BarColumn(), _Rows(), _Rate(), left, TextColumn("left"), console=console, transient=True)


@contextmanager
def _polled(bar: Progress, read: Callable[[], int], rows: int | None) -> Iterator[None]:
    task, ended = bar.add_task("", total=rows), threading.Event()

    def show() -> None:
        while not ended.wait(_EVERY_S):
            with suppress(OSError, ValueError):  # a line that is half written counts the next time
                done = read()
                bar.update(task, completed=done if rows is None else min(done, rows))

    shown = threading.Thread(target=show, daemon=True)
    shown.start()
    try:
        yield
    finally:
        ended.set()
        shown.join()


class _Rows(ProgressColumn):
    def render(self, task: Task) -> Text:
        total = "" if task.total is None else f" of {task.total:,.0f}"
        return Text(f"{task.completed:,.0f}{total} rows encoded")


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:,.0f} rows/s", "dim")
