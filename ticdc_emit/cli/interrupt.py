"""Ctrl-C (or SIGTERM) ends the command in order: the current work is finished and the changefeed is ended."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ticdc_emit.cli import signals
from ticdc_emit.cli.console import say

__all__ = ["Stop", "stopped_by_interrupt"]


class Stop:
    """Called between pieces of work: true once a signal has asked the command to end."""

    def __init__(self) -> None:
        self.number: int | None = None
        """The signal that arrived."""

    def __call__(self) -> bool:
        return self.number is not None

    def exit_code(self) -> int:
        """Return the exit code of a command that the signal ended early; 0 if there was none."""
        return 0 if self.number is None else signals.exit_code(self.number)


@contextmanager
def stopped_by_interrupt(piece: str, *, quiet: bool) -> Iterator[Stop]:
    """Yield an object that the first signal turns true; a second signal ends the command at once. ``piece``: what is
    finished first.
    """
    stop = Stop()

    def on_signal(number: int, frame: Any) -> None:
        if stop.number is not None:
            handlers[number](number, frame)
            return
        stop.number = number
        if not quiet:
            say(f"stopping after this {piece}; press Ctrl-C again to stop at once")

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handlers: dict[int, Any] = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
