"""Conformance: the library against golden vectors, byte for byte.

In: vector files (TiCDC's own output for recorded events, see ``docs/cli.md``). Out: a :class:`Report` of what matched,
what differs and where, and what this version leaves out. ``ticdc-emit conformance`` runs it.
"""

from __future__ import annotations

from ticdc_emit.conformance.files import find_vectors
from ticdc_emit.conformance.report import LeftOut, Mismatch, Report, Tally
from ticdc_emit.conformance.run import run_conformance
from ticdc_emit.conformance.vectors import Case, Outcome, Record, Variant, read_case

__all__ = [
    "Case",
    "LeftOut",
    "Mismatch",
    "Outcome",
    "Record",
    "Report",
    "Tally",
    "Variant",
    "find_vectors",
    "read_case",
    "run_conformance",
]
