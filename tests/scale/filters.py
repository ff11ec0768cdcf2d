"""What a filter costs: rows per CPU-second of arranging and encoding, with and without filters and expressions.

    python tests/scale/filters.py [--rows 50000] [--rounds 5] [--json]

The rows are inserts of the bench table ``orders`` to Canal-JSON. Rounds of all filters are interleaved and the median
counts, so that the ratios hold on a busy machine. Every filter here lets all rows through.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from statistics import median
from typing import Any

import checkout  # noqa: F401 - finds benchmarks

from benchmarks.inputs import change_batch, commit_stamps, make_rows, table_sql
from ticdc_emit import Encoder
from ticdc_emit.changes.model import Op

FILTERS: dict[str, dict[str, Any]] = {
    "no filter": {},
    "table rules": {"rules": ["*.*", "!other.*", "!/^tmp_/.*"]},
    "an event filter by kind": {"event-filters": [{"matcher": ["*.*"], "ignore-event": ["delete"]}]},
    "one integer expression": {"event-filters": [{"matcher": ["*.*"], "ignore-insert-value-expr": "qty < 0"}]},
    "one text expression": {"event-filters": [{"matcher": ["*.*"], "ignore-insert-value-expr": "note = 'no such'"}]},
    "one expression row by row": {
        "event-filters": [{"matcher": ["*.*"], "ignore-insert-value-expr": "concat(note, id) like 'no such%'"}]
    },
}
URI = "memory://filters/?protocol=canal-json&enable-tidb-extension=true"


def measure(rows: int, rounds: int) -> dict[str, float]:
    """Return rows per CPU-second by filter."""
    schema = table_sql("orders")
    made = make_rows("orders", rows)
    batch = change_batch(Op.INSERT, commit_stamps(rows), after=made.columns)
    encoders = {name: Encoder(URI, schema, changefeed={"filter": each}) for name, each in FILTERS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in FILTERS}
    for _ in range(rounds + 1):  # the first round warms up
        for name, encoder in encoders.items():
            started = time.process_time()
            messages = encoder.encode(batch).num_rows
            seconds[name].append(time.process_time() - started)
            if messages != rows:
                raise AssertionError(f"{name} left {messages} of {rows} rows")
    return {name: rows / median(spent[1:]) for name, spent in seconds.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = measure(arguments.rows, arguments.rounds)
    if arguments.json:
        print(json.dumps(found))
        return 0
    whole = found["no filter"]
    for name, rate in found.items():
        print(f"{name:28} {rate:>10,.0f} rows per CPU-second  {rate / whole:5.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
