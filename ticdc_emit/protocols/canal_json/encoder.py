"""Canal-JSON, written: one JSON object per row change, DDL or watermark; keys are empty.

An unsigned integer beyond the signed type of the same size has the next larger Java type (``sqlType``). MEDIUMINT is
never promoted, and NULL keeps the base type. Rule sources: semantics 2.6; "TiCDC Canal-JSON Protocol";
``pingcap/tiflow: pkg/sink/codec/canal`` and ``pkg/sink/codec/internal/java.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import Codec, ControlMessage, refuse_empty
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes, Encoded, Op, json_overhead
from ticdc_emit.changes.row_keys import row_keys_of
from ticdc_emit.columnar.assemble import NULL, Fragment, Mask, blank_where, gather, join, reuse_equal
from ticdc_emit.columnar.binary_text import base64_text
from ticdc_emit.columnar.buffers import fixed_values, null_mask
from ticdc_emit.columnar.escape import EASYJSON, quoted
from ticdc_emit.columnar.values import json_content
from ticdc_emit.config import ChangefeedConfig, CodecConfig
from ticdc_emit.config.switches import CanalJsonSwitches
from ticdc_emit.errors import ColumnSelectorError
from ticdc_emit.protocols.json_values import Json, json_value
from ticdc_emit.protocols.row_images import Members
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo, mysql_type_name, type_desc
from ticdc_emit.sql.actions import ACTIONS
from ticdc_emit.sql.types import TYPES, MySQLType
from ticdc_emit.tso import physical_ms

_BIGINT, _DECIMAL, _INTEGER, _SMALLINT, _BLOB = -5, 3, 4, 5, 2004


def java_type(column: Column) -> int:
    return _BLOB if column.is_binary else TYPES[column.type].canal


@dataclass(frozen=True)
class Promotion:
    """Values above ``limit`` get the Java type ``code``."""

    limit: int
    code: int

    def mask(self, values: pa.Array) -> Mask:
        """Return where the ``uint64`` values are above the limit; null is not."""
        above: Mask = np.greater(fixed_values(values, np.uint64), np.uint64(self.limit))
        nulls = null_mask(values)
        return above if nulls is None else above & ~nulls


_PROMOTIONS = {
    MySQLType.TINY: Promotion((1 << 7) - 1, _SMALLINT),
    MySQLType.SHORT: Promotion((1 << 15) - 1, _INTEGER),
    MySQLType.LONG: Promotion((1 << 31) - 1, _BIGINT),
    MySQLType.LONGLONG: Promotion((1 << 63) - 1, _DECIMAL),
}


def promotion(column: Column) -> Promotion | None:
    """Return the promotion rule of a column; ``None`` for all but unsigned integers."""
    return _PROMOTIONS.get(column.type) if column.unsigned else None


_FORM, _NULL_TEXT_FORM, _JAVA_TYPES = "canal-json", "canal-json, null for its text", "canal-json Java types"
_WATERMARK = "TIDB_WATERMARK"
_ROW_KEY_BYTES = 1024  # of a row key, but for its texts
_BYTES_OF_KEY_CHARACTER = 6  # four bytes, in groups of nine for eight, in base64


def _content(column: Column, values: pa.Array) -> pa.Array:
    return json_content(column, values, EASYJSON)


def _content_or_null(column: Column, values: pa.Array) -> pa.Array:
    content = _content(column, values)
    return pc.if_else(pc.equal(content, b"null"), pa.scalar(None, content.type), content)


def _quotes(_: Column) -> tuple[bytes, bytes]:
    return b'"', b'"'


@dataclass(frozen=True)
class _Members:
    columns: tuple[Column, ...]
    whole: tuple[Column, ...]
    """The columns without column selectors."""
    options: CodecConfig
    switches: CanalJsonSwitches

    @cached_property
    def object(self) -> Members:
        return self._object(tuple(quoted(column.name, EASYJSON) + b":" for column in self.columns))

    @cached_property
    def before(self) -> Members:
        """The object of ``old``: it may show columns that are not selected, as constants around the others."""
        if self.columns == self.whole or self.switches.unselected_before == "left-out":
            return self.object
        names, constant = [], b""
        for column in self.whole:
            name = quoted(column.name, EASYJSON) + b":"
            if column in self.columns:
                names.append(constant + name)
                constant = b""
            else:
                constant += name + b'"",'
        constant = constant.removesuffix(b",")
        return self._object(tuple(names), b"," + constant if constant and names else constant)

    def _object(self, names: tuple[bytes, ...], last: bytes = b"") -> Members:
        is_null = self.switches.null_text == "null"
        form, content = (_NULL_TEXT_FORM, _content_or_null) if is_null else (_FORM, _content)
        return Members(self.columns, names, form, content, _quotes, last=last)

    @cached_property
    def mysql_type(self) -> bytes:
        name = type_desc if self.options.content_compatible else mysql_type_name
        types = (quoted(column.name, EASYJSON) + b":" + quoted(name(column), EASYJSON) for column in self.columns)
        if not self.columns and self.switches.empty_mysql_type == "null":
            return b"null"
        return b"{" + b",".join(types) + b"}"

    def sql_type(self, image: Image) -> list[Fragment]:
        """Lay out the Java types; those of unsigned integers depend on the row's value."""
        return [part if isinstance(part, bytes) else _java_type(*part, image) for part in self._sql_type]

    @cached_property
    def _sql_type(self) -> tuple[bytes | tuple[Column, Promotion], ...]:
        if not self.columns:
            return (b"null",)
        parts: list[bytes | tuple[Column, Promotion]] = []
        constant = b"{"
        for place, column in enumerate(self.columns):
            constant += (b"," if place else b"") + self.object.names[place]
            promoted = promotion(column)
            if promoted is None:
                constant += b"%d" % java_type(column)
            else:
                parts += [constant, (column, promoted)]
                constant = b""
        return (*parts, constant + b"}")


def _java_type(column: Column, promoted: Promotion, image: Image) -> Fragment:
    if image.is_small:
        return image.rendered(column, _JAVA_TYPES, _java_types)
    base = b"%d" % java_type(column)
    above = promoted.mask(image.values(column))
    if not above.any():
        return base
    larger = b"%d" % promoted.code
    return larger if above.all() else gather([base, larger], above.view(np.uint8))


def _java_types(column: Column, values: pa.Array) -> pa.Array:
    promoted = promotion(column)
    assert promoted is not None
    forms = pa.array([b"%d" % java_type(column), b"%d" % promoted.code])
    return forms.take(pa.array(promoted.mask(values).view(np.uint8)))


@dataclass(frozen=True)
class CanalJsonRows:
    table: TableInfo
    options: CodecConfig
    switches: CanalJsonSwitches
    reads_old: ClassVar[bool] = True
    refuses_large: ClassVar[bool] = True
    reduces_by_any_option: ClassVar[bool] = False

    @cached_property
    def _shows_row_keys(self) -> bool:
        return self.options.output_row_key and self.options.enable_tidb_extension

    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: a column's name is in sqlType, mysqlType, old and data."""
        texts = sum(max(column.flen, 0) for column in self.table.whole_primary_key)
        row_key = _ROW_KEY_BYTES + _BYTES_OF_KEY_CHARACTER * texts if self._shows_row_keys else 0
        return json_overhead(self.table, name_uses=4) + row_key

    @cached_property
    def _all(self) -> _Members:
        return _Members(self.table.data_columns, self.table.row_columns, self.options, self.switches)

    @cached_property
    def _handle_key(self) -> _Members:
        whole = replace(self.table, selected=None).handle_key
        return _Members(self.table.handle_key, whole, self.options, self.switches)

    @cached_property
    def _prefix(self) -> bytes:
        whole = self.switches.pk_names == "whole"
        key = self.table.whole_primary_key if whole else self.table.primary_key
        names = b",".join(quoted(column.name, EASYJSON) for column in key)
        return b'{"id":0,"database":%s,"table":%s,"pkNames":[%s],"isDdl":false,"type":"' % (
            quoted(self.table.schema, EASYJSON),
            quoted(self.table.name, EASYJSON),
            names,
        )

    def check(self, changes: Changes) -> None:
        """Refuse updates at which TiCDC crashes, rows without columns, and rows without a key in TiKV."""
        refuse_empty(self.table)
        if self._shows_row_keys:
            _ = changes.once(row_keys_of)  # kept for the messages
        dropped = self.table.selected is not None and self.switches.selected_updates == "failing"
        if dropped and changes.op is Op.UPDATE and self.options.only_output_updated_columns:
            raise ColumnSelectorError(
                "only-output-updated-columns compares every column of an update, and a column selector drops some: "
                "TiCDC crashes here",
                remedy="Turn off only-output-updated-columns and content-compatible, or keep all columns",
                table=self.table.full_name,
            )
        defect = self.switches.compared_vectors
        if defect is not None and changes.op is Op.UPDATE and self.options.only_output_updated_columns:
            for column in (each for each in self.table.data_columns if each.type is MySQLType.VECTOR_FLOAT32):
                filled = pc.and_(changes.old.raw(column).is_valid(), changes.current.raw(column).is_valid())
                if filled.true_count:
                    raise changes.current.defect(np.flatnonzero(filled), defect, column)

    def encode(self, changes: Changes) -> Encoded:
        handle_key_only = changes.op is Op.DELETE and self.options.delete_only_output_handle_key_columns
        members = self._handle_key if handle_key_only else self._all
        return Encoded(join(self._fragments(changes, members, []), len(changes), NULL))

    def reduced(self, changes: Changes, locations: Sequence[str] | None) -> Encoded:
        marks: list[Fragment] = [b',"onlyHandleKey":true']
        if locations is not None:
            marks = [
                b',"claimCheckLocation":',
                pa.array([quoted(location, EASYJSON) for location in locations], pa.binary()),
            ]
        return Encoded(join(self._fragments(changes, self._handle_key, marks), len(changes), NULL))

    def _fragments(self, changes: Changes, members: _Members, marks: list[Fragment]) -> list[Fragment]:
        laid: list[Fragment] = [changes.constant(lambda encoder: encoder._prefix)]
        laid += [changes.op.value.upper().encode(), b'","es":']
        laid += [changes.commit_ms_text, b',"ts":', changes.build_ms_text, b',"sql":"","sqlType":']
        laid += members.sql_type(changes.current)
        old, data = self._images(members, changes)
        laid += [b',"mysqlType":', members.mysql_type, b',"old":', *old, b',"data":[', *data, b"]"]
        if self.options.enable_tidb_extension:
            if self._shows_row_keys:
                marks = [*marks, b',"rowkey":"', base64_text(changes.once(row_keys_of)), b'"']
            laid += [b',"_tidb":{"commitTs":', changes.commit_ts_text, *marks, b"}"]
        return [*laid, b"}" + self.options.terminator.encode()]

    def _images(self, members: _Members, changes: Changes) -> tuple[list[Fragment], list[Fragment]]:
        data = members.object.laid(changes.current)
        if changes.op is not Op.UPDATE:
            return [b"null"], list(data)
        if self.options.only_output_updated_columns:
            return [b"[", *self._updated(members, changes), b"]"], list(data)
        before = members.before.laid(changes.old, data if members.before is members.object else None)
        old, new = reuse_equal(list(before), list(data), len(changes), NULL)
        return [b"[", *old, b"]"], new

    def _updated(self, members: _Members, changes: Changes) -> list[Fragment]:
        texts: list[pa.Array] = []
        shown: list[Mask] = []
        form, content = members.object.form, members.object.content
        for column in members.columns:
            mask = changes.old.changed(column, form, content, by_text=self.switches.compared_values == "text")
            texts.append(blank_where(changes.old.rendered(column, form, content), ~mask))
            shown.append(mask)
        return members.object.layout.sparse_fragments(texts, shown)


def _control(kind: str, names: tuple[str, str], ts: int, build_ts: int, sql: str, tso: Json) -> bytes:
    members: dict[str, Json] = {
        "id": 0,
        "database": names[0],
        "table": names[1],
        "pkNames": None,
        "isDdl": kind != _WATERMARK,
        "type": kind,
        "es": physical_ms(ts),
        "ts": build_ts,
        "sql": sql,
        **dict.fromkeys(("sqlType", "mysqlType", "data", "old")),
    }
    return json_value(members if tso is None else {**members, "_tidb": tso}, EASYJSON)


@dataclass(frozen=True)
class CanalJson(Codec):
    options: CodecConfig
    switches: CanalJsonSwitches
    compressed_parts: ClassVar[tuple[str, ...]] = ("value",)

    def rows(self, table: TableInfo) -> CanalJsonRows:
        return CanalJsonRows(table, self.options, self.switches)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage:
        """Return the message of a DDL. The statement is printed as given."""
        commit_ts, names = event.commit_ts, (event.schema, event.table)
        tso = {"commitTs": commit_ts} if commit_ts else {}
        extension = tso if self.options.enable_tidb_extension else None
        value = _control(ACTIONS[event.action].kind, names, commit_ts, build_ts, event.query, extension)
        return ControlMessage(None, value, commit_ts)

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message, ``None`` without ``enable-tidb-extension``."""
        if not self.options.sends_watermarks:
            return None
        value = _control(_WATERMARK, ("", ""), ts, build_ts, "", {"watermarkTs": ts} if ts else {})
        return ControlMessage(None, value, ts)


def make_codec(changefeed: ChangefeedConfig) -> CanalJson:
    return CanalJson(changefeed.codec, changefeed.release.canal_json)
