"""The layout of Simple JSON row messages: which constants, which rendered columns, in which order.

In: changes. Out: values. Rule sources: protocol document "DML Event"; semantics 2.2, 3.3; reference ``pingcap/tiflow:
pkg/sink/codec/simple/message.go`` (newDMLMessage, encodeValue). Key order of a message::

    version database table tableID type commitTs buildTs schemaVersion [claimCheckLocation] [handleKeyOnly] [checksum]
    [data] [old]

Every value is a JSON string or null, a TIMESTAMP an object of two. ``data`` and ``old`` are Go maps, which print in
bytewise order of the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.codec import Encoded
from ticdc_emit.changes.model import Changes, Op, json_overhead
from ticdc_emit.columnar.assemble import NULL, Fragment, blank_where, gather, join, share
from ticdc_emit.columnar.binary_text import base64_text
from ticdc_emit.columnar.escape import GO_STD
from ticdc_emit.columnar.values import json_content
from ticdc_emit.protocols.json_members import Members
from ticdc_emit.protocols.simple.json_control import json_string
from ticdc_emit.protocols.simple.options import VERSION, SimpleOptions
from ticdc_emit.protocols.simple.rows import ENVELOPE_BYTES, constant_of, named_columns
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import MySQLType

__all__ = ["SimpleJsonRows"]

_FORM = "simple-json"
_STRING = (b'"', b'"')


def _content(column: Column, values: pa.Array) -> pa.Array:
    return base64_text(values) if column.is_binary else json_content(column, values, GO_STD)


@dataclass(frozen=True)
class SimpleJsonRows:
    """The row encoder of one table version (see ``changes.codec.RowEncoder``)."""

    table: TableInfo
    options: SimpleOptions
    reads_old: ClassVar[bool] = True
    refuses_large: ClassVar[bool] = True
    reduces_by_any_option: ClassVar[bool] = True

    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: a column's name is in data and old."""
        return json_overhead(self.table, name_uses=2, label_uses=0) + len(self._prefix) + ENVELOPE_BYTES

    @cached_property
    def _all(self) -> Members:
        return self._members(self.table.data_columns)

    @cached_property
    def _handle_key(self) -> Members:
        return self._members(self.table.handle_key)

    def _members(self, columns: tuple[Column, ...]) -> Members:
        shown = named_columns(columns)
        names = tuple(json_string(column.name) + b":" for column in shown)
        return Members(shown, names, _FORM, _content, self._around)

    def _around(self, column: Column) -> tuple[bytes, bytes]:
        return self._located if column.type is MySQLType.TIMESTAMP else _STRING

    @cached_property
    def _located(self) -> tuple[bytes, bytes]:
        return b'{"location":%s,"value":"' % json_string(self.options.location), b'"}'

    @cached_property
    def _prefix(self) -> bytes:
        names = json_string(self.table.schema), json_string(self.table.name)
        return b'{"version":%d,"database":%s,"table":%s,"tableID":' % (VERSION, *names)

    def check(self, changes: Changes) -> None:
        """Refuse values without a checksum (:class:`~ticdc_emit.errors.InvalidValueError`); every value has a text."""
        if self.options.enable_row_checksum:
            _ = changes.checksums  # kept for the messages

    def encode(self, changes: Changes) -> Encoded:
        """Return one message per change; the key of a Simple row is always empty."""
        return Encoded(join(self._fragments(changes, self._all, []), len(changes), NULL))

    def reduced(self, changes: Changes, locations: Sequence[str] | None) -> Encoded:
        """Return messages with only the handle key's columns, and the location of each stored whole message."""
        marks: list[Fragment] = [b',"handleKeyOnly":true']
        if locations is not None:
            stored = pa.array([json_string(location) for location in locations], pa.binary())
            marks = [b',"claimCheckLocation":', stored, *marks]
        return Encoded(join(self._fragments(changes, self._handle_key, marks), len(changes), NULL))

    def _fragments(self, changes: Changes, members: Members, marks: list[Fragment]) -> list[Fragment]:
        """Lay out messages with ``members``, and with ``marks`` before the checksum."""
        prefix = changes.constant(self, lambda encoder: encoder._prefix)
        laid: list[Fragment] = [prefix, _number(changes.physical_table_ids)]
        laid += [b',"type":"', changes.op.value.upper().encode(), b'","commitTs":', changes.commit_ts_text]
        version = changes.constant(self, lambda encoder: b"%d" % encoder.table.update_ts)
        laid += [b',"buildTs":', changes.build_ms_text, b',"schemaVersion":', version, *marks]
        if self.options.enable_row_checksum:
            laid += _checksum(changes)
        return [*laid, *_images(changes, members), b"}"]


def _images(changes: Changes, members: Members) -> list[Fragment]:
    """Lay out ``data`` and ``old``, or nothing if they would be empty."""
    if not members.columns:
        return []
    shown = members.laid(changes.current)
    if changes.op is Op.DELETE:
        return [b',"old":', *shown]
    if changes.op is Op.INSERT:
        return [b',"data":', *shown]
    before = members.laid(changes.old, shown)
    data, old = share(list(shown), list(before), len(changes), NULL)
    return [b',"data":', *data, b',"old":', *old]


def _number(numbers: pa.Array) -> Fragment:
    constant = constant_of(numbers)
    return numbers.cast(pa.string()) if constant is None else b"%d" % constant


def _checksum(changes: Changes) -> list[Fragment]:
    """Lay out ``,"checksum":{...}``, or nothing if a row has none."""
    sums = changes.checksums
    if not sums.present.any():
        return []
    parts: list[Fragment] = [b',"checksum":{"version":', _number(pa.array(sums.version)), b',"corrupted":']
    parts += [gather([b"false", b"true"], sums.corrupted.view(np.uint8))]
    parts += [b',"current":', _number(pa.array(sums.current)), b',"previous":', _number(pa.array(sums.previous)), b"}"]
    return parts if sums.present.all() else [blank_where(join(parts, len(changes)), ~sums.present)]
