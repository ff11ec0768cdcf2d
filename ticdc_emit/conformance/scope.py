"""What a conformance run leaves out; the report names and counts it. All of it depends on what TiCDC encoded before."""

from __future__ import annotations

import re
from itertools import zip_longest

from ticdc_emit.conformance.vectors import Outcome, Record

__all__ = ["KEPT_FLAGS", "SHARED_SUBJECT", "are_borrowing", "differ_in_flags"]

SHARED_SUBJECT = "rows that TiCDC writes with another table's schema (one subject, one version, other fields): refused"
"""It corrupts data."""

KEPT_FLAGS = "rows that TiCDC shows with the flags of columns from before a statement that it did not send"
"""Open Protocol of the next lineage keeps a table's flags until a statement of it is encoded."""

_FLAGS = re.compile(rb'"f":\d+')


def are_borrowing(expected: Outcome, header: bytes) -> bool:
    """Return whether TiCDC wrote every message of an event with the schema of this header, in its key or value."""
    parts = ((record.key or b"", record.value or b"") for record in expected.records)
    return bool(expected.records) and all(any(part.startswith(header) for part in each) for each in parts)


def differ_in_flags(expected: Outcome, got: Outcome) -> bool:
    """Return whether messages of Open Protocol are the same but for the flags of their columns."""
    empty = Record(None, None)
    return expected.error is None and all(
        left.key == right.key and _without_flags(left) == _without_flags(right)
        for left, right in zip_longest(expected.records, got.records, fillvalue=empty)
    )


def _without_flags(record: Record) -> bytes:
    """Return a value without its flags, and without its frame, which is longer for longer flags."""
    return _FLAGS.sub(b"", (record.value or b"")[8:])
