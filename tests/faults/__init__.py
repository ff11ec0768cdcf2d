"""Faults under a running changefeed: a harness (``python -m tests.faults.chaos``) and the tests of it.

The brokers are those of ``tests/integration``, whose modules find each other as top-level ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "integration"))
