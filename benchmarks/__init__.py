"""``python -m benchmarks``: rows per CPU-second against TiCDC's Go encoders, and end to end. See ``README.md``."""

from __future__ import annotations

from .lines import BenchError
from .run import BenchReport, LineResult, run_bench

__all__ = ["BenchError", "BenchReport", "LineResult", "run_bench"]
