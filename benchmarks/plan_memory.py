"""The memory of a changefeed's catalog and plan, by its number of tables: ``python -m benchmarks.plan_memory`` (Linux).

Prints a line of JSON for each number. ``mib``: how much the resident memory of a fresh process grows, beyond that of
one table. ``plan_mib``: the pickled plan, which goes to Spark's tasks in the generic form. ``cpu_seconds``: reading the
CREATE TABLE statements (``orders`` of the benchmark, 16 columns) and planning.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ticdc_emit import Encoder

from .inputs import sibling_sql

__all__ = ["grown"]

COUNTS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
MIB = 2**20


def _planned(count: int) -> Encoder:
    return Encoder("memory://x/t?protocol=canal-json", ";".join(sibling_sql("orders", n) for n in range(count)))


def _resident() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB


def grown(count: int) -> dict[str, float]:
    """Return what planning ``count`` tables takes."""
    _planned(1)  # imports, and what is made once
    before, start = _resident(), time.process_time()
    encoder = _planned(count)
    seconds, after = time.process_time() - start, _resident()
    plan = len(pickle.dumps(encoder.plan)) / MIB
    return {"tables": count, "mib": round(after - before, 2), "plan_mib": round(plan, 3), "cpu_seconds": seconds}


if __name__ == "__main__":
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        for made in processes.map(grown, map(int, sys.argv[1:]) if sys.argv[1:] else COUNTS):
            print(json.dumps(made | {"cpu_seconds": round(made["cpu_seconds"], 3)}), flush=True)
