"""One call of an emulator at a time, and what is said to a call that cannot begin because another one runs. What only
looks does not come here, so it answers at once. A script of a :class:`Caller` that has gone ends before its next
statement.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ticdc_emit.errors import ServerBusyError, StatementError

WAIT_S = 10.0
"""How long a call waits for the one before it."""
MOST_S = 60.0
"""How long a script over HTTP may run before its last statement begins."""
INTERRUPTED = 1317


class Caller:
    """Who waits for the answer of a call over HTTP. ``gone``: why nobody does any more."""

    def __init__(self) -> None:
        self.gone = ""
        self._end = time.monotonic() + MOST_S


caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


def check_caller() -> None:
    """Raise :class:`~ticdc_emit.errors.StatementError` if the call at hand must end."""
    own = caller.get()
    if own is not None and (own.gone or time.monotonic() > own._end):
        raise StatementError(
            f"the script was ended before this statement: {own.gone or f'it has run for {MOST_S:g} s'}",
            remedy="Call again with what is left, in shorter scripts",
            number=INTERRUPTED,
        )


class CallLock:
    """A lock that one thread may take again. ``wait_s``: the longest wait in seconds, ``None`` for no limit."""

    def __init__(self, wait_s: float | None = WAIT_S) -> None:
        self._lock = threading.RLock()
        self._wait_s = wait_s
        self._running: tuple[str, float] | None = None
        self._waiting, self._count = 0, threading.Lock()

    @contextmanager
    def held(self, call: str, *, waits: bool = True) -> Iterator[None]:
        """Keep other threads' calls out of the block. Raises :class:`~ticdc_emit.errors.ServerBusyError`, with
        ``waits=False`` at once: a lock is not fair to those who wait.
        """
        if not (self._acquired() if waits else not self._waiting and self._lock.acquire(blocking=False)):
            raise self._busy(call)
        outer = self._running
        try:
            self._running = outer or (call, time.monotonic())
            yield
        finally:
            self._running = outer
            self._lock.release()

    def _acquired(self) -> bool:
        with self._count:
            self._waiting += 1
        try:
            return self._lock.acquire(timeout=-1 if self._wait_s is None else self._wait_s)
        finally:
            with self._count:
                self._waiting -= 1

    def _busy(self, call: str) -> ServerBusyError:
        running = self._running
        if running is None:  # it has just ended
            return ServerBusyError("the server was busy", remedy="Call again", waiting=call)
        name, since = running
        seconds = round(time.monotonic() - since, 1)
        return ServerBusyError(
            f"the server is busy: {name} has been running for {seconds} s, and calls run one after the other",
            remedy="Wait until that call has ended, and call again",
            waiting=call,
            running=name,
            seconds=seconds,
        )
