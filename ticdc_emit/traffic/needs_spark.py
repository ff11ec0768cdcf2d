"""Why a plan's changes cannot be made in this process."""

from __future__ import annotations

__all__ = ["NeedsSparkError"]


class NeedsSparkError(Exception):
    """Only Spark computes this. No user sees it: the caller uses Spark instead."""
