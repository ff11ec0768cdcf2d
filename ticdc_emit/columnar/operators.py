"""Operators of SQL as kernels of Arrow, which give NULL where an operand is NULL.

In: two arrays or scalars of one type. Out: their comparison, or their result in that type. Which type that is, each
dialect decides itself: TiDB's in ``expressions``, Spark's in ``traffic/generate/arrow``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow.compute as pc

__all__ = ["COMPARISONS", "UNCHECKED_ARITHMETIC"]

COMPARISONS: Mapping[str, Callable[..., Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}

UNCHECKED_ARITHMETIC: Mapping[str, Callable[..., Any]] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
"""Integers that overflow wrap around, floats become infinite."""
