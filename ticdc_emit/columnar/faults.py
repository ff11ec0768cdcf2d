"""A value that its column cannot hold, told by position; the encoder turns it into ``InvalidValueError`` with the
place.

Renderers see one column without its name and key, so they only say which row of the batch is wrong and why.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ValueFault", "refuse_any", "shown"]

_LONGEST = 60


class ValueFault(Exception):  # noqa: N818 - not an error that users see
    """Row ``index`` of a column holds something that the column's type refuses; ``reason`` says what."""

    def __init__(self, index: int, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.index, self.reason, self.remedy)


def shown(value: object) -> str:
    """Return a value as errors show it: in Python's notation, and cut if it is long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python converts
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def refuse_any(bad: npt.NDArray[np.bool_], reason: str, remedy: str = "") -> None:
    """Raise :class:`ValueFault` for the first true element of ``bad``."""
    if bad.any():
        raise ValueFault(int(bad.argmax()), reason, remedy)
