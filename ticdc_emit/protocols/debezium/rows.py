"""The layout of Debezium row messages: which constants, which rendered columns, in which order.

In: changes. Out: keys and values. Rule sources: protocol document "DML"; semantics 2.4; reference ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (EncodeKey, EncodeValue). Key order of a value::

    payload(source ts_ms transaction op [before] after) [schema]

A delete has ``after`` first. The schema is the same for every row of a table version: made once, a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa

from ticdc_emit.changes.codec import Encoded
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes, Op, json_overhead
from ticdc_emit.columnar.assemble import NULL, Fragment, join, share
from ticdc_emit.columnar.buffers import to_text
from ticdc_emit.columnar.value_errors import ValueFault
from ticdc_emit.errors import InvalidValueError, RowError
from ticdc_emit.protocols.connect.envelope import source_parts
from ticdc_emit.protocols.connect.jsontext import json_string
from ticdc_emit.protocols.connect.types import around, content
from ticdc_emit.protocols.debezium.connect import envelope_schema, field_schema, key_schema
from ticdc_emit.protocols.debezium.naming import table_prefix
from ticdc_emit.protocols.debezium.options import DebeziumOptions
from ticdc_emit.protocols.json_members import Members
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import MOMENT_TYPES

__all__ = ["DebeziumRows"]

_FORM = "debezium"
_IMAGES = {Op.INSERT: b'"c","before":null,"after":', Op.UPDATE: b'"u",', Op.DELETE: b'"d","after":null,"before":'}
_NUMBERS = 128  # bytes of the three times in a message, at most
_DEFAULT_USES = 3  # key, before, after


@dataclass(frozen=True)
class DebeziumRows:
    """The row encoder of one table version (see ``changes.codec.RowEncoder``)."""

    table: TableInfo
    options: DebeziumOptions
    reads_old: bool = True
    refuses_large: ClassVar[bool] = False

    def __getstate__(self) -> dict[str, Any]:
        """Leave out derived values: a schema can be larger than its table."""
        return {"table": self.table, "options": self.options, "reads_old": self.reads_old}

    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: names and labels in every image, defaults that replace NULL, the schemas."""
        defaults = sum(len(column.default or "") * 8 * _DEFAULT_USES for column in self.table.data_columns)
        constants = len(self._key_ends[1]) + len(self._value_end) + sum(map(len, self._source))
        return json_overhead(self.table, name_uses=6, label_uses=3) + defaults + constants + _NUMBERS

    @cached_property
    def _object(self) -> Members:
        return self._members(self.table.data_columns)

    @cached_property
    def _key_object(self) -> Members | None:
        """The members of keys, or ``None``: virtual columns are null, and stand with the names of those behind them."""
        columns: list[Column] = []
        names: list[bytes] = []
        nulls = b""
        for column in self._key_columns:
            name = nulls + json_string(column.name) + b":"
            if column.is_virtual:
                nulls = name + b"null,"
            else:
                columns.append(column)
                names.append(name)
                nulls = b""
        if nulls and not columns:
            return None
        last = b"," + nulls[:-1] if nulls else b""
        return Members(tuple(columns), tuple(names), _FORM, self._content, around, last=last)

    @cached_property
    def _key_columns(self) -> tuple[Column, ...]:
        return self.table.handle_key if self.options.switches.key_columns == "selected" else self.table.shown_handle_key

    def _members(self, columns: tuple[Column, ...]) -> Members:
        names = tuple(json_string(column.name) + b":" for column in columns)
        return Members(columns, names, _FORM, self._content, around)

    @cached_property
    def _prefix(self) -> str:
        return table_prefix(self.options.cluster_id, self.table)

    @cached_property
    def _source(self) -> tuple[bytes, bytes, bytes]:
        return source_parts(self.options.cluster_id, self.table.schema, self.table.name)

    @cached_property
    def _key_ends(self) -> tuple[bytes, bytes]:
        if self.options.disable_schema:
            return b'{"payload":', b"}"
        tidb_type = self.options.enable_tidb_extension
        fields = [field_schema(column, tidb_type=tidb_type) for column in self._key_columns]
        return b'{"payload":', b',"schema":%s}' % key_schema(self._prefix, fields)

    @cached_property
    def _value_end(self) -> bytes:
        if self.options.disable_schema:
            return b"}}"
        return b'},"schema":%s}' % envelope_schema(self._prefix, self.table, self.options)

    @cached_property
    def _refusable(self) -> tuple[Column, ...]:
        """The columns with accepted values that the protocol cannot represent."""
        return tuple(
            column
            for column in self.table.data_columns
            if column.type in MOMENT_TYPES or (column.nullable and column.default is not None)
        )

    def check(self, changes: Changes) -> None:
        """Refuse local times that do not exist, and NULL if the default that replaces it is not a value.

        Raises :class:`~ticdc_emit.errors.InvalidValueError`.
        """
        if self.options.include_start_ts:
            _ = changes.start_tsos  # kept for the messages
        images = [changes.current]
        if changes.op is Op.UPDATE and self.reads_old:
            images.append(changes.old)
        for image in images:
            for column in self._refusable:
                try:
                    self._object.text(image, column)
                except ValueFault:
                    raise self._refusal(column, image) from None

    def encode(self, changes: Changes) -> Encoded:
        """Return key and value of each change."""
        count = len(changes)
        values, keys = join(self._value(changes), count, NULL), join(self._key(changes), count, NULL)
        if self.options.disable_schema:
            return Encoded(values, keys)
        return Encoded(values, keys, ends=changes.long_constant(self, lambda encoder: encoder._value_end))

    def _key(self, changes: Changes) -> list[Fragment]:
        start, end = self._key_ends[0], changes.constant(self, lambda encoder: encoder._key_ends[1])
        if self._key_object is None:
            return [
                start,
                b"{%s}" % b",".join(json_string(column.name) + b":null" for column in self._key_columns),
                end,
            ]
        return [start, *self._key_object.laid(changes.current), end]

    def _value(self, changes: Changes) -> list[Fragment]:
        first, _, third = self._source
        second = changes.constant(self, lambda encoder: encoder._source[1])
        laid: list[Fragment] = [b'{"payload":', first, changes.commit_ms_text, second, changes.commit_ts_text]
        if self.options.include_start_ts:
            laid += [b',"start_ts":', to_text(changes.start_tsos)]
        laid += [third, changes.build_ms_text, b',"transaction":null,"op":', _IMAGES[changes.op]]
        return [*laid, *self._images(changes), *([self._value_end] if self.options.disable_schema else ())]

    def _images(self, changes: Changes) -> list[Fragment]:
        shown = self._object.laid(changes.current)
        if changes.op is not Op.UPDATE:
            return list(shown)
        if not self.reads_old:
            return [b'"after":', *shown]
        old = self._object.laid(changes.old, shown)
        before, after = share(list(old), list(shown), len(changes), NULL)
        return [b'"before":', *before, b',"after":', *after]

    def _content(self, column: Column, values: pa.Array) -> pa.Array:
        return content(column, values, self.options.reading)

    def _refusal(self, column: Column, image: Image) -> RowError:
        """Return the error of a column that was refused, by the row's place in the whole batch."""
        values = image.values(column)

        def error(fault: ValueFault, row: dict[str, object]) -> InvalidValueError:
            return InvalidValueError(
                fault.reason, remedy=fault.remedy, table=self.table.full_name, column=column.name, row=row
            )

        try:
            self._content(column, values)
        except ValueFault as fault:
            return image.refusal(fault, values, lambda part: self._content(column, part), error)
        raise AssertionError("a value is refused wherever it stands")
