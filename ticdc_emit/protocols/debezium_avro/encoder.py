"""Debezium-Avro, written: rows, DDL and watermarks, the same bytes in all releases of the new architecture.

Rule source: ``pingcap/ticdc: pkg/sink/codec/debezium/avro.go`` (buildDebeziumAvroValueMessage,
buildDebeziumAvroSourcePayload).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, ClassVar

import pyarrow as pa

from ticdc_emit.changes.codec import Codec, ControlMessage, RegisteredRows
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes, Encoded, Op
from ticdc_emit.columnar.avro import INT64_END, long_pieces, sized_bytes, zigzag_bytes
from ticdc_emit.columnar.epochs import commit_times
from ticdc_emit.columnar.packed_fields import Piece, join_pieces, share_pieces
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.errors import RegistryError
from ticdc_emit.protocols.debezium_avro.schema import (
    ddl_schemas,
    key_schema,
    row_columns,
    value_schema,
    watermark_schemas,
)
from ticdc_emit.protocols.debezium_avro.values import NULL, VALUE, can_fail, refuse_beyond_long, value_pieces
from ticdc_emit.protocols.debezium_common.payloads import ddl_payloads, is_sent, watermark_payloads
from ticdc_emit.protocols.debezium_common.schema import CONNECTOR, VERSION, DebeziumSettings
from ticdc_emit.protocols.json_values import schema_text
from ticdc_emit.protocols.row_images import BinaryImages, images_of, refuse_values
from ticdc_emit.schema.defaults import go_utf8
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import MySQLType

_FORM = "debezium-avro"
_CELL = 256  # maximum bytes of a fixed-width value, also as decimal text
_USES = 3  # key, before, after
_SOURCE_BYTES = 256
_OPS = {Op.INSERT: b"\x02c", Op.UPDATE: b"\x02u", Op.DELETE: b"\x02d"}


def _text(text: str) -> bytes:
    return sized_bytes(text.encode())


@dataclass(frozen=True)
class DebeziumAvroRows(RegisteredRows):
    settings: DebeziumSettings
    refuses_large: ClassVar[bool] = False
    names_records: ClassVar[bool] = True

    @property
    def reads_old(self) -> bool:
        return self.settings.codec.output_old_value

    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: labels, defaults that replace NULL, lengths and fixed widths, in every image."""
        cells = sum(
            _CELL + sum(len(label.encode()) for label in column.elems) + 4 * len(column.default or "")
            for column in self.table.columns
        )
        return _USES * cells + sum(map(len, self._source)) + _SOURCE_BYTES

    @cached_property
    def _laid(self) -> BinaryImages:
        return BinaryImages(_FORM, self._value)

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        return tuple(column for column in row_columns(self.table) if not column.is_virtual)

    @cached_property
    def _key_columns(self) -> tuple[Column, ...]:
        return tuple(column for column in self.table.shown_handle_key if not column.is_virtual)

    @cached_property
    def _refusable(self) -> tuple[Column, ...]:
        return tuple(column for column in self._columns if can_fail(column))

    @cached_property
    def _longs(self) -> tuple[Column, ...]:
        if self.settings.codec.avro_bigint_unsigned_handling_mode == "string":
            return ()
        whole = (*self._columns, *(c for c in self._key_columns if c not in self._columns))
        return tuple(column for column in whole if column.type is MySQLType.LONGLONG and column.unsigned)

    @cached_property
    def _source(self) -> tuple[bytes, bytes, bytes]:
        cluster = _text(self.settings.cluster_id)
        table = NULL + _text(self.table.schema) + _text(self.table.name)
        rest = zigzag_bytes(0) + NULL + _text("") + zigzag_bytes(0) + zigzag_bytes(0) + NULL + NULL
        return _text(VERSION) + _text(CONNECTOR) + cluster, table + rest, cluster

    def schemas(self, op: Op) -> Mapping[str, Callable[[], str]]:
        """Return what makes the schema texts, by part, in order of registration."""
        return {
            "key": lambda: schema_text(key_schema(self.table, self.settings)),
            "value": lambda: schema_text(value_schema(self.table, self.settings)),
        }

    def registered_for(self, op: Op, column: str) -> Sequence[str]:
        """Return nothing: TiCDC looks at a row's values before it registers."""
        return ()

    def subject(self, topic: str, part: str) -> str:
        """Return the subject under which the schema of a part is registered; unlike Avro's, a topic keeps its dots."""
        return f"{topic}-{part}"

    def check(self, changes: Changes) -> None:
        """Refuse a BIGINT UNSIGNED beyond ``long``, what means no moment in UTC, and NULL without a default to show."""
        for image in images_of(changes, self.reads_old):
            for column in self._longs:
                refuse_values(image, column, refuse_beyond_long)
            lay = self._laid.joined if changes.op is Op.UPDATE else self._laid.entry
            for column in self._refusable:
                try:
                    lay(column, image)
                except ValueRefused:
                    refuse_values(image, column, partial(self._value, column))

    def encode(self, changes: Changes) -> Encoded:
        """Return key and value of each change. Raises :class:`~ticdc_emit.errors.RegistryError`."""
        return self.framed(changes, *self.shown(changes))

    def shown(self, changes: Changes) -> tuple[list[Piece], list[Piece]]:
        """Return what keys and values show of columns (see ``changes.codec.FramedRows``)."""
        return self._key(changes.current), self._images(changes)

    def framed(self, changes: Changes, key: Sequence[Piece], value: Sequence[Piece]) -> Encoded:
        """Return the messages with these contents. Raises :class:`~ticdc_emit.errors.RegistryError`."""
        count = len(changes)
        before, behind = self._around(changes.op)
        header = changes.constant_pieces(lambda encoder: encoder.header("value"))
        whole = [*header, before, *value, behind, *self._told(changes)]
        header = changes.constant_pieces(lambda encoder: encoder.header("key"))
        return Encoded(join_pieces(whole, count), join_pieces([*header, *key], count))

    def _around(self, op: Op) -> tuple[bytes, bytes]:
        if op is Op.DELETE:
            return VALUE, NULL
        return (VALUE if op is Op.UPDATE and self.reads_old else NULL + VALUE), b""

    def _key(self, image: Image) -> list[Piece]:
        if len(self._key_columns) == len(self.table.shown_handle_key):
            return self._laid.entries(self._key_columns, image)
        laid = {column.name: self._laid.entries((column,), image) for column in self._key_columns}
        return [piece for column in self.table.shown_handle_key for piece in laid.get(column.name, [NULL])]

    def _images(self, changes: Changes) -> list[Piece]:
        if changes.op is Op.UPDATE and self.reads_old:
            after, before = share_pieces(*self._laid.both(changes, self._columns), len(changes))
            return [*before, *self._virtual, VALUE, *after, *self._virtual]
        return [*self._laid.entries(self._columns, changes.current), *self._virtual]

    @cached_property
    def _virtual(self) -> Sequence[bytes]:
        """Virtual columns, which a row of theirs shows as null; only those that a selector drops are listed once."""
        return [NULL] * sum(column.is_virtual for column in row_columns(self.table))

    def _told(self, changes: Changes) -> list[Piece]:
        first, _, third = self._source
        second = changes.constant_pieces(lambda encoder: encoder._source[1])
        times = long_pieces(commit_times(changes.commit_ts))
        built = times if changes.build_ts is None else [zigzag_bytes(changes.build_ts)]
        return [first, *times, *second, *long_pieces(changes.commit_ts), third + _OPS[changes.op], *built]

    def _value(self, column: Column, values: pa.Array) -> list[Piece]:
        return value_pieces(column, values, self.settings)


Headers = Mapping[str, bytes]


@dataclass(frozen=True)
class _Schema:
    subject: str
    record: Mapping[str, Any]
    text: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> _Schema:
        return cls(record["connect.name"], record, schema_text(record))

    def message(self, payload: bytes, headers: Headers) -> bytes:
        header = headers.get(self.text)
        if header is None:
            raise RegistryError(
                "the schema of a control message is not registered",
                remedy="Register the schemas of DDL and watermarks before their messages are made",
                subject=self.subject,
            )
        return header + _encoded(self.record, json.loads(go_utf8(payload)))


def _message(
    schemas: tuple[_Schema, _Schema], payloads: tuple[bytes, bytes], headers: Headers, ts: int
) -> ControlMessage:
    key, value = (schema.message(payload, headers) for schema, payload in zip(schemas, payloads, strict=True))
    return ControlMessage(key, value, ts)


@cache
def _control(cluster_id: str, database: str | None) -> tuple[_Schema, _Schema]:
    key, value = watermark_schemas(cluster_id) if database is None else ddl_schemas(cluster_id, database)
    return _Schema.of(key), _Schema.of(value)


def _encoded(kind: Any, value: Any) -> bytes:
    if isinstance(kind, list):
        return b"\0" if value is None else b"\2" + _encoded(kind[1], value)
    if isinstance(kind, Mapping) and kind["type"] == "record":
        return b"".join(_encoded(field["type"], value.get(field["connect.field"])) for field in kind["fields"])
    if isinstance(kind, Mapping):
        items = b"".join(_encoded(kind["items"], item) for item in value)
        return (zigzag_bytes(len(value)) + items if value else b"") + b"\0"
    if kind == "string":
        return _text(value)
    number = int(value)
    # from 2^63 on, a TSO that Go reads from JSON is a double beyond int64
    return bytes([number]) if kind == "boolean" else zigzag_bytes(number if number < INT64_END else -INT64_END)


@dataclass(frozen=True)
class DebeziumAvro(Codec):
    settings: DebeziumSettings
    headers: Mapping[str, bytes] = field(default_factory=dict)

    def rows(self, table: TableInfo) -> DebeziumAvroRows:
        return DebeziumAvroRows(table, self.settings)

    def control_schemas(self, event: DdlEvent | None) -> Mapping[str, str]:
        """Return the schema texts of a DDL or a watermark (``None``) by subject; none for what is not sent."""
        if not self.settings.codec.avro_enable_watermark or (event is not None and not is_sent(event)):
            return {}
        cluster_id = self.settings.cluster_id
        schemas = _control(cluster_id, None if event is None else event.schema)
        return {schema.subject: schema.text for schema in schemas}

    def with_headers(self, headers: Mapping[str, bytes]) -> DebeziumAvro:
        """Return the codec with these additional headers by schema text."""
        return replace(self, headers={**self.headers, **headers})

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the message, ``None`` for what is not sent. Raises :class:`~ticdc_emit.errors.SchemaError`."""
        cluster_id = self.settings.cluster_id
        on = self.settings.codec.avro_enable_watermark
        payloads = ddl_payloads(event, build_ts, cluster_id) if on else None
        if payloads is None:
            return None
        return _message(_control(cluster_id, event.schema), payloads, self.headers, event.commit_ts)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message, ``None`` without ``avro-enable-watermark``."""
        if not self.settings.codec.avro_enable_watermark:
            return None
        cluster_id = self.settings.cluster_id
        return _message(_control(cluster_id, None), watermark_payloads(ts, build_ts, cluster_id), self.headers, ts)


def make_codec(changefeed: ChangefeedConfig) -> DebeziumAvro:
    return DebeziumAvro(DebeziumSettings.of(changefeed))
