"""Columns as the members of JSON objects that show images.

In: images. Out: objects laid out (``columnar.assemble``). How many rows there are decides how a nullable member is
made at the least cost, and changes no byte: of many rows, what stands around values is gathered by their nulls; where
few rows of many tables are made together, it is rendered with the values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.assemble import Laid, ObjectLayout, enclosed
from ticdc_emit.columnar.small_batches import Render
from ticdc_emit.schema.model import Column

__all__ = ["Members"]


@dataclass(frozen=True)
class Members:
    """The members that objects show. ``names``: of each, escaped, with quotes and colon.

    ``form`` names the rendering ``content``; ``around``: what opens and closes a value of a column that is not null.
    Neither reads the name of a column. ``behind``: what stands behind every member; ``last``: behind the last one.
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
        if image.is_pooled:
            return self.layout.enclosed_fragments(image.rendered_all(self.columns, self._enclosed_form, self._enclosed))
        texts = [self.text(image, column) for column in self.columns]
        return self.layout.fragments(texts) if like is None else self.layout.fragments(texts, like.texts, like.seams)

    def text(self, image: Image, column: Column) -> pa.Array:
        """Return what an object shows of a column, in the form in which :meth:`laid` needs it."""
        if image.is_pooled:
            return image.rendered(column, self._enclosed_form, self._enclosed)
        return image.rendered(column, self.form, self.content)

    @cached_property
    def layout(self) -> ObjectLayout:
        """The object's constants."""
        behind = [self.behind] * len(self.columns)
        if behind:
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
