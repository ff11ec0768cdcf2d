"""How much memory a run takes: the greatest resident size of the driver and of a Spark worker.

Linux only (``/proc``). In: nothing. Out: bytes.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType

from cpu_time import family

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
            workers = (_resident(pid) for pid in family() if pid != os.getpid() and _is_worker(pid))
            self.worker = max([self.worker, *workers])


def _resident(pid: int) -> int:
    try:
        pages = int((_PROC / str(pid) / "statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _is_worker(pid: int) -> bool:
    try:
        arguments = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(argument.startswith(b"pyspark.") for argument in arguments)  # -m pyspark.daemon
