"""CSV, written: one line per row change; with ``output-old-value`` an update is two.

In: the changes of one table version (:class:`CsvRows`). Out: lines with their terminator, and the header of a file.
There are neither keys nor DDL nor watermarks: the files of a storage sink have tables' schemas beside them. A line is
operation, table, schema, then what the options add (commit_ts, whether it belongs to an update, the row's handle),
then the columns in table order, without virtual ones. Texts are in quotes, numbers are not, NULL is as the option
``null`` says. Rule source: ``pkg/sink/codec/csv`` of pingcap/tiflow and pingcap/ticdc.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import ControlMessage, Encoded, refuse_empty
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes, Op, json_overhead
from ticdc_emit.changes.row_keys import handle_texts
from ticdc_emit.columnar.assemble import Fragment, LineLayout, enclosed, join
from ticdc_emit.columnar.binary_text import base64_text, hex_text
from ticdc_emit.columnar.csv_text import escaped, escaped_content, quoted_content
from ticdc_emit.columnar.floats import general_text
from ticdc_emit.columnar.strings import label_text
from ticdc_emit.columnar.value_errors import refuse_any
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.config import ChangefeedConfig, CodecConfig
from ticdc_emit.config.switches import CsvSwitches
from ticdc_emit.protocols.row_images import refuse_values
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES, LABEL_TYPES, WHOLE_TYPES, MySQLType

META = "ticdc-meta$"
"""What the names of a header's first fields begin with."""
_NUMBERS = WHOLE_TYPES | FLOAT_TYPES
_FORM, _ENCLOSED_FORM = "csv", "csv, enclosed"
_OPERATIONS = {Op.INSERT: b"I", Op.UPDATE: b"U", Op.DELETE: b"D"}


@dataclass(frozen=True)
class _Line:
    """How a line shows texts and columns."""

    options: CodecConfig

    @cached_property
    def delimiter(self) -> bytes:
        return self.options.csv.delimiter.encode()

    @cached_property
    def quote(self) -> bytes:
        return self.options.csv.quote.encode()

    @cached_property
    def null(self) -> bytes:
        return self.options.csv.null.encode()

    def text(self, text: str) -> bytes:
        """Return a constant text as a field."""
        raw = text.encode()
        if self.quote:
            return self.quote + raw.replace(self.quote, self.quote * 2) + self.quote
        return escaped(raw, self.delimiter)

    def content(self, column: Column, values: pa.Array) -> pa.Array:
        """Return the accepted values of a column without the quotes around them."""
        if column.type in FLOAT_TYPES:
            return general_text(values)
        if column.type in _NUMBERS:
            return plain_text(column, values)
        return self.content_of(self._texts(column, values))

    def content_of(self, texts: pa.Array) -> pa.Array:
        """Return texts without the quotes around them."""
        return quoted_content(texts, self.quote) if self.quote else escaped_content(texts, self.delimiter)

    def _texts(self, column: Column, values: pa.Array) -> pa.Array:
        if column.is_binary:
            return (hex_text if self.options.csv.binary_encoding_method == "hex" else base64_text)(values)
        if column.type in LABEL_TYPES:
            return label_text(column, values)
        return plain_text(column, values)

    def around(self, column: Column) -> tuple[bytes, bytes]:
        """Return what opens and closes a value of the column."""
        mark = b"" if column.type in _NUMBERS else self.quote
        return mark, mark

    def enclosed(self, column: Column, values: pa.Array) -> pa.Array:
        """Return the accepted values of a column with the quotes around them."""
        return enclosed(self.content(column, values), self.around(column))


@dataclass(frozen=True)
class CsvRows:
    """The row encoder of one table version (see ``changes.codec.RowEncoder``)."""

    table: TableInfo
    options: CodecConfig
    switches: CsvSwitches
    refuses_large: ClassVar[bool] = False

    @property
    def reads_old(self) -> bool:
        """Whether updates need the old row."""
        return self.options.csv.output_old_value

    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: at most two lines with the labels of every column."""
        return 2 * json_overhead(self.table, name_uses=1, label_uses=1)

    @cached_property
    def header(self) -> bytes:
        """The first line of a file, neither in quotes nor escaped; nothing without ``output-field-header``."""
        csv = self.options.csv
        if not csv.output_field_header:
            return b""
        names = ["operation", "table", "schema"]
        names += ["commit-ts"] * csv.include_commit_ts + ["is-update"] * csv.output_old_value
        fields = [META + name for name in names] + [column.name for column in self.table.data_columns]
        return (csv.delimiter.join(fields) + self.options.terminator).encode()

    def check(self, changes: Changes) -> None:
        """Refuse rows without columns, rows whose handle is needed and not known, and ENUM values without a label.

        Raises :class:`~ticdc_emit.errors.SchemaError` and the errors of ``changes.row_keys``;
        :class:`~ticdc_emit.errors.InvalidValueError` for 0 in an ENUM, at which TiCDC fails.
        """
        refuse_empty(self.table)
        if self._shows_handles:
            _ = handle_texts(changes)
        images = [changes.current]
        if changes.op is Op.UPDATE and self.reads_old:
            images.append(changes.old)
        for image in images:
            for column in self.table.data_columns:
                if column.type is MySQLType.ENUM:
                    refuse_values(image, column, _refuse_zero)

    def encode(self, changes: Changes) -> Encoded:
        """Return one message per change: its line, or the two of an update."""
        if changes.op is Op.UPDATE and self.reads_old:
            both = [*self._laid(changes, Op.DELETE, changes.old), *self._laid(changes, Op.INSERT, changes.current)]
            return Encoded(join(both, len(changes), self._line.null))
        return Encoded(join(self._laid(changes, changes.op, changes.current), len(changes), self._line.null))

    @property
    def _shows_handles(self) -> bool:
        return self.options.csv.output_handle_key and self.switches.handle_keys == "shown"

    @cached_property
    def _line(self) -> _Line:
        return _Line(self.options)

    @cached_property
    def _names(self) -> bytes:
        """Table and schema, between the operation and what the options add."""
        line = self._line
        return line.delimiter.join((b"", line.text(self.table.name), line.text(self.table.schema)))

    @cached_property
    def _layout(self) -> LineLayout:
        around = tuple(map(self._line.around, self.table.data_columns))
        return LineLayout(self._line.delimiter, self._line.delimiter, self.options.terminator.encode(), around)

    def _laid(self, changes: Changes, operation: Op, image: Image) -> Iterator[Fragment]:
        """Lay out one line of each change."""
        line, csv = self._line, self.options.csv
        yield line.text(_OPERATIONS[operation].decode())
        yield changes.constant(lambda encoder: encoder._names)
        if csv.include_commit_ts:
            yield line.delimiter
            yield changes.commit_ts_text
        if csv.output_old_value:
            yield line.delimiter + (b"true" if changes.op is Op.UPDATE else b"false")
        if self._shows_handles:
            yield line.delimiter + line.quote
            yield line.content_of(handle_texts(changes))
            yield line.quote
        columns = self.table.data_columns
        if image.is_small:
            texts = image.rendered_all(columns, _ENCLOSED_FORM, line.enclosed)
            for constant, text in zip(self._layout.constants, texts, strict=False):
                yield constant
                yield text
            yield self._layout.last
        else:
            yield from self._layout.fragments([image.rendered(column, _FORM, line.content) for column in columns])


def _refuse_zero(numbers: pa.Array) -> None:
    values = numbers.dictionary_decode() if pa.types.is_dictionary(numbers.type) else numbers
    zero = pc.equal(values, 0).fill_null(False)
    if zero.true_count:
        refuse_any(np.asarray(zero), "an ENUM without a label: TiCDC fails here", "Give one of the column's labels")


@dataclass(frozen=True)
class Csv:
    """The codec (see ``changes.codec.Codec``)."""

    options: CodecConfig
    switches: CsvSwitches
    compressed_parts: tuple[str, ...] = ()
    refuses_large_schemas: bool = False

    def rows(self, table: TableInfo) -> CsvRows:
        return CsvRows(table, self.options, self.switches)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return no message: a statement is in a schema file."""
        return None

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return no message: how far the files are, ``metadata`` says."""
        return None


def make_codec(changefeed: ChangefeedConfig) -> Csv:
    return Csv(changefeed.codec, changefeed.release.csv)
