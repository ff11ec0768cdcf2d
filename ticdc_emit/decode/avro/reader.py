"""Reader of TiCDC's Avro messages. In: bytes of a Kafka record. Out: a row. fastavro decodes.

A key or value begins with the id of its schema: a zero byte and four bytes big-endian (Confluent), or ``03 00`` and
the 16 bytes of a UUID (AWS Glue). A null value is a delete. Rule sources: "TiCDC Avro Protocol" and "TiCDC Row Data
Checksum Verification Based on Avro"; reference ``pingcap/tiflow: pkg/sink/codec/avro/decoder.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ticdc_emit.decode.avro.checksum import verify_checksum
from ticdc_emit.decode.avro.schema import BEFORE, before_schema, plain_schema, read_schema
from ticdc_emit.decode.avro_fields import (
    decimal_scales,
    decimals,
    fastavro_module,
    known_schema,
    read_record,
    split_known,
)
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.members import millis, tso
from ticdc_emit.decode.schemas import SchemaId, SchemaSource, schema_text

if TYPE_CHECKING:
    from fastavro.types import Schema

__all__ = ["AvroReader", "AvroRow", "column_fields"]

_EXTENSION = ["_tidb_op", "_tidb_commit_ts", "_tidb_commit_physical_time"]
_OPS = (None, "c", "u", "d")
_DELETE_MARK, _MARK_BYTES = b"\x03", 9
_PHYSICAL_BITS = 18


@dataclass(frozen=True)
class AvroRow:
    """One row change.

    ``table`` and ``namespace``: those of the schema, with ``_`` for characters that Avro names cannot have. ``key``:
    the handle key; ``None`` for a table without one. ``value``: every column of the row after the change, ``None`` for
    a delete. ``before``: every column of the row before an update or delete, with ``avro-include-before-value``.

    With the TiDB extension fields: ``op`` (``c``, ``u`` or ``d``), ``commit_ts`` (TSO), ``commit_physical_ms``. A
    delete without a value has none of them; its ``op`` is ``d``. With row checksums: ``checksum`` (``None`` if the row
    has none), ``corrupted``, ``checksum_version``. ``fields`` is the decoded value with all of these, ``schema`` its
    schema, ``key_schema`` that of the key.
    """

    table: str
    namespace: str
    key: Mapping[str, Any] | None
    value: Mapping[str, Any] | None
    op: str | None
    commit_ts: int | None = None
    commit_physical_ms: int | None = None
    before: Mapping[str, Any] | None = None
    checksum: str | None = None
    corrupted: bool | None = None
    checksum_version: int | None = None
    fields: Mapping[str, Any] | None = None
    schema: Mapping[str, Any] | None = None
    key_schema: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    def verify(self, time_zone: str = "UTC") -> int | None:
        """Check the row against its checksum (:func:`verify_checksum`); ``None`` if there is nothing to check."""
        return None if self.schema is None else verify_checksum(self.fields, self.schema, time_zone)


class _Known(NamedTuple):
    """A schema of the registry, the schema that fastavro reads by, and the scales of its decimals."""

    schema: dict[str, Any]
    parsed: Schema
    scales: dict[str, int]
    before_scales: dict[str, int]


class AvroReader:
    """Reads the records of a topic. ``schemas``: a mapping or callable from schema id to schema text."""

    def __init__(self, schemas: SchemaSource) -> None:
        self._schemas = schemas
        self._known: dict[SchemaId, _Known] = {}

    def read(self, key: bytes | None, value: bytes | None) -> AvroRow:
        """Return the row change in a record; an empty key or value counts as missing.

        Raises :class:`DecodeError` for bytes that are not a row change or do not fit the schema they name, and
        :class:`~ticdc_emit.errors.MissingDependencyError` without fastavro.
        """
        key_schema, key_fields = self._part("key", key)
        marked = value is not None and value[:1] == _DELETE_MARK and len(value) == _MARK_BYTES
        schema, fields = self._part("value", None if marked else value)
        named = schema or key_schema
        if named is None:
            lacking = (
                "a delete without a key does not identify its row" if marked else "the record has neither key nor value"
            )
            raise DecodeError(lacking)
        shared: dict[str, Any] = {
            "table": named["name"],
            "namespace": named.get("namespace", ""),
            "key": key_fields,
            "key_schema": key_schema,
        }
        if fields is None or schema is None:
            if not marked or value is None:
                return AvroRow(**shared, value=None, op="d")
            stamp = int.from_bytes(value[1:], "big")
            return AvroRow(**shared, value=None, op="d", commit_ts=stamp, commit_physical_ms=stamp >> _PHYSICAL_BITS)
        columns, extension = _parted(fields, schema)
        before = extension.get(BEFORE)
        op = extension.get("_tidb_op")
        if op not in _OPS:
            raise DecodeError(f"{op!r} is not an op of Avro messages", part="value", field="_tidb_op")
        if (op in ("u", "d")) is not (before is not None) and before_schema(schema) is not None:
            raise DecodeError(f"a change with op {op!r} and the wrong row before it", part="value", field=BEFORE)
        extended = "_tidb_commit_ts" in extension
        return AvroRow(
            **shared,
            value=None if op == "d" else columns,
            op=op,
            commit_ts=tso(extension, "_tidb_commit_ts") if extended else None,
            commit_physical_ms=millis(extension, "_tidb_commit_physical_time") if extended else None,
            before=before,
            checksum=extension.get("_tidb_row_level_checksum") or None,
            corrupted=extension.get("_tidb_corrupted"),
            checksum_version=extension.get("_tidb_checksum_version"),
            fields=fields,
            schema=schema,
        )

    def _part(self, part: str, data: bytes | None) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        if not data:
            return None, None
        number, body, known = split_known(part, data, self._schema)

        def finish(fields: dict[str, Any]) -> None:
            decimals(fields, known.scales)
            if known.before_scales and fields[BEFORE] is not None:
                decimals(fields[BEFORE], known.before_scales)

        return known.schema, read_record(part, number, body, known.parsed, finish)

    def _schema(self, number: SchemaId) -> _Known:
        if number not in self._known:
            text = schema_text(self._schemas, number)
            self._known[number] = known_schema(number, "a table", lambda: _known(text))
        return self._known[number]


def _known(text: str) -> _Known:
    schema = read_schema(text)
    parsed = fastavro_module().parse_schema(plain_schema(schema))
    before = before_schema(schema)
    return _Known(schema, parsed, decimal_scales(schema), {} if before is None else decimal_scales(before))


def _parted(fields: dict[str, Any], schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns and the extension fields after them."""
    columns = {field["name"]: fields[field["name"]] for field in column_fields(schema)}
    return columns, {name: value for name, value in fields.items() if name not in columns}


def column_fields(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the fields of a record's schema that are columns; those of the TiDB extension come after them."""
    fields: list[Mapping[str, Any]] = schema["fields"]
    names = [field["name"] for field in fields]
    if before_schema(schema) is not None:
        return fields[: names.index(BEFORE)]
    first = next((at for at in range(len(names)) if names[at : at + len(_EXTENSION)] == _EXTENSION), len(names))
    return fields[:first]
