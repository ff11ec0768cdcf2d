"""The campaign: one job per protocol on a real cluster of three brokers, faults injected, everything judged.

    python -m tests.faults.chaos --rows 1000000 --tables 20 --protocol canal-json --json counts.json

Without ``--protocol``, all run one after the other. Prints a table of counts; exits with 1 if the contract of one was
broken.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kafka_cluster import KafkaCluster
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.testing import EmbeddedRegistry
from ticdc_emit.testing.java import find_java
from ticdc_emit.testing.kraft import kafka_jars

from .campaign import Stage, run_under_faults
from .history import History
from .protocols import PROTOCOLS

_BATCHES = 20
_QUEUES_PER_BATCH = 10
"""The producer's queue is so short that a batch is sent over a while, in which its worker can be killed."""
_START_S, _RATE, _FAULT_S = 12.0, 30_000, 15.0
"""For the estimate: a job's start, changes per second sent and judged, and what the faults of a run cost."""
_COLUMNS: tuple[tuple[str, Callable[[dict[str, Any]], object]], ...] = (
    ("protocol", lambda run: run["protocol"]),
    ("changes", lambda run: run["changes"]),
    ("delivered", lambda run: run["verdict"]["distinct_rows"]),
    ("duplicates", lambda run: run["verdict"]["duplicate_rows"]),
    ("replays", lambda run: run["verdict"]["replays"]),
    ("watermarks", lambda run: run["verdict"]["watermarks"]),
    ("brokers", lambda run: run["brokers_killed"]),
    ("tasks lost", lambda run: run["tasks_lost"]),
    ("drivers", lambda run: run["drivers_killed"]),
    ("changes/s", lambda run: run["changes_per_second"]),
    ("seconds", lambda run: round(run["seconds"] + run["judge_seconds"])),
    ("faults found", lambda run: sum(run["verdict"]["faults"].values())),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.chaos", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="changes per run")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--batches", type=int, default=_BATCHES, help="files of the history, one per micro-batch")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--protocol", action="append", choices=list(PROTOCOLS), help="may be given several times")
    parser.add_argument("--json", type=Path, help="also write the counts to this file")
    parser.add_argument("--folder", type=Path, help="keep everything here; else a temporary folder")
    asked = parser.parse_args(arguments)
    names = asked.protocol or list(PROTOCOLS)
    estimate = len(names) * (2 * _START_S + _FAULT_S + 2 * asked.rows / _RATE)
    _say(f"{len(names)} runs of {asked.rows} changes, about {estimate / 60:.1f} minutes")
    with contextlib.ExitStack() as stack:
        folder = asked.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="faults-")))
        history = History(asked.rows, asked.tables, asked.batches, asked.seed)
        changes = history.write(folder / "history")
        # Many tables share one topic's subject.
        registry = stack.enter_context(EmbeddedRegistry("NONE")).url
        queue = {"queue.buffering.max.messages": max(100, asked.rows // asked.batches // _QUEUES_PER_BATCH)}
        runs: list[dict[str, Any]] = []
        failed: dict[str, str] = {}
        for name in names:
            brokers = folder / f"brokers-{name}"
            try:
                with KafkaCluster(find_java(), kafka_jars(), brokers) as cluster:
                    stage = Stage(
                        cluster, history, changes, folder / "history", folder, asked.partitions, registry=registry
                    )
                    _say(f"{name}: three brokers are up")
                    runs.append(run_under_faults(stage, PROTOCOLS[name], say=_say, librdkafka=queue).to_dict())
                _say(json.dumps(runs[-1]))
            except (AssertionError, RuntimeError, TicdcEmitError) as error:
                failed[name] = str(error)
                _say(f"{name} failed: {error}")
            if asked.json is not None:
                asked.json.write_text(json.dumps({"runs": runs, "failed": failed}, indent=1))
    _print_table(runs)
    return 0 if not failed and all(run["verdict"]["holds"] for run in runs) else 1


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _print_table(runs: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Delivery under faults")
    for name, _ in _COLUMNS:
        table.add_column(name, justify="left" if name == "protocol" else "right")
    for run in runs:
        table.add_row(*(str(count(run)) for _, count in _COLUMNS))
    Console(width=150).print(table)
    for run in runs:
        for example in run["verdict"]["examples"]:
            print(f"{run['protocol']}: {example}")


if __name__ == "__main__":
    sys.exit(main())
