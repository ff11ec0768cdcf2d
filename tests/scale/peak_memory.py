"""How much memory the Python processes of a run take: the greatest resident size of each, driver and Spark's workers.

Linux only (``/proc``). In: nothing. Out: bytes.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType

__all__ = ["PeakMemory"]

_PROC = Path("/proc")


class PeakMemory:
    """Watches this process and its Spark workers while its ``with`` block runs."""

    def __init__(self, interval_s: float = 0.1) -> None:
        self._interval_s = interval_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.driver = 0
        self.worker = 0
        """The greatest of any one worker."""

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self._interval_s):
            self.driver = max(self.driver, _resident(os.getpid()))
            workers = (_resident(pid) for pid in _spark_workers(os.getpid()))
            self.worker = max([self.worker, *workers])


def _resident(pid: int) -> int:
    try:
        pages = int((_PROC / str(pid) / "statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _spark_workers(root: int) -> list[int]:
    """Return the descendants of a process that run Spark's Python daemon or its workers."""
    parents: dict[int, int] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    found = []
    for pid in parents:
        ancestor = pid
        while ancestor in parents and ancestor != root:
            ancestor = parents[ancestor]
        if ancestor == root and pid != root and _is_worker(pid):
            found.append(pid)
    return found


def _is_worker(pid: int) -> bool:
    try:
        arguments = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(argument.startswith(b"pyspark.") for argument in arguments)  # -m pyspark.daemon
