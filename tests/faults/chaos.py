"""The campaign: one job per protocol on a real cluster of three brokers, faults injected, everything judged.

    python -m tests.faults.chaos --rows 1000000 --tables 20 --protocol canal-json > counts.json

Without ``--protocol``, all run one after the other. Prints counts as JSON; exits with 1 if the contract of one was
broken.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
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
    parser.add_argument("--folder", type=Path, help="keep everything here; else a temporary folder")
    asked = parser.parse_args(arguments)
    names = asked.protocol or list(PROTOCOLS)
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
    print(json.dumps({"runs": runs, "failed": failed}, indent=1))
    return 0 if not failed and all(run["verdict"]["holds"] for run in runs) else 1


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
