"""The invariants of every stream of TiCDC's messages, and their checks."""

from __future__ import annotations

from ticdc_emit.decode.invariants.finding import Finding
from ticdc_emit.decode.invariants.verify import INVARIANTS, Verifier, verify

__all__ = ["INVARIANTS", "Finding", "Verifier", "verify"]
