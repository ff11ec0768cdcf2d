"""The CPU time of this process, of those that it started, and of those that they started (Linux), by who works: the
JVM's tasks, its compilers, its garbage collectors, its other threads, Python workers, and this process.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

PARTS = ("jvm_tasks", "jvm_compilers", "jvm_gc", "jvm_other", "workers", "driver")
_THREADS = {
    "Executor task": "jvm_tasks",
    "C1 Compiler": "jvm_compilers",
    "C2 Compiler": "jvm_compilers",
    "GC Thread": "jvm_gc",
    "G1 ": "jvm_gc",
}


class _Stat(NamedTuple):
    """A process or thread: its name, its parent, its ticks, and those with its ended children's."""

    name: str
    parent: int
    own: int
    whole: int


def cpu_seconds_by_part() -> dict[str, float]:
    """Return user and system time so far by part, in seconds; what ended threads of a JVM took is in ``jvm_other``."""
    ticks: Counter[str] = Counter()
    for pid, each in family().items():
        if pid == os.getpid():
            ticks["driver"] += each.own
        elif each.name == "java":
            ticks["jvm_other"] += each.whole
            for thread in _stats(Path(f"/proc/{pid}/task")).values():
                part = next((part for name, part in _THREADS.items() if thread.name.startswith(name)), "jvm_other")
                ticks[part] += thread.own
                ticks["jvm_other"] -= thread.own
        else:
            ticks["workers"] += each.whole
    return {part: ticks[part] / os.sysconf("SC_CLK_TCK") for part in PARTS}


def family() -> dict[int, _Stat]:
    """Return this process and its descendants."""
    stats = _stats(Path("/proc"))
    ours, grown = {os.getpid()}, True
    while grown:
        children = {pid for pid, each in stats.items() if each.parent in ours} - ours
        ours |= children
        grown = bool(children)
    return {pid: stats[pid] for pid in ours if pid in stats}


def _stats(folder: Path) -> dict[int, _Stat]:
    found = {}
    for each in folder.iterdir():
        if each.name.isdigit():
            try:
                text = (each / "stat").read_text()
            except OSError:
                continue  # it has just ended
            head, _, rest = text.rpartition(")")
            fields = rest.split()
            own, whole = sum(map(int, fields[11:13])), sum(map(int, fields[11:15]))
            found[int(each.name)] = _Stat(head.partition("(")[2], int(fields[1]), own, whole)
    return found
