"""The schemas of TiCDC's Avro messages, which are flat records.

In: a schema text, as a registry has it. Out: the schema, and the schema that fastavro reads by. A message's schema is
foreign input, and Avro schemas can refer to themselves, nest without limit and contain lists of zero-size items, so a
few bytes can become gigabytes. TiCDC's have fields of plain types, each nullable or not, and with
``avro-include-before-value`` one more field: the row before the change, a record of the same kind or null. Any other
schema is refused before a decoder sees it. Rule source: reference ``pingcap/tiflow: pkg/sink/codec/avro/avro.go``
(columnToAvroSchema).
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from ticdc_emit.json_depth import parsed
from ticdc_emit.protocols.canonical_text import (
    UNSIGNED,
    Convert,
    blob,
    converted,
    double,
    in_utc,
    per_object,
    raw_text,
    text,
    vector,
    word,
)
from ticdc_emit.protocols.consumer_tables import (
    Lookup,
    Outcome,
    Row,
    TableName,
    TableRows,
    Tables,
)
from ticdc_emit.protocols.decoder import (
    EventReader,
    ReaderInputs,
    Recognizer,
)
from ticdc_emit.protocols.events import (
    OTHER_SCHEMAS,
    ChecksumMismatchError,
    DdlEvent,
    DecodeError,
    Event,
    Image,
    RowEvent,
    RowOp,
    WatermarkEvent,
    document,
    member,
    millis,
    tso,
)
from ticdc_emit.protocols.registered_avro import (
    SchemaId,
    SchemaSource,
    check_field,
    decimal_scales,
    decimals,
    fastavro_module,
    known_schema,
    only_type,
    plain_type,
    read_record,
    schema_text,
    split_known,
)
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import ColumnFlag, MySQLType

if TYPE_CHECKING:
    from fastavro.types import Schema

__all__ = [
    "BEFORE",
    "AvroEvents",
    "AvroReader",
    "AvroRow",
    "AvroTables",
    "avro_convert",
    "avro_default",
    "avro_name",
    "avro_names",
    "avro_table",
    "avro_virtual",
    "before_schema",
    "column_fields",
    "has_doubtful_labels",
    "make_reader",
    "plain_schema",
    "read_schema",
    "recognizers",
    "verify_checksum",
]


BEFORE = "_ticdc_before"
"""The field of the row before the change."""


def read_schema(text: str) -> dict[str, Any]:
    """Return a schema of TiCDC's. Raises :class:`DecodeError` for any other text."""
    try:
        schema = parsed(text.encode())
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise ValueError("it is not a record")
        if not isinstance(schema.get("name"), str) or not isinstance(schema.get("namespace", ""), str):
            raise ValueError("it has no name")
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise ValueError("it has no fields")
        for field in fields:
            before = _before(field)
            for each in [field] if before is None else before["fields"]:
                check_field(each)
    except ValueError as fault:
        raise DecodeError(f"the schema does not describe a table: {fault}", remedy=OTHER_SCHEMAS) from fault
    return schema


def before_schema(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema of the row before the change; ``None`` if messages do not have it."""
    return next((before for field in schema["fields"] if (before := _before(field)) is not None), None)


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a schema that a decoder needs: names and plain types. Decimals are read as bytes
    (:func:`decimals`).
    """
    fields = [{"name": field["name"], "type": _plain_type(field)} for field in schema["fields"]]
    return {"type": "record", "name": schema["name"], "namespace": schema.get("namespace", ""), "fields": fields}


def _before(field: Any) -> Mapping[str, Any] | None:
    """Return the record in the field of the previous row. Raises ``ValueError`` for one that is not TiCDC's."""
    if not isinstance(field, Mapping) or field.get("name") != BEFORE:
        return None
    record = only_type(field.get("type"))
    if not isinstance(record, Mapping) or record.get("type") != "record":
        return None  # a column may have this name
    named = isinstance(record.get("name"), str) and isinstance(record.get("namespace", ""), str)
    if not named or not isinstance(record.get("fields"), list):
        raise ValueError(f"the field {BEFORE} is not a row")
    return record


def _plain_type(field: Mapping[str, Any]) -> Any:
    before = _before(field)
    return plain_type(field["type"]) if before is None else ["null", plain_schema(before)]


_WORD = (1 << 64) - 1
_OTHER = re.compile(r"[^A-Za-z0-9_]")
_LABELS = re.compile(r"(?<!\\),")
_TYPES = {
    "INT": (MySQLType.LONG, False),
    "INT UNSIGNED": (MySQLType.LONG, True),
    "BIGINT": (MySQLType.LONGLONG, False),
    "BIGINT UNSIGNED": (MySQLType.LONGLONG, True),
    "FLOAT": (MySQLType.FLOAT, False),
    "DOUBLE": (MySQLType.DOUBLE, False),
    "BIT": (MySQLType.BIT, False),
    "DECIMAL": (MySQLType.NEWDECIMAL, False),
    "TEXT": (MySQLType.LONG_BLOB, False),
    "BLOB": (MySQLType.LONG_BLOB, False),
    "ENUM": (MySQLType.ENUM, False),
    "SET": (MySQLType.SET, False),
    "JSON": (MySQLType.JSON, False),
    "DATE": (MySQLType.DATE, False),
    "DATETIME": (MySQLType.DATETIME, False),
    "TIMESTAMP": (MySQLType.TIMESTAMP, False),
    "TIME": (MySQLType.DURATION, False),
    "YEAR": (MySQLType.YEAR, False),
    "TiDBVECTORFloat32": (MySQLType.VECTOR_FLOAT32, False),
}


def avro_name(name: str) -> str:
    """Return a name in Avro's form."""
    clean = _OTHER.sub("_", name)
    return "_" + clean if clean[:1].isdigit() else clean


def avro_names(table: TableInfo) -> dict[str, str]:
    """Return a table's column names by their Avro names, where these differ."""
    return {shown: column.name for column in table.columns if (shown := avro_name(column.name)) != column.name}


def avro_virtual(table: TableInfo) -> frozenset[str]:
    """Return the Avro names of a table's virtual columns."""
    return frozenset(avro_name(column.name) for column in table.columns if column.is_virtual)


def avro_convert(field: Mapping[str, Any]) -> Convert | None:
    """Return a function that converts a field's values to canonical text. Raises :class:`DecodeError` for a field
    without type.
    """
    kind = _kind(field)
    tidb_type = _tidb_type(field, kind)
    if tidb_type == "BIGINT UNSIGNED":
        return lambda value: value if isinstance(value, str) else str(value & _WORD)
    if tidb_type in ("FLOAT", "DOUBLE"):
        single = tidb_type == "FLOAT"
        return lambda value: float_text(value, single=single)
    if tidb_type == "DECIMAL" and kind["type"] == "bytes":
        return _decimal
    if tidb_type == "BIT":
        return lambda value: str(int.from_bytes(value, "big"))
    if kind["type"] == "bytes":
        return raw_text
    return None if kind["type"] == "string" else str


def avro_default(field: Mapping[str, Any]) -> str | None:
    """Return the value of a new field in existing rows: its default as text, or its type's zero.

    The schema has no default of a DECIMAL, and only the type of a NOT NULL column without one.
    """
    kind = _kind(field)
    tidb_type = _tidb_type(field, kind)
    default = field.get("default")
    if default is None:
        return None if isinstance(field["type"], list) else _zero(tidb_type, kind)
    if tidb_type in ("BIT", "BLOB"):
        return str(default) if tidb_type == "BLOB" else _bit_default(default)
    convert = avro_convert(field)
    return default if convert is None else convert(default)


def avro_table(schema: Mapping[str, Any], key: Collection[str], namespace: str) -> TableInfo:
    """Return the table that a message's schema describes, for readers without another one; ``key``: the handle key."""
    fields = column_fields(schema)
    columns = tuple(_column(number, field, field["name"] in key) for number, field in enumerate(fields, 1))
    return TableInfo(namespace, schema["name"], 0, columns)


def _column(number: int, field: Mapping[str, Any], keyed: bool) -> Column:
    kind = _kind(field)
    tidb_type = _tidb_type(field, kind)
    mysql_type, unsigned = _TYPES.get(tidb_type, (MySQLType.UNSPECIFIED, False))
    nullable = isinstance(field["type"], list)
    flags = ColumnFlag.UNSIGNED if unsigned else ColumnFlag.NONE
    flags |= ColumnFlag.NONE if nullable else ColumnFlag.NOT_NULL
    flags |= ColumnFlag.PRIMARY_KEY if keyed else ColumnFlag.NONE
    text = tidb_type == "TEXT"
    return Column(
        number,
        field["name"],
        mysql_type,
        int(kind["connect.parameters"].get("length", kind.get("precision", -1))),
        int(kind.get("scale", -1)),
        charset="utf8mb4" if text else "binary",
        collate="utf8mb4_bin" if text else "binary",
        flags=flags,
        elems=_labels(kind),
    )


def _kind(field: Mapping[str, Any]) -> Mapping[str, Any]:
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    mapping = next((kind for kind in kinds if isinstance(kind, Mapping)), None)
    if mapping is None:
        raise DecodeError("the schema does not show the column's type", remedy=OTHER_SCHEMAS, field=field.get("name"))
    return mapping


def _tidb_type(field: Mapping[str, Any], kind: Mapping[str, Any]) -> str:
    try:
        name: str = kind["connect.parameters"]["tidb_type"]
    except (LookupError, TypeError):
        raise DecodeError(
            "the schema does not show the column's type", remedy=OTHER_SCHEMAS, field=field.get("name")
        ) from None
    return name


def _labels(kind: Mapping[str, Any]) -> tuple[str, ...]:
    allowed = kind["connect.parameters"].get("allowed")
    return () if allowed is None else tuple(part.replace("\\,", ",") for part in _LABELS.split(allowed))


def _decimal(value: Decimal) -> str:
    return format(value, "f")


def _bit_default(text: str) -> str:
    return str(int.from_bytes(b64decode(text), "big"))


def _zero(tidb_type: str, kind: Mapping[str, Any]) -> str | None:
    if tidb_type in ("TEXT", "BLOB", "SET"):
        return ""
    if tidb_type == "DECIMAL" and "scale" in kind:
        return format(Decimal(0).scaleb(-int(kind["scale"])), "f")
    if tidb_type == "ENUM":
        return _labels(kind)[0]
    if tidb_type == "JSON":
        return json.dumps(None)
    return "0" if tidb_type in ("INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "FLOAT", "DOUBLE", "BIT") else None


_CHECKSUM = "_tidb_row_level_checksum"
_FIRST_EXTENSION_FIELDS = (BEFORE, "_tidb_op")
_SEPARATOR = re.compile(r"(?<!\\),")


def verify_checksum(
    value: Mapping[str, Any] | None, schema: Mapping[str, Any] | str, time_zone: str = "UTC"
) -> int | None:
    """Check a decoded value against its checksum, and return the checksum; ``None`` if it has none.

    ``schema``: the registered schema of the value, parsed or as text. ``time_zone``: the changefeed's, of TIMESTAMP
    values. Raises :class:`ChecksumMismatchError`, and :class:`DecodeError` for a value or schema that TiCDC would not
    send.
    """
    stated = None if value is None else value.get(_CHECKSUM)
    if value is None or stated in (None, "", "0"):
        return None
    if not (isinstance(stated, str) and UNSIGNED.fullmatch(stated)):
        raise DecodeError(f"the checksum {stated!r} is not a number", field=_CHECKSUM)
    record = _record(schema)
    actual = 0
    for column in _columns(record):
        name = column["name"]
        try:
            actual = crc32(_checksum_bytes(value[name], _parameters(column), time_zone), actual)
        except (LookupError, ValueError, TypeError, OverflowError) as fault:
            raise DecodeError(
                f"the value cannot be checked: {type(fault).__name__}: {fault}", remedy=OTHER_SCHEMAS, field=name
            ) from fault
    expected = int(stated)
    if actual != expected:
        raise ChecksumMismatchError(
            f"the row's checksum is {actual}, the message says {expected}",
            remedy=f"If the changefeed does not show TIMESTAMP in {time_zone}, give its time zone",
            table=record.get("name"),
            expected=expected,
            actual=actual,
            corrupted=value.get("_tidb_corrupted"),
        )
    return expected


def has_doubtful_labels(schema: Mapping[str, Any]) -> bool:
    """Return whether a mismatch may be the fault of the schema: ``\\,`` is a comma in an element, or where one ends."""
    return any("\\," in _parameters(field).get("allowed", "") for field in _columns(schema))


def _record(schema: Mapping[str, Any] | str) -> Mapping[str, Any]:
    try:
        record: Mapping[str, Any] = read_schema(schema) if isinstance(schema, str) else schema
        [field["name"] for field in record["fields"]]
    except DecodeError:
        raise
    except (ValueError, LookupError, TypeError) as fault:
        raise DecodeError(f"the schema does not describe a table: {fault}", remedy=OTHER_SCHEMAS) from fault
    return record


def _columns(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return takewhile(lambda field: field["name"] not in _FIRST_EXTENSION_FIELDS, record["fields"])


def _parameters(field: Mapping[str, Any]) -> Mapping[str, str]:
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    described: Mapping[str, Any] = next((kind for kind in kinds if isinstance(kind, Mapping)), {})
    parameters: Mapping[str, str] = described["connect.parameters"]
    return parameters


def _checksum_bytes(value: Any, parameters: Mapping[str, str], time_zone: str) -> bytes:
    if value is None:
        return b""
    kind = parameters["tidb_type"]
    if kind == "ENUM":
        return word(1 + _elements(parameters).index(_as_allowed(value)))
    if kind == "SET":
        elements, number = _elements(parameters), 0
        for label in value.split(",") if value else ():
            number |= 1 << elements.index(_as_allowed(label))
        return word(number)
    if kind == "TIMESTAMP":
        return text(in_utc(value, time_zone))
    return _BYTES[kind](value)


def _number(value: int | str) -> bytes:
    """Return an integer, or the text of BIGINT UNSIGNED."""
    if isinstance(value, str) and not UNSIGNED.fullmatch(value):
        raise ValueError(f"{value!r} is not an unsigned number")
    return word(int(value))


def _bit(value: bytes) -> bytes:
    return int.from_bytes(value, "big").to_bytes(8, "little")


_BYTES: Mapping[str, Callable[[Any], bytes]] = {
    **dict.fromkeys(("INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "YEAR"), _number),
    **dict.fromkeys(("FLOAT", "DOUBLE"), double),
    **dict.fromkeys(("DECIMAL", "TEXT", "JSON", "DATE", "DATETIME", "TIME"), text),
    "BIT": _bit,
    "BLOB": blob,
    "TiDBVECTORFloat32": vector,
}


def _elements(parameters: Mapping[str, str]) -> list[str]:
    return _SEPARATOR.split(parameters["allowed"])


def _as_allowed(label: str) -> str:
    """Return a label as it is in ``allowed`` (pkg/sink/codec/common: EscapeEnumAndSetOptions)."""
    return label.replace(",", "\\,").replace("\\'", "'").replace("''", "'")


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


_EVENT_OPS: dict[str | None, RowOp] = {"c": "insert", "u": "update", "d": "delete", None: "insert"}
_NAMESPACE = "default."
_DDL, _WATERMARK = b"\x01", b"\x02"


class AvroEvents(EventReader):
    """A reader of Avro messages.

    Without the TiDB extension, inserts and updates look alike: both are ``insert``.
    """

    def __init__(self, schemas: SchemaSource, zone: str = "UTC") -> None:
        self._reader = AvroReader(schemas)
        self._zone = zone
        self._converts = per_object(_converts_of)
        self._names = per_object(avro_names)
        self._virtual = per_object(avro_virtual)

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return what a record says."""
        if not key and value and value[:1] in (_DDL, _WATERMARK):
            return _control(value)
        message = self._reader.read(key, value)
        namespace = message.namespace.removeprefix(_NAMESPACE)
        return RowEvent(
            namespace,
            message.table,
            _EVENT_OPS[message.op],
            message.commit_ts,
            message.key if message.op == "d" and message.before is None else message.before,
            message.value,
            message.key,
            message.commit_physical_ms,
            message=message,
        )

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event in canonical text."""
        if image is None:
            return None
        message: AvroRow = event.message
        schema = message.key_schema if image is message.key else message.schema
        assert schema is not None
        shown = converted(image, self._converts(schema), table=event.table)
        if table is None:
            return shown
        names, virtual = self._names(table), self._virtual(table)
        if virtual:
            shown = {name: value for name, value in shown.items() if name not in virtual}
        return {names.get(name, name): value for name, value in shown.items()} if names else shown

    def check(self, event: RowEvent) -> None:
        """Compare a row with its checksum, unless its labels are ambiguous in its schema."""
        message: AvroRow = event.message
        try:
            message.verify(self._zone)
        except DecodeError:
            if message.schema is None or not has_doubtful_labels(message.schema):
                raise

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        """Return tables that learn from the rows' schemas."""
        return AvroTables(catalog, self, zone, lookup)


def _converts_of(schema: Mapping[str, Any]) -> dict[str, Convert]:
    return {field["name"]: convert for field in column_fields(schema) if (convert := avro_convert(field)) is not None}


def _control(value: bytes) -> Event:
    if value[:1] == _WATERMARK:
        if len(value) != 9:
            raise DecodeError("a watermark has 9 bytes", part="value")
        return WatermarkEvent(int.from_bytes(value[1:], "big"))
    members = document(value[1:], "value")
    query, commit_ts = member(members, "query", str), tso(members, "commitTs")
    return DdlEvent(query, commit_ts, member(members, "schema", str), member(members, "table", str))


class AvroTables(Tables):
    """``catalog``: the tables before the first message; its names replace those of Avro."""

    def __init__(self, catalog: Catalog, reader: EventReader, zone: str, lookup: Lookup | None = None) -> None:
        super().__init__(catalog, reader, zone, lookup)
        self._names = self._shown_names()
        self._newest: dict[TableName, tuple[int, Any]] = {}
        self._arrived = 0

    def has_handle_key(self, event: RowEvent) -> bool:
        """Return whether the row has a key."""
        return bool(event.key)

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        """Apply a row event. A delete in a table without handle key has no data, and is :attr:`Outcome.UNKNOWN`."""
        name = self._names.get((event.schema, event.table))
        if name is None or name not in self._tables:
            name = self._learn(event)
        table = self._tables[name]
        shown: Image | None = event.key
        if not shown and not table.info.whole_primary_key:
            # in the new architecture a unique key has no message key, so it is read from the row, if there is one
            shown = event.after if event.after is not None else event.before
            if shown is None:
                return Outcome.UNKNOWN
        if event.after is None and not table.handle:
            return Outcome.UNKNOWN
        key_row = self._reader.image(event, shown, table.info) or {}
        after = self._reader.image(event, event.after, table.info)
        try:
            key = table.key(key_row)
        except KeyError as fault:
            raise DecodeError(
                "the message does not show the handle key", table=table.info.full_name, field=fault.args[0]
            ) from None
        self._note(name, event, commit)
        return self._write(event.op, table, (key, key_row), (key, after), commit, place)

    def ddl(self, event: DdlEvent, commit: int | None) -> None:
        """Apply a statement, which only ``avro-enable-watermark`` sends."""
        super().ddl(event, commit)
        self._names = self._shown_names()
        self._newest.clear()

    def finish(self) -> None:
        """Convert all rows to the newest schema of their table."""
        for name, (_, message) in self._newest.items():
            table = self._tables[name]
            own = avro_names(table.info)
            virtual = avro_virtual(table.info)
            fields = [field for field in column_fields(message.schema) if field["name"] not in virtual]
            names = [own.get(field["name"], field["name"]) for field in fields]
            shape = frozenset(names)
            if all(row.keys() == shape for row in table.rows.values()):
                continue
            defaults: Row = {shown: avro_default(field) for shown, field in zip(names, fields, strict=True)}
            for key, row in table.rows.items():
                table.rows[key] = {shown: row.get(shown, default) for shown, default in defaults.items()}

    def _shown_names(self) -> dict[TableName, TableName]:
        return {(avro_name(schema), avro_name(table)): (schema, table) for schema, table in self._tables}

    def _learn(self, event: RowEvent) -> TableName:
        name = event.schema, event.table
        schema = event.message.schema or event.message.key_schema
        self._tables[name] = TableRows(avro_table(schema, event.key or (), event.schema))
        self._names[name] = name
        return name

    def _note(self, name: TableName, event: RowEvent, commit: int | None) -> None:
        if event.after is None:
            return
        self._arrived += 1
        stamp = self._arrived if commit is None else commit
        known = self._newest.get(name)
        if known is None or stamp >= known[0]:
            self._newest[name] = stamp, event.message


_MAGIC = 0
_SCHEMA_ID_BYTES = 5


def make_reader(inputs: ReaderInputs) -> EventReader:
    """Return the reader of a changefeed's messages."""
    assert inputs.schemas is not None  # ensured by readers.reader_for
    return AvroEvents(inputs.schemas, inputs.config.time_zone)


def recognizers() -> Mapping[str, list[Recognizer]]:
    """Return a function that accepts only these messages. It reads the schema ids, not the schemas."""
    return {"avro": [_with_schema_ids]}


def _with_schema_ids(key: bytes | None, value: bytes | None) -> None:
    if not (_has_schema_id(key) and (value is None or _has_schema_id(value))):
        raise DecodeError("no schema id comes before the data")


def _has_schema_id(data: bytes | None) -> bool:
    return data is not None and len(data) > _SCHEMA_ID_BYTES and data[0] == _MAGIC
