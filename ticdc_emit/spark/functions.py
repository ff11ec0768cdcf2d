"""Spark's functions as ``F`` and its types as ``T``, for modules that are loaded without Spark: it is imported where
one of them is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812
else:

    class _Module:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    F, T = _Module("pyspark.sql.functions"), _Module("pyspark.sql.types")

__all__ = ["F", "T"]
