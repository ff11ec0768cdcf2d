"""The benchmark behind ``ticdc-emit bench``: rows per CPU-second against TiCDC's Go encoders, and end to end."""

from __future__ import annotations

from ticdc_emit.bench.lines import BenchError
from ticdc_emit.bench.run import BenchReport, LineResult, run_bench

__all__ = ["BenchError", "BenchReport", "LineResult", "run_bench"]
