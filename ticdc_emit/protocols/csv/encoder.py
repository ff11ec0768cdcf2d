"""CSV, written: one line per row change; with ``output-old-value`` an update is two.

A line is operation, table, schema, then what the options add (commit_ts, whether it belongs to an update, the row's
handle), then the columns without virtual ones. There are neither keys nor DDL nor watermarks. Rule source:
``pkg/sink/codec/csv`` of pingcap/tiflow and pingcap/ticdc.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import pyarrow as pa

from ticdc_emit.changes.codec import Codec, refuse_empty
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes, Encoded, Op, json_overhead
from ticdc_emit.changes.row_keys import handle_texts
from ticdc_emit.columnar.assemble import Fragment, gathered, join
from ticdc_emit.columnar.avro import refuse_enum_zero
from ticdc_emit.columnar.binary_text import base64_text, hex_text
from ticdc_emit.columnar.csv_text import field, number_fields, text_fields
from ticdc_emit.columnar.strings import label_text
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.config import ChangefeedConfig, CodecConfig
from ticdc_emit.config.switches import CsvSwitches
from ticdc_emit.protocols.row_images import images_of, refuse_values
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import FLOAT_TYPES, LABEL_TYPES, WHOLE_TYPES, MySQLType

META = "ticdc-meta$"
"""What the names of a header's first fields begin with."""
_FORM = "csv"
_NO_LABEL = "an ENUM without a label: TiCDC fails here"
_OPERATIONS = {Op.INSERT: b"I", Op.UPDATE: b"U", Op.DELETE: b"D"}


@dataclass(frozen=True)
class CsvRows:
    table: TableInfo
    options: CodecConfig
    switches: CsvSwitches
    refuses_large: ClassVar[bool] = False

    @property
    def reads_old(self) -> bool:
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
        """Refuse rows without columns or without a handle that is needed, and 0 in an ENUM, at which TiCDC fails."""
        refuse_empty(self.table)
        if self._shows_handles:
            _ = handle_texts(changes)
        for image in images_of(changes, self.reads_old):
            for column in self.table.data_columns:
                if column.type is MySQLType.ENUM:
                    refuse_values(image, column, partial(refuse_enum_zero, column, reason=_NO_LABEL))

    def encode(self, changes: Changes) -> Encoded:
        if changes.op is Op.UPDATE and self.reads_old:
            lines = [*self._laid(changes, Op.DELETE, changes.old), *self._laid(changes, Op.INSERT, changes.current)]
        else:
            lines = [*self._laid(changes, changes.op, changes.current)]
        return Encoded(join(lines, len(changes), self._null))

    @property
    def _shows_handles(self) -> bool:
        return self.options.csv.output_handle_key and self.switches.handle_keys == "shown"

    @cached_property
    def _delimiter(self) -> bytes:
        return self.options.csv.delimiter.encode()

    @cached_property
    def _quote(self) -> bytes:
        return self.options.csv.quote.encode()

    @cached_property
    def _null(self) -> bytes:
        return self._delimiter + self.options.csv.null.encode()

    def _text(self, text: str) -> bytes:
        return field(text.encode(), self._delimiter, self._quote)

    def _texts(self, texts: pa.Array) -> pa.Array:
        return text_fields(texts, self._delimiter, self._quote)

    def _fields(self, column: Column, values: pa.Array) -> pa.Array:
        if pa.types.is_dictionary(values.type):
            return gathered(self._fields(column, values.dictionary), values.indices)
        if column.type in WHOLE_TYPES or column.type in FLOAT_TYPES:
            return number_fields(values, self._delimiter)
        if column.type in LABEL_TYPES:
            return self._texts(label_text(column, values))
        if column.is_binary:
            hexadecimal = self.options.csv.binary_encoding_method == "hex"
            return self._texts((hex_text if hexadecimal else base64_text)(values))
        return self._texts(plain_text(column, values))

    @cached_property
    def _names(self) -> bytes:
        return self._delimiter.join((b"", self._text(self.table.name), self._text(self.table.schema)))

    def _laid(self, changes: Changes, operation: Op, image: Image) -> Iterator[Fragment]:
        csv = self.options.csv
        yield self._text(_OPERATIONS[operation].decode())
        yield changes.constant(lambda encoder: encoder._names)
        if csv.include_commit_ts:
            yield self._delimiter
            yield changes.commit_ts_text
        if csv.output_old_value:
            yield self._delimiter + (b"true" if changes.op is Op.UPDATE else b"false")
        if self._shows_handles:
            yield self._texts(handle_texts(changes))
        yield from image.rendered_all(self.table.data_columns, _FORM, self._fields)
        yield self.options.terminator.encode()


@dataclass(frozen=True)
class Csv(Codec):
    """Statements are in schema files, and how far the files are, ``metadata`` says."""

    options: CodecConfig
    switches: CsvSwitches

    def rows(self, table: TableInfo) -> CsvRows:
        return CsvRows(table, self.options, self.switches)


def make_codec(changefeed: ChangefeedConfig) -> Csv:
    return Csv(changefeed.codec, changefeed.release.csv)
