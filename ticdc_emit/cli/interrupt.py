"""Ctrl-C as a wish to end well: the work at hand is finished, the changefeed is ended."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ticdc_emit.cli.console import say

__all__ = ["INTERRUPTED", "stopped_by_interrupt"]

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has ended early."""


@contextmanager
def stopped_by_interrupt(behind: str, *, quiet: bool) -> Iterator[Callable[[], bool]]:
    """Yield what tells whether Ctrl-C was pressed; a second one is as always. ``behind``: what is finished first."""
    asked = False

    def on_interrupt(number: int, frame: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        if not quiet:
            say(f"stopping behind this {behind}; once more to stop at once")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
