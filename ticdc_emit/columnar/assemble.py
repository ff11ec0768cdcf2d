"""The assembler: makes the messages of a whole batch from constant bytes and rendered columns.

A message is a sequence of **fragments**: ``bytes``, the same for every row, or a string or binary array. The cost is
per fragment, so neighbouring constants are merged. A null counts as empty, or as given bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from operator import is_
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import binary_scalar, from_bytes, from_element, inserted, null_mask, text_buffers

Fragment: TypeAlias = "bytes | pa.Array"
Mask: TypeAlias = "npt.NDArray[np.bool_]"

NULL = b"null"
_BINARY, _STRING = pa.binary(), pa.string()
_WHOLE = pc.JoinOptions(null_handling="emit_null")
_IN_BOUNDS = pc.TakeOptions(boundscheck=False)
_MANY = 256  # rows, from which their lengths are worth a look
_SOONER_TOGETHER = 512  # texts that are sooner enclosed as one text with marks in it
_MOST_BYTES = (1 << 31) - 1  # of an array
_TWO = np.uint8(2)


def join(fragments: Iterable[Fragment], count: int, null: bytes = b"") -> pa.Array:
    """Return a ``binary`` array of ``count`` messages; ``null``: the bytes for a null."""
    if count == 1:
        return from_element(row_of(fragments, null))
    pieces: list[pa.Scalar | pa.Array] = []
    constant, constants = b"", True
    fragments = list(fragments)
    if count >= _MANY and (rows := _equal_rows(fragments, count)) is not None:
        return rows
    for fragment in fragments:
        if isinstance(fragment, bytes):
            constant += fragment
            continue
        if constant:
            pieces.append(binary_scalar(constant))
            constant = b""
        constants = False
        pieces.append(fragment.view(_BINARY) if fragment.type == _STRING else fragment)
    if constants:
        return pa.repeat(pa.scalar(constant, _BINARY), count)
    if constant:
        pieces.append(binary_scalar(constant))
    pieces.append(binary_scalar(b""))
    return pc.call_function("binary_join_element_wise", pieces, _filled(null))


def row_of(fragments: Iterable[Fragment], null: bytes = b"") -> bytearray:
    """Return a single message, for which a kernel would be called in vain. ``null``: as in :func:`join`."""
    row = bytearray()
    for fragment in fragments:
        if not isinstance(fragment, bytes):
            (held,) = fragment.view(_BINARY).to_pylist()
            fragment = null if held is None else held
        row += fragment
    return row


def _equal_rows(fragments: Sequence[Fragment], count: int) -> pa.Array | None:
    """Return the messages as rows of a byte matrix, which costs a fifth; ``None`` if lengths differ within a column."""
    row, columns = bytearray(), []
    for fragment in fragments:
        if isinstance(fragment, bytes):
            row += fragment
            continue
        if fragment.null_count:
            return None
        parts = text_buffers(fragment)
        width, rest = divmod(len(parts.data), count)
        if rest or (parts.lengths != width).any():
            return None
        columns.append((len(row), parts.data, width))
        row += bytes(width)
    length = len(row)
    if not columns or not 0 < length * count <= _MOST_BYTES:
        return None
    rows = np.frombuffer(row * count, np.uint8)
    for place, data, width in columns:
        if width:
            cells = np.dtype(f"V{width}")
            np.ndarray(count, cells, rows, place, length)[:] = data.view(cells)
    return from_bytes(np.arange(0, len(rows) + 1, length, dtype=np.int32), rows, binary=True)


@cache
def _filled(null: bytes) -> pc.JoinOptions:
    return pc.JoinOptions(null_handling="replace", null_replacement=null)


def gather(forms: Sequence[bytes], index: npt.NDArray[np.uint8] | npt.NDArray[np.int32]) -> Fragment:
    """Return for each row the form at ``index``."""
    return gathered(pa.array(forms, _BINARY), index)


def enclosed(text: pa.Array, around: tuple[bytes, bytes]) -> pa.Array:
    """Return each text with what opens and closes it, null where it is null."""
    whole = text.view(_BINARY) if text.type == _STRING else text
    if not any(around):
        return whole
    opening, closing = around
    if len(whole) < _SOONER_TOGETHER:
        pieces = [binary_scalar(opening), whole, binary_scalar(closing), binary_scalar(b"")]
        return pc.call_function("binary_join_element_wise", pieces, _WHOLE)
    parts, between = text_buffers(whole), closing + opening
    data = inserted(parts.data, parts.offsets, between)  # also before the first and after the last: a part of it
    grown = parts.offsets + np.arange(len(parts.offsets), dtype=np.int32) * np.int32(len(between))
    return from_bytes(grown, data[len(closing) : len(data) - len(opening)], like=whole, binary=True)


def blank_where(text: pa.Array, hidden: Mask) -> pa.Array:
    """Return texts of which nothing is shown where they are hidden."""
    return pc.if_else(pa.array(hidden), pa.scalar(b"", text.type), text) if hidden.any() else text


def gathered(forms: pa.Array, index: npt.NDArray[np.uint8] | npt.NDArray[np.int32] | pa.Array) -> pa.Array:
    """Return for each row the form at ``index``, of forms in an array."""
    places = index if isinstance(index, pa.Array) else pa.array(index)
    return pc.call_function("array_take", [forms, places], _IN_BOUNDS)


def reuse_equal(
    one: Sequence[Fragment], other: Sequence[Fragment], count: int, null: bytes = b""
) -> tuple[list[Fragment], list[Fragment]]:
    """Join the runs that two equally long sequences have in common once: those of an update are mostly the same."""
    shared: tuple[list[Fragment], list[Fragment]] = ([], [])
    # arrays are not compared by their values: that would cost more than it saves
    for same, run in groupby(
        zip(one, other, strict=True),
        key=lambda pair: pair[0] is pair[1] or (type(pair[0]) is type(pair[1]) is bytes and pair[0] == pair[1]),
    ):
        left, right = zip(*run, strict=True)
        if same and sum(not isinstance(fragment, bytes) for fragment in left) > 1:
            left = right = (join(left, count, null),)
        shared[0].extend(left)
        shared[1].extend(right)
    return shared


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
    """The members of a JSON object: escaped names with quotes and colon, and the bytes before and after values.

    ``around[i]`` are those of a value that is not null, ``behind[i]`` follow member i, null or not (without members
    ``behind`` has one entry). Joins must show nulls as :data:`~ticdc_emit.columnar.assemble.NULL`.
    """

    names: tuple[bytes, ...]
    around: tuple[tuple[bytes, bytes], ...]
    behind: tuple[bytes, ...]

    def fragments(
        self, texts: Sequence[pa.Array], like: Sequence[pa.Array] = (), seams: Sequence[Fragment] = ()
    ) -> Laid:
        """Lay out ``{...}``; a null text is ``null``. ``seams``: those of an earlier call whose texts were ``like``."""
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

    @cached_property
    def enclosed_seams(self) -> tuple[bytes, ...]:
        """The seams of ``{...}`` with every member, whose texts are :func:`enclosed`."""
        return (*((self._before(place) if place else b"{") + name for place, name in enumerate(self.names)), self._end)

    def _before(self, place: int) -> bytes:
        return self.behind[place - 1] + b"," if place else b""

    @property
    def _end(self) -> bytes:
        return (b"" if self.names else b"{") + self.behind[-1] + b"}"

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
            behind = self.behind[place]
            closes, last = (b"", behind, closing + behind), visible.astype(np.uint8) + filled
        laid.append(gather([close + b"}" for close in closes], last) if len(texts) else b"}")
        return laid


@dataclass(frozen=True)
class _Seam:
    """The bytes between two values. A null has neither end nor beginning, so there are four forms, made once."""

    close: bytes
    between: bytes
    opening: bytes

    def fragment(self, was_null: Mask | None, is_null: Mask | None) -> Fragment:
        """Return the seam of each row, by the nulls before and after it. ``None`` means no nulls."""
        if was_null is None and is_null is None:
            return self._plain
        if was_null is None:
            assert is_null is not None
            return gathered(self._amid_nulls, is_null.view(np.uint8))
        if is_null is None:
            return gathered(self._behind_null, was_null.view(np.uint8))
        return gathered(self._amid_nulls, was_null.view(np.uint8) * _TWO + is_null.view(np.uint8))

    @cached_property
    def _plain(self) -> bytes:
        return self.close + self.between + self.opening

    @cached_property
    def _behind_null(self) -> pa.Array:
        return pa.array([self._plain, self.between + self.opening], _BINARY)

    @cached_property
    def _amid_nulls(self) -> pa.Array:
        opened = [self.between + self.opening, self.between]
        return pa.array([*(self.close + form for form in opened), *opened], _BINARY)
