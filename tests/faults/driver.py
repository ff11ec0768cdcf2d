"""The job's processes: the driver with its JVM, and the Spark Python workers, to be watched and killed one by one.

Known by /proc: everything that the driver started is in its session, for it began one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

_ROOT = Path(__file__).parents[2]
_LOST_TASK = b"Lost task "
_LOST_WORKER = re.compile(rb"Lost task .*Python worker exited unexpectedly")


class _Stat(NamedTuple):
    parent: int
    session: int


class Driver:
    def __init__(self, folder: Path, job: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._description = folder / "job.json"
        self._log = folder / "job.log"
        self._out = folder / "job.out"
        self._worker_dies = folder / "worker-dies"
        self._job = {"die_after_batch": None, "librdkafka": {}, "worker_dies": str(self._worker_dies), **job}
        self._process: subprocess.Popen[bytes] | None = None
        self._sessions: list[int] = []

    def describe(self, **job: Any) -> None:
        self._job |= job

    def start(self) -> None:
        self._description.write_text(json.dumps(self._job))
        env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        env |= {"PYTHONPATH": str(_ROOT), "SPARK_SUBMIT_OPTS": os.environ.get("SPARK_SUBMIT_OPTS", "")}
        command = [sys.executable, str(Path(__file__).with_name("job.py")), str(self._description)]
        with self._log.open("ab") as log, self._out.open("wb") as out:
            self._process = subprocess.Popen(
                command, env=env, stdout=out, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._sessions.append(self._process.pid)

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def result(self) -> dict[str, Any]:
        return json.loads(self._out.read_text().splitlines()[-1])

    def wait(self, timeout_s: float) -> int:
        return self._process.wait(timeout_s)

    def kill(self) -> None:
        """SIGKILL the driver and its JVM, as they are one process group; workers are left to notice it."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def kill_worker(self) -> None:
        """Let the next Python worker that sends die of SIGKILL, half of its batch being sent (``lethal_sink``)."""
        self._worker_dies.touch()

    def lost_tasks(self) -> int:
        return self._log.read_bytes().count(_LOST_TASK)

    def lost_workers(self) -> int:
        return len(_LOST_WORKER.findall(self._log.read_bytes()))

    def log_tail(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    def stop(self) -> None:
        for pid, stat in _processes().items():
            if stat.session in self._sessions:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()


def _processes() -> dict[int, _Stat]:
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                # the command's name is in brackets and may have blanks
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                found[int(folder.name)] = _Stat(int(fields[1]), int(fields[3]))
    return found
