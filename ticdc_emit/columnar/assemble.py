"""The assembler: messages of a whole batch from constant bytes and rendered columns.

A **fragment** is ``bytes`` (the same for every row) or a string/binary array (one piece per row; null counts as
empty). A message is a sequence of fragments; :func:`join` makes all messages of the batch at once. The cost is per
fragment, so neighbouring constants are merged.

Between two nullable members of a JSON object the constant has a few possible forms (quote or ``null`` on either side);
:class:`ObjectLayout` gathers the right form per row from a small table instead of quoting every value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import is_
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import null_mask

__all__ = ["Fragment", "Laid", "Mask", "ObjectLayout", "gather", "join", "share"]

Fragment: TypeAlias = "bytes | pa.Array"
Mask: TypeAlias = "npt.NDArray[np.bool_]"


def join(fragments: Iterable[Fragment], count: int) -> pa.Array:
    """Return a ``binary`` array of ``count`` messages, each the concatenation of its fragments."""
    pieces: list[pa.Scalar | pa.Array] = []
    constant = b""
    for fragment in fragments:
        if isinstance(fragment, bytes):
            constant += fragment
            continue
        if constant:
            pieces.append(pa.scalar(constant, pa.binary()))
            constant = b""
        pieces.append(fragment.view(pa.binary()) if pa.types.is_string(fragment.type) else fragment)
    if constant:
        pieces.append(pa.scalar(constant, pa.binary()))
    if not any(isinstance(piece, pa.Array) for piece in pieces):
        return pa.repeat(pa.scalar(b"".join(piece.as_py() for piece in pieces), pa.binary()), count)
    separator = pa.scalar(b"", pa.binary())
    return pc.binary_join_element_wise(*pieces, separator, null_handling="replace", null_replacement=b"")


def gather(forms: Sequence[bytes], index: npt.NDArray[np.uint8]) -> Fragment:
    """Return per row the form that ``index`` names."""
    return pa.array(forms, pa.binary()).take(pa.array(index))


@dataclass(frozen=True)
class Laid:
    """An object laid out: the members' texts, and the seams before, between and behind them."""

    texts: tuple[pa.Array, ...]
    seams: tuple[Fragment, ...]

    def __iter__(self) -> Iterator[Fragment]:
        for seam, text in zip(self.seams, self.texts, strict=False):
            yield seam
            yield text
        yield self.seams[-1]


def share(one: Sequence[Fragment], other: Sequence[Fragment], count: int) -> tuple[list[Fragment], list[Fragment]]:
    """Join the runs that two equally long sequences have in common once, for both.

    The before and after objects of an update are mostly the same arrays: what is joined once is not joined twice.
    """
    shared: tuple[list[Fragment], list[Fragment]] = ([], [])
    for same, run in groupby(zip(one, other, strict=True), key=lambda pair: pair[0] is pair[1] or _equal(*pair)):
        left, right = zip(*run, strict=True)
        if same and sum(not isinstance(fragment, bytes) for fragment in left) > 1:
            left = right = (join(left, count),)
        shared[0].extend(left)
        shared[1].extend(right)
    return shared


def _equal(one: Fragment, other: Fragment) -> bool:
    return isinstance(one, bytes) and isinstance(other, bytes) and one == other


@dataclass(frozen=True)
class ObjectLayout:
    """The members of a JSON object: escaped names with quotes and colon (``b'"id":'``), and what stands around values.

    ``around[i]`` is what opens and closes member i where it is not null: quotes of a string, nothing for a bare number.
    """

    names: tuple[bytes, ...]
    around: tuple[tuple[bytes, bytes], ...]

    def fragments(
        self, texts: Sequence[pa.Array], like: Sequence[pa.Array] = (), seams: Sequence[Fragment] = ()
    ) -> Laid:
        """Lay out ``{...}`` with every member; ``texts[i]`` is member i's content, null where the member is ``null``.

        Where ``texts`` holds the very arrays of an earlier call's texts ``like``, that call's ``seams`` serve again.
        """
        masks: list[Mask | None] = [null_mask(text) for text in texts]
        made: list[Fragment] = []
        for place in range(len(texts) + 1):
            neighbours = slice(max(place - 1, 0), place + 1)
            if seams and all(map(is_, texts[neighbours], like[neighbours])):
                made.append(seams[place])
                continue
            left = (self.around[place - 1][1], masks[place - 1]) if place else (b"{", None)
            if place < len(texts):
                name = self.names[place]
                made.append(_seam(*left, b"," + name if place else name, self.around[place][0], masks[place]))
            else:
                made.append(_seam(*left, b"}", b"", None))
        return Laid(tuple(texts), tuple(made))

    def sparse_fragments(self, texts: Sequence[pa.Array], shown: Sequence[Mask]) -> list[Fragment]:
        """Lay out ``{...}`` with only the members that ``shown[i]`` marks per row; ``texts[i]`` is null elsewhere."""
        laid: list[Fragment] = [b"{"]
        close, open_quote = b"", np.zeros(len(shown[0]) if shown else 0, np.uint8)
        begun = np.zeros(len(open_quote), np.bool_)
        for place, (text, visible) in enumerate(zip(texts, shown, strict=True)):
            nulls = null_mask(text)
            filled = visible if nulls is None else visible & ~nulls
            name, (opening, closing) = self.names[place], self.around[place]
            opened = [b"", name + b"null", name + opening, b"," + name + b"null", b"," + name + opening]
            index = visible * (1 + filled.astype(np.uint8)) + (visible & begun) * np.uint8(2)
            laid += [gather(opened + [close + form for form in opened], index + np.uint8(5) * open_quote), text]
            begun = begun | visible
            close, open_quote = closing, filled.astype(np.uint8)
        laid.append(gather([b"}", close + b"}"], open_quote) if len(texts) else b"}")
        return laid


def _seam(close: bytes, was_null: Mask | None, between: bytes, opening: bytes, is_null: Mask | None) -> Fragment:
    """Return what stands between two values: what closes the one, the name of the next and what opens it."""
    if was_null is None and is_null is None:
        return close + between + opening
    opened = [between + opening, between + b"null"]
    if was_null is None:
        assert is_null is not None
        return gather([close + form for form in opened], is_null.view(np.uint8))
    if is_null is None:
        return gather([close + opened[0], opened[0]], was_null.view(np.uint8))
    return gather(
        [close + form for form in opened] + opened, was_null.view(np.uint8) * np.uint8(2) + is_null.view(np.uint8)
    )
