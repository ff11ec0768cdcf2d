"""Avro, written: the schemas of a table's keys and values, rows after their headers, DDL and watermarks.

The message of an update has only the after image; a delete has a key and a null value. With
``avro-include-before-value``, values end with the row before the change, which a delete has twice. With
``deleted_value``, the first row of a table version decides the schema of its values: all columns, or after a delete
only those of the key. Rule sources: semantics 2.1; ``pingcap/tiflow: pkg/sink/codec/avro/avro.go``.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import Codec, ControlMessage, RegisteredRows
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.integrity import checksums_of
from ticdc_emit.changes.model import Changes, Encoded, Op
from ticdc_emit.columnar.avro import (
    INT64_END,
    Union,
    bit_pieces,
    decimal_pieces,
    float_pieces,
    label_pieces,
    long_pieces,
    refuse_enum_zero,
    text_pieces,
    wrapped,
    zigzag_bytes,
)
from ticdc_emit.columnar.buffers import fixed_values
from ticdc_emit.columnar.epochs import commit_times
from ticdc_emit.columnar.escape import GO_STD
from ticdc_emit.columnar.packed_fields import PackedField, Piece, join_pieces, share_pieces
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.config import ChangefeedConfig, CodecConfig
from ticdc_emit.config.switches import AvroSwitches, Defect
from ticdc_emit.errors import ReleaseDefectError, SchemaError, SharedSubjectError
from ticdc_emit.protocols.avro.schema import (
    BEFORE,
    CHECKSUM_FIELDS,
    DDL,
    DELETE_MARK,
    EXTENSION_FIELDS,
    NAMESPACE,
    WATERMARK,
)
from ticdc_emit.protocols.json_values import Json, float_text, json_value, schema_text
from ticdc_emit.protocols.names import escaped_label, sanitize
from ticdc_emit.protocols.row_images import BinaryImages, images_of, invalid_value, refuse_values
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import INTEGER_TYPES, LABEL_TYPES, STRING_TYPES, TYPES, AvroType, MySQLType


def avro_type(column: Column, options: CodecConfig) -> AvroType:
    """Return the Avro type of a column's values; :class:`SchemaError` for a type that no row change carries."""
    kind = column.type
    if kind is MySQLType.LONGLONG and column.unsigned and options.avro_bigint_unsigned_handling_mode == "string":
        return "string"
    if kind is MySQLType.LONG and column.unsigned:
        return "long"
    if kind is MySQLType.NEWDECIMAL and options.avro_decimal_handling_mode != "precise":
        return "string"
    if kind in STRING_TYPES and column.is_binary:
        return "bytes"
    avro = TYPES[kind].avro
    if avro is not None:
        return avro
    raise SchemaError(
        f"the type {kind.name} has no Avro type",
        remedy="Leave the column out with a column selector",
        column=column.name,
    )


def branches(column: Column, kind: AvroType, switches: AvroSwitches) -> Union | None:
    """Return the union of a nullable column: a schema's default belongs to the first branch, and decimals have none."""
    if not column.nullable:
        return None
    null_first = switches.null_default == "null-first" and _is_null_text(column, kind)
    return Union.null_at(0 if column.default is None or kind == "decimal" or null_first else 1)


def _is_null_text(column: Column, kind: AvroType) -> bool:
    """Return whether the DEFAULT is a text that goavro reads as null."""
    return kind == "string" and column.default in ("null", b"null")


_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


def default_text(column: Column, kind: AvroType, switches: AvroSwitches) -> str | None:
    """Return the default as JSON text; ``None`` if the schema has none; :class:`SchemaError` for an invalid one."""
    default = column.default
    if default is None:
        return None
    if column.type is MySQLType.VECTOR_FLOAT32 and switches.vector_default == "refused":
        raise _default_refused(column, "a VECTOR default has no Avro value")
    if kind == "decimal":
        _parsed(column, _NUMBER)
        return None
    if kind == "bytes":
        raw = default if isinstance(default, bytes) else default.encode()
        return schema_text(base64.b64encode(raw).decode())
    if kind == "string":
        return schema_text(default if isinstance(default, str) else default.decode("utf-8", "replace"))
    if kind in ("float", "double"):
        return float_text(_float(column, single=kind == "float"))
    return str(_integer(column, kind))


def _parsed(column: Column, form: re.Pattern[str]) -> str:
    text = column.default
    if not isinstance(text, str) or not form.fullmatch(text):
        raise _default_refused(column, f"the default {text!r} is not a {column.type.name} value")
    return text


def _float(column: Column, *, single: bool) -> float:
    text = _parsed(column, _NUMBER)
    with np.errstate(over="ignore"):
        value = float(np.float32(text)) if single else float(text)
    if value in (float("inf"), float("-inf")):
        raise _default_refused(column, f"the default {text} is out of range")
    return value


def _integer(column: Column, kind: AvroType) -> int:
    number = int(_parsed(column, _INTEGER))
    if kind == "int":
        return number
    limit = INT64_END * 2 if column.unsigned else INT64_END
    if number >= limit:
        raise _default_refused(column, f"the default {number} is out of range")
    if column.nullable and float(wrapped(number)) >= INT64_END:
        raise _default_refused(column, f"the default {number} of a nullable column loses its value as a double")
    return wrapped(number)


def _default_refused(column: Column, why: str) -> SchemaError:
    return SchemaError(why, remedy="Change the column's DEFAULT", column=column.name)


def key_columns(table: TableInfo, switches: AvroSwitches) -> tuple[Column, ...]:
    return table.handle_key if switches.key_columns == "handle-key" else table.primary_key


def key_schema(table: TableInfo, options: CodecConfig, switches: AvroSwitches) -> str:
    """Return the schema of a table's keys; :class:`SchemaError` for one that is not valid."""
    key = key_columns(table, switches)
    if not key:
        raise SchemaError(
            "a column selector drops the whole primary key, and Avro has no record without fields: TiCDC fails here",
            remedy="Keep a column of the primary key",
            table=table.full_name,
        )
    return _record(table, key, (), options, switches)


def value_schema(table: TableInfo, options: CodecConfig, switches: AvroSwitches, columns: Sequence[Column]) -> str:
    """Return the schema of a table's values with these columns; :class:`SchemaError` for one that is not valid."""
    extra: tuple[tuple[str, str, str], ...] = ()
    if options.enable_tidb_extension:
        extra = EXTENSION_FIELDS + CHECKSUM_FIELDS if options.enable_row_checksum else EXTENSION_FIELDS
    elif options.avro_include_before_value:
        extra = EXTENSION_FIELDS[:1]
    before = (
        _record(table, columns, (), options, switches, suffix="_before") if options.avro_include_before_value else None
    )
    return _record(table, columns, extra, options, switches, before=before)


def _record(
    table: TableInfo,
    columns: Sequence[Column],
    extra: Iterable[tuple[str, str, str]],
    options: CodecConfig,
    switches: AvroSwitches,
    *,
    before: str | None = None,
    suffix: str = "",
) -> str:
    """Return a record's schema. ``before``: the schema of the previous row; ``suffix``: the end of its name."""
    if switches.null_text_default is not None:
        for column in columns:
            if column.nullable and _is_null_text(column, avro_type(column, options)):
                raise switches.null_text_default.error(table=table.full_name, column=column.name)
    fields: dict[str, str] = {}
    try:
        for column in columns:
            _add(fields, sanitize(column.name), _field(column, options, switches), column)
        if before is not None:
            _add(fields, BEFORE, f'{{"default":null,"name":"{BEFORE}","type":["null",{before}]}}', None)
        for name, kind, default in extra:
            _add(fields, name, f'{{"default":{default},"name":"{name}","type":"{kind}"}}', None)
        if not fields:
            raise SchemaError("an Avro record has no field", remedy="Keep a column in [sink] column-selectors")
    except SchemaError as fault:
        raise SchemaError(fault.message, remedy=fault.remedy, table=table.full_name, **fault.context) from None
    return '{{"type":"record","name":"{}","namespace":"{}","fields":[{}]}}'.format(
        sanitize(table.name) + suffix, NAMESPACE + sanitize(table.schema), ",".join(fields.values())
    )


def _add(fields: dict[str, str], name: str, text: str, column: Column | None) -> None:
    if name in fields:
        raise SchemaError(
            f"the Avro schema has two fields {name!r}",
            remedy="Rename a column: what Avro does not allow in names becomes an underscore",
            column=name if column is None else column.name,
        )
    fields[name] = text


def _field(column: Column, options: CodecConfig, switches: AvroSwitches) -> str:
    kind = avro_type(column, options)
    name, described, default = sanitize(column.name), _type(column, kind), default_text(column, kind, switches)
    if column.nullable:
        union = branches(column, kind, switches)
        ordered = f'["null",{described}]' if union is not None and union.null == 0 else f'[{described},"null"]'
        return f'{{"default":{default or "null"},"name":"{name}","type":{ordered}}}'
    shown = "" if default is None else f'"default":{default},'
    return f'{{{shown}"name":"{name}","type":{described}}}'


def _type(column: Column, kind: AvroType) -> str:
    name = TYPES[column.type].avro_name or ("BLOB" if column.is_binary else "TEXT")
    parameters = {"tidb_type": f"{name} UNSIGNED" if column.unsigned and column.type in INTEGER_TYPES else name}
    if column.type is MySQLType.BIT:
        parameters["length"] = str(column.length)
    if column.type in LABEL_TYPES:
        parameters["allowed"] = ",".join(escaped_label(label) for label in column.elems)
    logical = (
        f',"logicalType":"decimal","precision":{column.length},"scale":{column.scale}' if kind == "decimal" else ""
    )
    shown = "bytes" if kind == "decimal" else kind
    return f'{{"type":"{shown}","connect.parameters":{schema_text(parameters)}{logical}}}'


_FORM = "avro"
_KEY_RECORD = "key record"  # the part of values whose schema has only the columns of the key
_CELL = 128  # maximum bytes of a fixed-width value, also as decimal text
_EXTENSION_BYTES = 128
_OPERATIONS = {Op.INSERT: b"\x02c", Op.UPDATE: b"\x02u", Op.DELETE: b"\x02d"}
_NO_BEFORE, _BEFORE = b"\x00", b"\x02"  # the branches of the union
_STAMP_BYTES = 8


class _Field(NamedTuple):
    column: Column
    kind: AvroType
    union: Union | None


@dataclass(frozen=True)
class AvroRows(RegisteredRows):
    options: CodecConfig
    switches: AvroSwitches
    names_records: ClassVar[bool] = False
    refuses_large: ClassVar[bool] = True

    @property
    def reads_old(self) -> bool:
        return self.options.avro_include_before_value

    @cached_property
    def _has_key(self) -> bool:
        fails = self.switches.empty_keys == "failing" and self.table.whole_primary_key
        return bool(key_columns(self.table, self.switches) or fails)

    def _has_value(self, op: Op) -> bool:
        return op is not Op.DELETE or self.options.avro_include_before_value

    @cached_property
    def _deleted_records(self) -> Defect | None:
        of_key = self._has_key and self.options.avro_enable_watermark and not self._has_value(Op.DELETE)
        return self.switches.deleted_value if of_key and isinstance(self.switches.deleted_value, Defect) else None

    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: labels, lengths and fixed widths, for key and value."""
        cells = sum(_CELL + sum(len(label.encode()) for label in column.elems) for column in self.table.columns)
        return (3 if self.options.avro_include_before_value else 2) * cells + _EXTENSION_BYTES

    @cached_property
    def _key(self) -> tuple[_Field, ...]:
        return self._fields(key_columns(self.table, self.switches))

    @cached_property
    def _value(self) -> tuple[_Field, ...]:
        left_out = self.switches.virtual_columns == "left-out"
        return self._ordered(self.table.data_columns if left_out else self.table.shown_columns)

    @cached_property
    def _key_record(self) -> tuple[_Field, ...]:
        return self._ordered(key_columns(self.table, self.switches))

    def _ordered(self, columns: tuple[Column, ...]) -> tuple[_Field, ...]:
        by_id = self.options.enable_row_checksum  # so that readers can verify the checksum
        return self._fields(tuple(sorted(columns, key=lambda column: column.id)) if by_id else columns)

    @cached_property
    def _fillers(self) -> Mapping[str, bytes]:
        key = {shown.column.name for shown in self._key}
        others = (shown for shown in self._value if shown.column.name not in key)
        shown_defaults = {shown.column.name: self._filler(shown) for shown in others}
        return {name: filler for name, filler in shown_defaults.items() if filler is not None}

    def _filler(self, shown: _Field) -> bytes | None:
        """Return a DEFAULT as goavro reads it from the schema: numbers as float64, bytes in base64."""
        default = default_text(shown.column, shown.kind, self.switches)
        if shown.union is not None and shown.union.null == 0:
            return bytes([shown.union.null])
        if default is None:
            return None
        value = json.loads(default)
        if shown.kind == "float":
            filler = struct.pack("<f", value)
        elif shown.kind == "double":
            filler = struct.pack("<d", value)
        elif shown.kind in ("int", "long"):
            whole = int(float(value))
            filler = zigzag_bytes(whole if whole < INT64_END else -INT64_END)  # as on amd64
        else:
            text = value.encode()
            filler = zigzag_bytes(len(text)) + text
        return filler if shown.union is None else shown.union.lead + filler

    def _fields(self, columns: tuple[Column, ...]) -> tuple[_Field, ...]:
        kinds = [avro_type(column, self.options) for column in columns]
        return tuple(_Field(c, kind, branches(c, kind, self.switches)) for c, kind in zip(columns, kinds, strict=True))

    def schemas(self, op: Op) -> Mapping[str, Callable[[], str]]:
        """Return what makes the schema texts of messages, by part, in order of registration."""
        texts: dict[str, Callable[[], str]] = {}
        if self._has_key:
            texts["key"] = lambda: key_schema(self.table, self.options, self.switches)
        if self._has_value(op):
            texts["value"] = partial(self._value_schema, "value")
        elif self._deleted_records is not None:
            texts[_KEY_RECORD] = partial(self._value_schema, _KEY_RECORD)
        return texts

    def registered_for(self, op: Op, column: str) -> Sequence[str]:
        """Return the parts up to the first one that has the column: each is encoded before the next is registered."""
        parts = list(self.schemas(op))
        in_key = any(shown.column.name == column for shown in self._key)
        return parts[: next((place for place, part in enumerate(parts, 1) if part != "key" or in_key), None)]

    def _value_schema(self, part: str) -> str:
        fields = self._value if part == "value" else self._key_record
        return value_schema(self.table, self.options, self.switches, [shown.column for shown in fields])

    def stand_in(self, part: str) -> tuple[str, str] | None:
        """Return the other schema of values, with its part, where there are two; an invalid one was not registered."""
        if part == "key" or self._deleted_records is None:
            return None
        other = _KEY_RECORD if part == "value" else "value"
        with suppress(SchemaError, ReleaseDefectError):
            return other, self._value_schema(other)
        return None

    def subject(self, topic: str, part: str) -> str:
        """Return the subject of a part; without the topic's dots, which have a meaning for connectors."""
        return f"{topic.replace('.', '_')}-{'key' if part == 'key' else 'value'}"

    def with_headers(self, headers: Mapping[str, bytes], borrowed: frozenset[str] = frozenset()) -> AvroRows:
        """Return the encoder with these additional headers by part. Values have one of their two schemas, the last."""
        rows = super().with_headers(headers, borrowed)
        if self._deleted_records is None:
            return rows
        replaced = {"value": _KEY_RECORD, _KEY_RECORD: "value"}
        other = {replaced[part] for part in headers if part in replaced}
        return replace(rows, headers={part: header for part, header in rows.headers.items() if part not in other})

    @property
    def shape(self) -> Hashable:
        return _KEY_RECORD in self.headers

    def check(self, changes: Changes) -> None:
        """Refuse the ENUM value 0, a TIMESTAMP without a checksum, and deletes where TiCDC has a defect."""
        has_value = self._has_value(changes.op)
        if not has_value:
            self._refuse_deletes(changes)
        if self.options.enable_row_checksum and (has_value or self._deleted_records is not None):
            _ = changes.once(checksums_of)  # kept for the messages
        if has_value and _KEY_RECORD not in self.headers:
            self._refuse_virtual(changes)
        images = images_of(changes, self.reads_old)
        for shown in self._value if has_value else self._key:
            if shown.column.type is MySQLType.ENUM and not shown.column.is_virtual:
                for image in images:
                    refuse_values(image, shown.column, partial(refuse_enum_zero, shown.column))

    def _refuse_deletes(self, changes: Changes) -> None:
        """Refuse deletes where TiCDC crashes, or where it has no value for a column beside the key."""
        every_row = np.arange(len(changes))
        if self._has_key and self.switches.keyed_deletes is not None:
            raise changes.current.defect(every_row, self.switches.keyed_deletes)
        if self._deleted_records is not None and _KEY_RECORD not in self.headers:
            known = {shown.column.name for shown in self._key}.union(self._fillers)
            column = next((shown.column for shown in self._value if shown.column.name not in known), None)
            if column is not None:
                raise changes.current.defect(every_row, self._deleted_records, column)

    def _refuse_virtual(self, changes: Changes) -> None:
        column = next((shown.column for shown in self._value if shown.column.is_virtual and shown.union is None), None)
        if column is None:
            return
        image = changes.current
        fault = ValueRefused(
            0,
            "a virtual column that is NOT NULL has no value in Avro: TiCDC fails here",
            "Make the column nullable or STORED, or drop it with a column selector",
        )
        raise image.refused(
            np.arange(len(changes)), lambda row: invalid_value(image, column, fault, image.row_key(row))
        )

    def encode(self, changes: Changes) -> Encoded:
        """Return one message per change. Raises :class:`RegistryError`, :class:`SharedSubjectError`."""
        count, image = len(changes), changes.current
        pieces: dict[str, Sequence[Piece]] = {}  # key columns have no union, so their pieces serve the value too

        def entries(fields: tuple[_Field, ...]) -> list[Sequence[Piece]]:
            for shown in fields:
                if shown.column.name not in pieces:
                    pieces[shown.column.name] = self._pieces(shown, image)
            return [pieces[shown.column.name] for shown in fields]

        def record(part: str, *entries: Sequence[Piece]) -> pa.Array:
            header = changes.constant(lambda encoder: encoder.header(part))
            return join_pieces([header, *(piece for entry in entries for piece in entry)], count)

        keys = record("key", *entries(self._key)) if self._has_key else None
        extension = self._extension(changes)
        if _KEY_RECORD in self.headers:
            return Encoded(record(_KEY_RECORD, *entries(self._key_record), extension), keys)
        if self.options.avro_include_before_value:
            return Encoded(record("value", *self._with_before(changes, entries(self._value)), extension), keys)
        if changes.op is not Op.DELETE:
            return Encoded(record("value", *entries(self._value), extension), keys)
        if self._deleted_records is not None:
            entries(self._key)
            filled = [pieces.get(name) or [self._fillers[name]] for name in (each.column.name for each in self._value)]
            return Encoded(record("value", *filled, extension), keys)
        if self.options.avro_enable_watermark and self.switches.deleted_value == "commit-ts":
            stamps = PackedField(fixed_values(changes.commit_ts, np.uint64).byteswap(), _STAMP_BYTES)
            return Encoded(join_pieces([DELETE_MARK, stamps], count), keys)
        return Encoded(pa.nulls(count, pa.binary()), keys)

    def _with_before(self, changes: Changes, shown: list[Sequence[Piece]]) -> list[Sequence[Piece]]:
        if changes.op is Op.INSERT:
            return [*shown, [_NO_BEFORE]]
        self._refuse_borrowed(changes)
        if changes.op is Op.DELETE:
            whole = [join_pieces([piece for entry in shown for piece in entry], len(changes))]
            return [whole, [_BEFORE], whole]
        before = [self._pieces(each, changes.old) for each in self._value]
        old, new = share_pieces(before, shown, len(changes))
        return [new, [_BEFORE], old]

    def _refuse_borrowed(self, changes: Changes) -> None:
        """Refuse previous rows where the schema names their record after another table: goavro does, too."""
        for encoder in changes.encoders():
            if isinstance(encoder, AvroRows) and "value" in encoder.borrowed:
                raise SharedSubjectError(
                    "the subject's schema names the table's previous rows after another table of the same version: "
                    "TiCDC sends inserts here, and fails at this update or delete",
                    remedy=SharedSubjectError.REMEDY,
                    table=encoder.table.full_name,
                )

    def _pieces(self, shown: _Field, image: Image) -> Sequence[Piece]:
        if shown.column.is_virtual and shown.union is not None:
            return [bytes([shown.union.null])]
        make = partial(self._value_pieces, shown.kind, shown.union)
        try:
            return BinaryImages(_FORM, make).entry(shown.column, image)
        except ValueRefused as fault:
            raise invalid_value(image, shown.column, fault, image.row_key(fault.index)) from None

    def _value_pieces(self, kind: AvroType, union: Union | None, column: Column, values: pa.Array) -> list[Piece]:
        if column.type in LABEL_TYPES:
            refuse_enum_zero(column, values)
            return label_pieces(column, values, union)
        if kind in ("int", "long"):
            return long_pieces(values, union)
        if kind in ("float", "double"):
            return float_pieces(values, union)
        if kind == "decimal":
            return decimal_pieces(values, union)
        if column.type is MySQLType.BIT:
            width = -(-max(column.flen, 1) // 8) if self.switches.bit_bytes == "fixed" else None
            return bit_pieces(values, union, width=width)
        return text_pieces(plain_text(column, values), union)

    def _extension(self, changes: Changes) -> list[Piece]:
        if not self.options.enable_tidb_extension:
            return [_OPERATIONS[changes.op]] if self.options.avro_include_before_value else []
        stamps = changes.commit_pieces(_FORM, lambda column, ts: [*long_pieces(ts), *long_pieces(commit_times(ts))])
        laid = [_OPERATIONS[changes.op], *stamps]
        return [*laid, *self._checksum(changes)] if self.options.enable_row_checksum else laid

    def _checksum(self, changes: Changes) -> list[Piece]:
        sums = changes.once(checksums_of)
        present = sums.present
        last = changes.op is Op.DELETE and self._deleted_records is None
        numbers = sums.previous if last else sums.current
        text = pc.if_else(pa.array(present), pa.array(numbers, pa.uint32()).cast(pa.string()), "")
        versions = pa.array(np.where(present, sums.version, 0).astype(np.int64))
        corrupted = PackedField((present & sums.corrupted).view(np.uint8), 1)
        return [*text_pieces(text), corrupted, *long_pieces(versions)]


@dataclass(frozen=True)
class Avro(Codec):
    options: CodecConfig
    switches: AvroSwitches

    def rows(self, table: TableInfo) -> AvroRows:
        return AvroRows(table, self.options, self.switches)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the message of a DDL, without a wall-clock time; ``None`` without ``avro-enable-watermark``."""
        if not self.options.avro_enable_watermark:
            return None
        members: dict[str, Json] = {
            "query": event.query,
            "type": event.action_code,
            "schema": event.schema,
            "table": event.table,
            "commitTs": event.commit_ts,
        }
        return ControlMessage(None, DDL + json_value(members, GO_STD), event.commit_ts)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message, without a wall-clock time; ``None`` without ``avro-enable-watermark``."""
        on = self.options.avro_enable_watermark
        return ControlMessage(None, WATERMARK + ts.to_bytes(8, "big"), ts) if on else None


def make_codec(changefeed: ChangefeedConfig) -> Avro:
    return Avro(changefeed.codec, changefeed.release.avro)
