"""The images of rows, as JSON objects (:class:`Members`) or as entries of binary messages (:class:`BinaryImages`).

The number of rows decides which way costs least, and changes no byte: with many rows, the constants around nullable
values are gathered by their nulls; with few rows of many tables, they are rendered with the values, and columns of one
kind are rendered together. What an update does not change in any row is laid out once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import pyarrow as pa

from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes, Op
from ticdc_emit.columnar.assemble import Laid, ObjectLayout, enclosed
from ticdc_emit.columnar.avro import long_pieces, zigzag_bytes
from ticdc_emit.columnar.epochs import commit_times
from ticdc_emit.columnar.packed_fields import Piece, elements_of, join_pieces
from ticdc_emit.columnar.small_batches import Pieces, Render
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.schema.model import Column


@dataclass(frozen=True)
class Members:
    """The members that objects show. ``form`` names the rendering ``content``; neither it nor ``around``, what encloses
    a value that is not null, reads column names. ``behind``: what follows every member; ``last``: the last one.
    """

    columns: tuple[Column, ...]
    names: tuple[bytes, ...]
    form: str
    content: Render
    around: Callable[[Column], tuple[bytes, bytes]]
    behind: bytes = b""
    last: bytes = b""

    def laid(self, image: Image, like: Laid | None = None) -> Laid:
        """Lay out the object of each row; ``like``: the object of an image with which this one shares most arrays."""
        if image.is_small:
            texts = image.rendered_all(self.columns, self._enclosed_form, self._enclosed)
            return Laid(tuple(texts), self.layout.enclosed_seams)
        texts = [self.text(image, column) for column in self.columns]
        return self.layout.fragments(texts) if like is None else self.layout.fragments(texts, like.texts, like.seams)

    def text(self, image: Image, column: Column) -> pa.Array:
        """Return what an object shows of a column, in the form in which :meth:`laid` needs it."""
        if image.is_small:
            return image.rendered(column, self._enclosed_form, self._enclosed)
        return image.rendered(column, self.form, self.content)

    @cached_property
    def layout(self) -> ObjectLayout:
        behind = [self.behind] * len(self.columns) or [b""]
        behind[-1] += self.last
        return ObjectLayout(self.names, tuple(map(self.around, self.columns)), tuple(behind))

    @cached_property
    def _enclosed_form(self) -> str:
        return f"{self.form}, enclosed"

    def _enclosed(self, column: Column, values: pa.Array) -> pa.Array:
        # a content may show something in place of null, which a dictionary does not hold
        if not pa.types.is_dictionary(values.type) or values.null_count:
            return enclosed(self.content(column, values), self.around(column))
        return enclosed(self.content(column, values.dictionary), self.around(column)).take(values.indices)


def invalid_value(image: Image, column: Column, fault: ValueRefused, row: dict[str, object]) -> InvalidValueError:
    """Return the error of a value that the protocol cannot represent; ``row``: what names its row."""
    return InvalidValueError(
        fault.reason, remedy=fault.remedy, table=image.table.full_name, column=column.name, row=row
    )


def refuse_values(image: Image, column: Column, check: Callable[[pa.Array], object]) -> None:
    """Raise :class:`InvalidValueError` for values that ``check`` refuses, by their rows' places in the batch."""
    values = image.values(column)
    try:
        check(values)
    except ValueRefused as fault:
        raise image.refusal(fault, values, check, partial(invalid_value, image, column)) from None


def images_of(changes: Changes, reads_old: bool) -> list[Image]:
    """Return the images that messages show: the current or last one, and that before an update if ``reads_old``."""
    return [changes.current, changes.old] if changes.op is Op.UPDATE and reads_old else [changes.current]


_MOSTLY = 0.5  # share of changed rows from which a column's both images are packed rather than gathered


class BinaryImages:
    """``form`` names the pieces that ``value`` makes; ``leads``: the bytes before each value, by column name."""

    def __init__(self, form: str, value: Pieces, leads: Mapping[str, bytes] | None = None) -> None:
        self._form, self._joined_form = form, f"{form}, joined"
        self._value = value
        self._leads = {} if leads is None else leads

    def entry(self, column: Column, image: Image) -> list[Piece]:
        """Lay out one column of an image."""
        if image.is_small:
            return self.joined(column, image)
        return self._led(column, image.pieces(column, self._form, self._value))

    def entries(self, columns: Sequence[Column], image: Image) -> list[Piece]:
        """Lay out columns of an image, one after the other."""
        if not image.is_small:
            made = (self._led(column, image.pieces(column, self._form, self._value)) for column in columns)
            return [piece for entry in made for piece in entry]
        if not self._leads:
            return [*image.rendered_rows(columns, self._joined_form, self._join, self._lay)]
        joined = image.rendered_all(columns, self._joined_form, self._join)
        return [piece for column, each in zip(columns, joined, strict=True) for piece in self._led(column, [each])]

    def joined(self, column: Column, image: Image) -> list[Piece]:
        """Lay out one column of an image as an array that the image keeps."""
        return self._led(column, [image.rendered(column, self._joined_form, self._join)])

    def _led(self, column: Column, pieces: Sequence[Piece]) -> list[Piece]:
        lead = self._leads.get(column.name)
        return [lead, *pieces] if lead else [*pieces]

    def _join(self, column: Column, values: pa.Array) -> pa.Array:
        return join_pieces(self._value(column, values), len(values))

    def _lay(self, column: Column, values: pa.Array) -> list[pa.Array]:
        return elements_of(self._value(column, values), len(values))

    def both(self, changes: Changes, columns: Sequence[Column]) -> tuple[list[list[Piece]], list[list[Piece]]]:
        """Lay out after and before of updates; an entry of both is the same object where nothing of it changed."""
        data: list[list[Piece]] = []
        old: list[list[Piece]] = []
        after, before = changes.current, changes.old
        for column in columns:
            changed = before.differs(column)
            if changed is None:
                data.append(self.entry(column, after))
                old.append(data[-1])
                continue
            lay = self.entry if changed.mean() > _MOSTLY else self.joined
            data.append(lay(column, after))
            old.append(lay(column, before))
        return data, old


def commit_ts_pieces(changes: Changes) -> Sequence[Piece]:
    """Return the TSO of each change as a ``long``."""
    return changes.commit_pieces("binary commit_ts", lambda column, stamps: long_pieces(stamps))


def build_time_pieces(changes: Changes) -> Sequence[Piece]:
    """Return the time, in ms, at which the messages are made; by default each change's commit time."""
    if changes.build_ts is not None:
        return [zigzag_bytes(changes.build_ts)]
    return changes.commit_pieces("binary build times", lambda column, stamps: long_pieces(commit_times(stamps)))
