"""Conformance: the library against golden vectors, byte for byte.

In: vector files (TiCDC's own output for recorded events, see ``README.md``). Out: a :class:`Report` of what matched,
what differs and where, and what this version leaves out. ``python -m tests.conformance`` runs it. The package imports
itself by relative names, so that ``python -m conformance`` runs it from the archive of the vectors, too.
"""

from __future__ import annotations

from .report import LeftOut, Mismatch, Report, Tally
from .run import run_conformance
from .vectors import Case, Outcome, Record, Variant, find_vectors, read_case

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
