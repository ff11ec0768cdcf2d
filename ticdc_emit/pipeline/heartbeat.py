"""The thread of a heartbeat: a call that is made again and again between a changefeed's batches.

An object that is pickled (``foreachBatch`` over Spark Connect) has no thread: the first batch of the process that gets
it starts one. A stream with rows that it has not read yet is not idle, so calls wait until its source has no more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_ASK_AGAIN_S = 0.02  # often, because a stream that polls an idle source may not be seen idle at once


class PeriodicTask:
    """``seconds``: between two calls; ``None`` for no calls. None follows one that fails, until a batch runs."""

    def __init__(self, call: Callable[[], object], seconds: float | None) -> None:
        self._call = call
        self._seconds = seconds
        self._made_anew()

    def _made_anew(self) -> None:
        self._is_idle: Callable[[], bool] | None = None
        self._busy = threading.RLock()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._failure: Exception | None = None

    @contextmanager
    def batch(self, is_idle: Callable[[], bool] | None = None) -> Iterator[None]:
        """Keep calls out of the block; each later one waits for ``is_idle``. Raises what the last call did."""
        with self._busy:
            self._is_idle = is_idle
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
                while self._is_idle is not None and not self._is_idle():
                    if ended.wait(_ASK_AGAIN_S):
                        return
                self._call()
            except Exception as failure:
                self._failure = failure
                return

    def __getstate__(self) -> dict[str, Any]:
        return {"_call": self._call, "_seconds": self._seconds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._made_anew()
