"""What a conformance run leaves out: named in the report, with its counts."""

from __future__ import annotations

__all__ = ["SHARED_SUBJECT"]

SHARED_SUBJECT = "rows that TiCDC writes with another table's schema (one subject, one version, other fields): refused"
"""Depends on what TiCDC encoded before, and corrupts data."""
