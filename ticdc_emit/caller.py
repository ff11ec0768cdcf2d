"""Warnings that point at the caller's line, however deep in this library they arise.

In: a message and its category. Out: a warning at the innermost line outside this library. Python has that as
``skip_file_prefixes``, but only from 3.12, and generated code (the ``__init__`` of a dataclass) has no file.
"""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_caller"]

_LIBRARY = __name__.partition(".")[0]


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into this library; in a worker process of Spark, that is a line of Spark."""
    frame, inside = sys._getframe().f_back, 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _LIBRARY:
        frame, inside = frame.f_back, inside + 1
    warnings.warn(message, category, stacklevel=inside + 1)
