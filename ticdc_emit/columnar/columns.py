"""Columns of neighbouring rows of a block.

In: the block's columns by name, and which of its rows. Out: a mapping of the rows' columns, each cut when it is read.
What is made of neighbours together is made of the block's own columns, which need no cutting and no putting together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

__all__ = ["Columns"]


class Columns(Mapping[str, pa.Array]):
    """The columns of ``count`` rows from row ``start`` of ``whole`` on."""

    __slots__ = ("_cut", "count", "start", "whole")

    def __init__(self, whole: Mapping[str, pa.Array], start: int, count: int) -> None:
        self.whole, self.start, self.count = whole, start, count
        self._cut: dict[str, pa.Array] = {}

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._cut:
            self._cut[name] = self.whole[name].slice(self.start, self.count)
        return self._cut[name]

    def __contains__(self, name: object) -> bool:
        return name in self.whole

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)
