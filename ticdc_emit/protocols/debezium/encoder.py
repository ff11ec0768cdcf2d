"""Debezium in JSON, written: a key and a value per row change, DDL or watermark, with or without their schemas.

Names of schemas are ``<cluster>.<database>.<table>.Envelope`` and others. Rule sources: protocol document "Payload",
"Schema"; ``pingcap/tiflow: pkg/sink/codec/debezium`` (``codec.go``; ``helper.go``: getSchemaTopicName),
``pkg/sink/codec/common/helper.go`` (SanitizeName, SanitizeTopicName).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import Codec, ControlMessage
from ticdc_emit.changes.model import Changes, Encoded, Op, json_overhead
from ticdc_emit.columnar.assemble import NULL, Fragment, join, reuse_equal
from ticdc_emit.columnar.buffers import to_text
from ticdc_emit.columnar.escape import JSONITER, quoted
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.protocols.debezium_common.payloads import ddl_payloads, source_parts, watermark_payloads
from ticdc_emit.protocols.debezium_common.schema import (
    CHANGE_KEY,
    CHANGE_VALUE,
    OP,
    TRANSACTION,
    TS_MS,
    DebeziumSettings,
    Member,
    Struct,
    connect_type,
    members_of,
    tidb_type,
)
from ticdc_emit.protocols.debezium_common.values import around, content, replaces_null, schema_default
from ticdc_emit.protocols.json_values import Json, json_value
from ticdc_emit.protocols.names import sanitize
from ticdc_emit.protocols.row_images import Members, images_of, refuse_values
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import LABEL_TYPES, MOMENT_TYPES, TYPES, MySQLType

_NO_TOPIC_CHARACTER = re.compile(r"[^A-Za-z0-9_.]")


def _message(payload: bytes, schema: bytes | None) -> bytes:
    return b'{"payload":%s}' % payload if schema is None else b'{"payload":%s,"schema":%s}' % (payload, schema)


def _schema(members: dict[str, Any]) -> bytes:
    return json_value(members, JSONITER)


def _envelope_member(member: Member) -> bytes:
    if isinstance(member.type, Struct):
        return _schema(
            {
                "type": "struct",
                "fields": tuple(map(_envelope_member, member.type.members)),
                "optional": member.optional,
                "name": member.type.name,
                "version": 1,
                "field": member.name,
            }
        )
    return _schema({"type": member.type, "optional": member.optional, "field": member.name})


_SNAPSHOT = _schema(
    {
        "type": "string",
        "optional": True,
        "name": TYPES[MySQLType.ENUM].connect_name,
        "version": 1,
        "parameters": {"allowed": "true,last,false,incremental"},
        "default": "false",
        "field": "snapshot",
    }
)
_SOURCE = (
    *map(_envelope_member, members_of("version:string connector:string name:string ts_ms:int64")),
    _SNAPSHOT,
    *map(
        _envelope_member,
        members_of(
            "db:string sequence:string? table:string? server_id:int64 gtid:string? file:string pos:int64 row:int32 "
            "thread:int64? query:string?"
        ),
    ),
)
_SOURCE_EXTENSION = tuple(map(_envelope_member, members_of("commit_ts:int64 cluster_id:string")))


def source_schema(settings: DebeziumSettings, *, start_ts: bool = False) -> bytes:
    """Return the schema of ``source``. ``start_ts``: with that field, as in rows."""
    extended = settings.codec.enable_tidb_extension and settings.switches.source_schema == "extended"
    extension = _SOURCE_EXTENSION if extended else ()
    started = [_envelope_member(Member("start_ts", "int64"))] if start_ts else []
    return _schema(
        {
            "type": "struct",
            "fields": [*_SOURCE, *extension, *started],
            "optional": False,
            "name": "io.debezium.connector.mysql.Source",
            "field": "source",
        }
    )


def key_schema(prefix: str, fields: Iterable[bytes]) -> bytes:
    return _schema({"type": "struct", "name": f"{prefix}.Key", "optional": False, "fields": list(fields)})


def envelope_schema(prefix: str, table: TableInfo, settings: DebeziumSettings) -> bytes:
    """Return the schema of row messages, including hidden virtual columns."""
    how = settings.switches.virtual_columns
    first = table.shown_columns if how == "twice" else table.data_columns
    virtual = () if how == "left-out" else [column for column in table.columns if column.is_virtual]
    fields = field_schemas((*first, *virtual), settings)
    before, after = (
        _schema({"type": "struct", "optional": True, "name": f"{prefix}.Value", "field": image, "fields": fields})
        for image in ("before", "after")
    )
    source = source_schema(settings, start_ts=settings.codec.debezium_include_start_ts)
    return _envelope(prefix, before, after, source)


_AFTER_SOURCE = tuple(map(_envelope_member, (OP, TS_MS, TRANSACTION)))


def _envelope(prefix: str, *first: bytes) -> bytes:
    fields = (*first, *_AFTER_SOURCE)
    return _schema({"type": "struct", "optional": False, "name": f"{prefix}.Envelope", "version": 1, "fields": fields})


def _change_member(member: Member) -> bytes:
    kind: Any = member.type
    more: dict[str, Json] = {}
    if isinstance(kind, list):
        kind, more = "array", {"items": _items(kind[0])}
    elif isinstance(kind, Struct):
        fields = tuple(map(_change_member, kind.members))
        kind, more = "struct", {"name": kind.name, "version": 1, "fields": fields}
    return _schema({"field": member.name, "optional": member.optional, "type": kind, **more})


def _items(kind: str | Struct) -> bytes:
    if isinstance(kind, str):
        return _schema({"type": kind, "optional": False})
    fields = tuple(map(_change_member, kind.members))
    return _schema({"name": kind.name, "optional": False, "type": "struct", "version": 1, "fields": fields})


_CHANGE_KEY_SCHEMA = _schema(
    {
        "type": "struct",
        "name": CHANGE_KEY.name,
        "optional": False,
        "version": 1,
        "fields": tuple(map(_change_member, CHANGE_KEY.members)),
    }
)
_CHANGE_MEMBERS = tuple(map(_change_member, CHANGE_VALUE.members))


def field_schemas(columns: Iterable[Column], settings: DebeziumSettings) -> list[bytes]:
    schemas = (field_schema(column, settings) for column in columns)
    return [schema for schema in schemas if schema is not None]


def field_schema(column: Column, settings: DebeziumSettings) -> bytes | None:
    """Return the schema of one column; ``None`` if TiCDC leaves it out."""
    switches = settings.switches
    extension = settings.codec.enable_tidb_extension and switches.tidb_types
    members: dict[str, Json] = {"tidb_type": tidb_type(column)} if extension else {}
    if column.type is MySQLType.BIT and column.default in ("", b"") and switches.defaults == "converted":
        # TiCDC stops at a default without bits
        return _schema(members) if switches.tidb_types else None
    kind = connect_type(column, settings)
    members |= {"type": kind.type, "optional": column.nullable}
    if kind.name is not None:
        members["name"] = kind.name
    if kind.version is not None:
        members["version"] = kind.version
    if kind.parameters:
        members["parameters"] = kind.parameters
    members["field"] = column.name
    default = schema_default(column, settings)
    if default is not None:
        members["default"] = default
    return _schema(members)


_FORM = "debezium"
_IMAGES = {Op.INSERT: b'"c","before":null,"after":', Op.UPDATE: b'"u",', Op.DELETE: b'"d","after":null,"before":'}
_NUMBERS = 128  # bytes of the three times in a message, at most
_DEFAULT_USES = 3  # key, before, after


@dataclass(frozen=True)
class DebeziumRows:
    table: TableInfo
    settings: DebeziumSettings
    refuses_large: ClassVar[bool] = False

    @property
    def reads_old(self) -> bool:
        return self.settings.codec.output_old_value

    def __getstate__(self) -> dict[str, Any]:
        """Leave out derived values: a schema can be larger than its table."""
        return {"table": self.table, "settings": self.settings}

    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: names and labels in every image, defaults that replace NULL, the schemas."""
        defaults = sum(len(column.default or "") * 8 * _DEFAULT_USES for column in self.table.data_columns)
        constants = len(self._key_ends[1]) + len(self._value_end) + sum(map(len, self._source))
        return json_overhead(self.table, name_uses=6, label_uses=3) + defaults + constants + _NUMBERS

    @cached_property
    def _object(self) -> Members:
        columns = self.table.data_columns
        names = tuple(quoted(column.name, JSONITER) + b":" for column in columns)
        return Members(columns, names, _FORM, self._content, self._around)

    @cached_property
    def _key_object(self) -> Members | None:
        columns: list[Column] = []
        names: list[bytes] = []
        nulls = b""
        for column in self._key_columns:
            name = nulls + quoted(column.name, JSONITER) + b":"
            if column.is_virtual:
                nulls = name + b"null,"
            else:
                columns.append(column)
                names.append(name)
                nulls = b""
        if nulls and not columns:
            return None
        last = b"," + nulls[:-1] if nulls else b""
        return Members(tuple(columns), tuple(names), _FORM, self._content, self._around, last=last)

    @cached_property
    def _key_columns(self) -> tuple[Column, ...]:
        selected = self.settings.switches.key_columns == "selected"
        return self.table.handle_key if selected else self.table.shown_handle_key

    @cached_property
    def _prefix(self) -> str:
        if self.settings.switches.names == "as-given":
            return f"{self.settings.cluster_id}.{self.table.full_name}"
        name = _NO_TOPIC_CHARACTER.sub("_", self.table.name)
        return f"{sanitize(self.settings.cluster_id)}.{sanitize(self.table.schema)}.{name}"

    @cached_property
    def _source(self) -> tuple[bytes, bytes, bytes]:
        return source_parts(self.settings.cluster_id, self.table.schema, self.table.name)

    @cached_property
    def _key_ends(self) -> tuple[bytes, bytes]:
        if self.settings.codec.debezium_disable_schema:
            return b'{"payload":', b"}"
        fields = field_schemas(self._key_columns, self.settings)
        return b'{"payload":', b',"schema":%s}' % key_schema(self._prefix, fields)

    @cached_property
    def _value_end(self) -> bytes:
        if self.settings.codec.debezium_disable_schema:
            return b"}}"
        return b'},"schema":%s}' % envelope_schema(self._prefix, self.table, self.settings)

    @cached_property
    def _refusable(self) -> tuple[Column, ...]:
        return tuple(
            column
            for column in self.table.data_columns
            if column.type in MOMENT_TYPES or (column.nullable and replaces_null(column, self.settings.switches))
        )

    def check(self, changes: Changes) -> None:
        """Refuse local times that do not exist, NULL without a default to show, and rows at which the release fails."""
        switches = self.settings.switches
        if switches.selected_rows is not None and self.table.data_columns != self.table.row_columns:
            raise switches.selected_rows.error(table=self.table.full_name)
        if self.settings.codec.debezium_include_start_ts:
            _ = changes.start_tsos  # kept for the messages
        for image in images_of(changes, self.reads_old):
            for column in self._refusable:
                values, defect = image.values(column), switches.null_label_defaults
                if defect is not None and column.type in LABEL_TYPES and values.null_count:
                    nulls = pc.is_null(values).to_numpy(zero_copy_only=False)
                    raise image.defect(np.flatnonzero(nulls), defect, column)
                try:
                    self._object.text(image, column)
                except ValueRefused:
                    refuse_values(image, column, partial(self._content, column))

    def encode(self, changes: Changes) -> Encoded:
        count = len(changes)
        values = join(self._value(changes), count, NULL)
        keys = join(self._key(changes), count, NULL) if self.settings.switches.keys else None
        if self.settings.codec.debezium_disable_schema:
            return Encoded(values, keys)
        return Encoded(values, keys, ends=changes.long_constant(lambda encoder: encoder._value_end))

    def _key(self, changes: Changes) -> list[Fragment]:
        start, end = self._key_ends[0], changes.constant(lambda encoder: encoder._key_ends[1])
        if self._key_object is None:
            return [
                start,
                b"{%s}" % b",".join(quoted(column.name, JSONITER) + b":null" for column in self._key_columns),
                end,
            ]
        return [start, *self._key_object.laid(changes.current), end]

    def _value(self, changes: Changes) -> list[Fragment]:
        first, _, third = self._source
        second = changes.constant(lambda encoder: encoder._source[1])
        laid: list[Fragment] = [b'{"payload":', first, changes.commit_ms_text, second, changes.commit_ts_text]
        if self.settings.codec.debezium_include_start_ts:
            laid += [b',"start_ts":', to_text(changes.start_tsos)]
        laid += [third, changes.build_ms_text, b',"transaction":null,"op":', _IMAGES[changes.op]]
        end = [self._value_end] if self.settings.codec.debezium_disable_schema else []
        return [*laid, *self._images(changes), *end]

    def _images(self, changes: Changes) -> list[Fragment]:
        shown = self._object.laid(changes.current)
        if changes.op is not Op.UPDATE:
            return list(shown)
        if not self.reads_old:
            return [b'"after":', *shown]
        old = self._object.laid(changes.old, shown)
        before, after = reuse_equal(list(old), list(shown), len(changes), NULL)
        return [b'"before":', *before, b',"after":', *after]

    def _content(self, column: Column, values: pa.Array) -> pa.Array:
        return content(column, values, self.settings)

    def _around(self, column: Column) -> tuple[bytes, bytes]:
        return around(column, self.settings)


@dataclass(frozen=True)
class Debezium(Codec):
    settings: DebeziumSettings
    compressed_parts: ClassVar[tuple[str, ...]] = ("key", "value")

    def rows(self, table: TableInfo) -> DebeziumRows:
        return DebeziumRows(table, self.settings)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the message, ``None`` for what is not sent. Raises :class:`SchemaError` where TiCDC fails."""
        payloads = ddl_payloads(event, build_ts, self.settings.cluster_id) if self.settings.codec.sends_ddl else None
        if payloads is None:
            return None
        schemas: tuple[bytes | None, bytes | None] = (None, None)
        if not self.settings.codec.debezium_disable_schema:
            fields = (source_schema(self.settings), *_CHANGE_MEMBERS)
            told = {"optional": False, "type": "struct", "version": 1, "name": CHANGE_VALUE.name, "fields": fields}
            schemas = _CHANGE_KEY_SCHEMA, _schema(told)
        return ControlMessage(_message(payloads[0], schemas[0]), _message(payloads[1], schemas[1]), event.commit_ts)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message, ``None`` without ``enable-tidb-extension``."""
        codec, cluster_id = self.settings.codec, self.settings.cluster_id
        if not codec.sends_watermarks:
            return None
        key, value = watermark_payloads(ts, build_ts, cluster_id)
        schemas: tuple[bytes | None, bytes | None] = (None, None)
        if not codec.debezium_disable_schema:
            prefix = f"{sanitize(cluster_id)}.watermark"
            schemas = key_schema(prefix, []), _envelope(prefix, source_schema(self.settings))
        return ControlMessage(_message(key, schemas[0]), _message(value, schemas[1]), ts)


def make_codec(changefeed: ChangefeedConfig) -> Debezium:
    return Debezium(DebeziumSettings.of(changefeed))
