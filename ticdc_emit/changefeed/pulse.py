"""Work between a changefeed's batches: a thread that calls back at an interval, and never during a batch.

In: the callback, the interval. Out: calls while no batch runs, from behind the first batch on until :meth:`Pulse.stop`;
what a call raises is raised again by the next batch. An object that is pickled (``foreachBatch`` over Spark Connect)
has no thread: the first batch of the process that gets it starts one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Pulse"]


class Pulse:
    """``seconds``: between two calls, ``None`` for none. Behind one that fails there is none before the next batch."""

    def __init__(self, call: Callable[[], object], seconds: float | None) -> None:
        self._call = call
        self._seconds = seconds
        self._made_anew()

    def _made_anew(self) -> None:
        self._busy = threading.RLock()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._failure: Exception | None = None

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Keep calls out of the block; after it they continue. Raises what the last call did."""
        with self._busy:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            yield
            if self._seconds is not None and (self._thread is None or not self._thread.is_alive()):
                self._ended = threading.Event()
                self._thread = threading.Thread(target=self._run, args=(self._ended,), name="heartbeat", daemon=True)
                self._thread.start()

    @contextmanager
    def between_batches(self) -> Iterator[bool]:
        """Return whether no batch runs; if so, none begins during the block."""
        is_free = self._busy.acquire(blocking=False)
        try:
            yield is_free
        finally:
            if is_free:
                self._busy.release()

    def stop(self) -> None:
        """End the calls, after the current one. A batch starts them again."""
        self._ended.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(self._seconds):
            try:
                self._call()
            except Exception as failure:
                self._failure = failure
                return

    def __getstate__(self) -> dict[str, Any]:
        return {"_call": self._call, "_seconds": self._seconds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._made_anew()
