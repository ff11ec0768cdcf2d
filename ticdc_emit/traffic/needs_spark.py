"""How code that works in this process says that the work is for Spark."""

from __future__ import annotations

__all__ = ["NeedsSparkError"]


class NeedsSparkError(Exception):
    """Only Spark computes or reads this; the message is the reason. No user sees it: the caller uses Spark instead."""
