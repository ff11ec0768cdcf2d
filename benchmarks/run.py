"""Measure the lines: rows per CPU-second on one core, as multiples of the machine's unit and of TiCDC's Go encoders.

The unit is how many copies of one fixed row ``json.dumps`` prints per CPU-second. TiCDC's Go encoders were measured in
the same unit (``reference.json``), so ``ratio_to_go`` is our ``x_unit`` divided by that of the Go encoder.
The unit is measured again before every line of every round. So a machine whose speed drifts (a shared one, a laptop)
affects both alike. Each figure is the median over rounds. Arrow uses one thread.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .end_to_end import EndToEnd
from .lines import ONE_TABLE_BAR, Line, bench_lines, check_golden

__all__ = ["BenchReport", "LineResult", "measure_unit", "run_bench"]

_ROW = {
    "id": 900719925474, "user_id": 18446744073709551000, "status": "paid", "amount": "12345.67", "qty": 3, "price":
    19.99, "note": 'a note with some text & "quotes" in it', "payload": '{"sku": "X-1", "qty": 3, "tags": [1, 2]}',
    "created": "2024-05-05 12:34:56.789", "updated": "2024-05-05 12:34:56", "flags": 170, "tags": "a,c", "token":
    "AAECAwQFBgcICQoLDA0ODw==", "ratio": 0.25, "day": "2024-05-05", "t": "12:34:56", }  # fmt: skip


def measure_unit(rounds: int = 1, rows: int = 30_000) -> float:
    """Return the best rate over ``rounds``, in rows per CPU-second."""
    best = 0.0
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(rows):
            json.dumps(_ROW)
        best = max(best, rows / (time.process_time() - start))
    return best


@dataclass(frozen=True)
class LineResult:
    """``x_unit``: our rate divided by the unit. ``ratio_to_go``: ``x_unit`` divided by the Go encoder's; it should
    reach ``bar``.

    Both are ``None`` for a line without a bar.
    """

    name: str
    rows_per_cpu_s: float
    x_unit: float
    ratio_to_go: float | None
    bar: float | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rows_per_cpu_s": round(self.rows_per_cpu_s),
            "x_unit": round(self.x_unit, 3),
            "ratio_to_go": None if self.ratio_to_go is None else round(self.ratio_to_go, 2),
            "bar": self.bar,
        }


@dataclass(frozen=True)
class BenchReport:
    """``unit``: rows per CPU-second of ``json.dumps`` here."""

    unit: float
    lines: list[LineResult]
    end_to_end: EndToEnd | None = None

    def medians(self) -> dict[str, float]:
        """Return the median ratio to Go of each variant, over the lines of one table."""
        ratios: dict[str, list[float]] = {}
        for line in self.lines:
            if line.ratio_to_go is not None and line.bar == ONE_TABLE_BAR:
                ratios.setdefault(line.name.partition("/")[0], []).append(line.ratio_to_go)
        return {variant: statistics.median(found) for variant, found in ratios.items()}

    def as_dict(self) -> dict[str, Any]:
        """Return the machine-readable form."""
        return {
            "unit": round(self.unit),
            "lines": [line.as_dict() for line in self.lines],
            "median_ratio_to_go": {name: round(value, 2) for name, value in self.medians().items()},
            "end_to_end": None if self.end_to_end is None else self.end_to_end.as_dict(),
        }


def run_bench(
    *, quick: bool = False, progress: Callable[[list[int]], Iterable[int]] = iter, rounds: int = 5
) -> BenchReport:
    """Check the bytes, then measure. ``quick``: one short round with rough figures, for a smoke test.

    ``progress``: shows how many of the measurements are done, and yields them.
    Raises :class:`BenchError` if the bytes are not TiCDC's.
    """
    check_golden()
    lines = bench_lines()
    rounds, seconds = (1, 0.05) if quick else (rounds, 0.25)
    previous = pa.cpu_count(), pa.io_thread_count()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    try:
        for line in lines:
            line.run()  # one-time work (layouts, imports) is not part of the rate
        measured: list[list[tuple[float, float]]] = [[] for _ in lines]
        for number in progress(list(range(len(lines))) * rounds):
            measured[number].append((measure_unit(), _rate(lines[number], seconds)))
    finally:
        pa.set_cpu_count(previous[0])
        pa.set_io_thread_count(previous[1])
    unit = statistics.median(unit for pairs in measured for unit, _ in pairs)
    return BenchReport(unit, [_result(line, pairs) for line, pairs in zip(lines, measured, strict=True)])


def _rate(line: Line, seconds: float) -> float:
    start = time.process_time()
    calls = 0
    while (spent := time.process_time() - start) < seconds:
        line.run()
        calls += 1
    return calls * line.rows / spent


def _result(line: Line, measured: list[tuple[float, float]]) -> LineResult:
    x_unit = statistics.median(rate / unit for unit, rate in measured)
    rate = statistics.median(rate for _, rate in measured)
    if line.go is None:
        return LineResult(line.name, rate, x_unit, None, None)
    return LineResult(line.name, rate, x_unit, x_unit / line.go, line.bar)
