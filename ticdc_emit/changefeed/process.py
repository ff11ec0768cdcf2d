"""Which process this is, and whether another one of this machine still lives.

In: nothing, or the identity of a process that may have run anywhere. Out: an identity that no other process has, not
even a later one with the same pid; and yes, no, or "cannot be told from here".
"""

from __future__ import annotations

import os
import platform
import socket
import sys
import uuid
from pathlib import Path
from typing import NamedTuple

__all__ = ["Process"]


class Process(NamedTuple):
    """``machine``: one boot of one machine, and in it one space of pids (a container has its own). ``started``: what
    tells processes with the same pid apart, empty where the system does not show it."""

    host: str
    machine: str
    pid: int
    started: str

    @classmethod
    def this(cls) -> Process:
        """Return the identity of the calling process."""
        pid = os.getpid()
        return cls(socket.gethostname(), _machine(), pid, _started(pid) or "")

    def lives(self) -> bool | None:
        """Return whether the process lives; ``None`` if unknown: on another machine, or on Windows."""
        if self.machine != _machine() or sys.platform == "win32":
            return None
        if self.started:
            return _started(self.pid) == self.started
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True  # it lives, and belongs to another user
        return True


def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - the target is not a path
    except OSError:
        return f"{platform.node()}:{uuid.getnode():x}"


def _started(pid: int) -> str | None:
    """Return when a process began, in ticks since the machine did; ``None`` if it has ended or is not to be seen."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before may hold anything
    return None if fields[0] in "ZX" else fields[19]
