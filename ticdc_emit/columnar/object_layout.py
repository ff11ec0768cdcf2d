"""JSON objects laid out for a whole batch: the bytes before, between and after the texts of their members.

In: an object's names, the texts of its members as columns, null where a member is null. Out: fragments
(``columnar.assemble``), whose join shows nulls as :data:`~ticdc_emit.columnar.assemble.NULL`.

Nothing stands around a null, so that the constant between two nullable texts has a few possible forms (with or without
a quote on either side): :class:`ObjectLayout` gathers the right form per row from a small table instead of quoting
every value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import is_
from typing import Any

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.assemble import Fragment, Mask, gather, gathered
from ticdc_emit.columnar.buffers import null_mask

__all__ = ["Laid", "ObjectLayout"]

_BINARY = pa.binary()
_TWO = np.uint8(2)


@dataclass(frozen=True)
class Laid:
    """The layout of an object: the members' texts, and the seams before, between and after them."""

    texts: tuple[pa.Array, ...]
    seams: tuple[Fragment, ...]

    def __iter__(self) -> Iterator[Fragment]:
        for seam, text in zip(self.seams, self.texts, strict=False):
            yield seam
            yield text
        yield self.seams[-1]


@dataclass(frozen=True)
class ObjectLayout:
    """The members of a JSON object: escaped names with quotes and colon (``b'"id":'``), and the bytes around values.

    ``around[i]`` has the bytes before and after the value of member i unless it is null: quotes for a string, nothing
    for a number. ``behind[i]``: the bytes after member i, null or not; ``behind`` is empty if no member has any. The
    joins must show nulls as :data:`~ticdc_emit.columnar.assemble.NULL`.
    """

    names: tuple[bytes, ...]
    around: tuple[tuple[bytes, bytes], ...]
    behind: tuple[bytes, ...] = ()

    def fragments(
        self, texts: Sequence[pa.Array], like: Sequence[pa.Array] = (), seams: Sequence[Fragment] = ()
    ) -> Laid:
        """Lay out ``{...}`` with every member; ``texts[i]`` is member i's content, null where the member is ``null``.

        Where ``texts`` has the same array objects as an earlier call's texts ``like``, that call's ``seams`` are used
        again.
        """
        masks = [null_mask(text) if any(around) else None for text, around in zip(texts, self.around, strict=True)]
        between: list[Fragment] = []
        for place in range(len(texts) + 1):
            neighbours = slice(max(place - 1, 0), place + 1)
            if seams and all(map(is_, texts[neighbours], like[neighbours])):
                between.append(seams[place])
                continue
            was_null = masks[place - 1] if place else None
            is_null = masks[place] if place < len(texts) else None
            between.append(self._seams[place].fragment(was_null, is_null))
        return Laid(tuple(texts), tuple(between))

    def enclosed_fragments(self, texts: Sequence[pa.Array]) -> Laid:
        """Lay out ``{...}`` with every member; the texts are :func:`~ticdc_emit.columnar.assemble.enclosed`."""
        return Laid(tuple(texts), self._between)

    @cached_property
    def _between(self) -> tuple[bytes, ...]:
        return (*((self._before(place) if place else b"{") + name for place, name in enumerate(self.names)), self._end)

    def _before(self, place: int) -> bytes:
        return self._behind(place - 1) + b"," if place else b""

    def _behind(self, place: int) -> bytes:
        return self.behind[place] if self.behind else b""

    @property
    def _end(self) -> bytes:
        return self._behind(-1) + b"}" if self.names else b"{}"

    @cached_property
    def _seams(self) -> tuple[_Seam, ...]:
        closes = (b"{", *(close for _, close in self.around))
        betweens = (
            *(self._before(place) + name for place, name in enumerate(self.names)),
            self._end.removeprefix(b"{"),
        )
        openings = (*(opening for opening, _ in self.around), b"")
        return tuple(map(_Seam, closes, betweens, openings))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.names, self.around, self.behind)  # derived values are computed again

    def sparse_fragments(self, texts: Sequence[pa.Array], shown: Sequence[Mask]) -> list[Fragment]:
        """Lay out ``{...}`` with only the members that ``shown[i]`` marks per row; ``texts[i]`` is empty elsewhere."""
        laid: list[Fragment] = [b"{"]
        closes, last = (b"", b"", b""), np.zeros(len(shown[0]) if shown else 0, np.uint8)
        begun = np.zeros(len(last), np.bool_)
        for place, (text, visible) in enumerate(zip(texts, shown, strict=True)):
            nulls = null_mask(text)
            filled = visible if nulls is None else visible & ~nulls
            name, (opening, closing) = self.names[place], self.around[place]
            opened = [b"", name, name + opening, b"," + name, b"," + name + opening]
            index = visible * (1 + filled.astype(np.uint8)) + (visible & begun) * np.uint8(2)
            forms = [close + form for close in closes for form in opened]
            laid += [gather(forms, index + np.uint8(len(opened)) * last), text]
            begun = begun | visible
            # what the last member was: none yet, a null, a value
            behind = self._behind(place)
            closes, last = (b"", behind, closing + behind), visible.astype(np.uint8) + filled
        laid.append(gather([close + b"}" for close in closes], last) if len(texts) else b"}")
        return laid


@dataclass(frozen=True)
class _Seam:
    """The bytes between two values: the end of the first, the next name, and the beginning of the second.

    A null has neither end nor beginning, so there are four forms, made once.
    """

    close: bytes
    between: bytes
    opening: bytes

    def fragment(self, was_null: Mask | None, is_null: Mask | None) -> Fragment:
        """Return the seam of each row, by the nulls before and after it. ``None`` means no nulls."""
        if was_null is None and is_null is None:
            return self._plain
        if was_null is None:
            assert is_null is not None
            return gathered(self._before_null, is_null.view(np.uint8))
        if is_null is None:
            return gathered(self._behind_null, was_null.view(np.uint8))
        return gathered(self._amid_nulls, was_null.view(np.uint8) * _TWO + is_null.view(np.uint8))

    @cached_property
    def _plain(self) -> bytes:
        return self.close + self.between + self.opening

    @cached_property
    def _before_null(self) -> pa.Array:
        return pa.array([self._plain, self.close + self.between], _BINARY)

    @cached_property
    def _behind_null(self) -> pa.Array:
        return pa.array([self._plain, self.between + self.opening], _BINARY)

    @cached_property
    def _amid_nulls(self) -> pa.Array:
        opened = [self.between + self.opening, self.between]
        return pa.array([*(self.close + form for form in opened), *opened], _BINARY)
