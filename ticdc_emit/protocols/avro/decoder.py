"""Avro, read: rows, their checksums, and the tables of a consumer. Rule sources: "TiCDC row data checksum verification
based on Avro"; ``pingcap/tiflow: pkg/sink/codec/avro``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from ticdc_emit.protocols.avro.schema import (
    BEFORE,
    CHECKSUM_FIELDS,
    DDL,
    DELETE_MARK,
    LABELS,
    NAMESPACE,
    WATERMARK,
    avro_convert,
    avro_default,
    avro_names,
    avro_table,
    avro_virtual,
    before_schema,
    column_fields,
    parameters_of,
    plain_schema,
    read_schema,
)
from ticdc_emit.protocols.canonical_text import (
    UNSIGNED,
    Convert,
    blob,
    converted,
    double,
    in_utc,
    per_object,
    text,
    vector,
    word,
)
from ticdc_emit.protocols.consumer_tables import Images, LearnedTables, Lookup, Outcome, TableName, TableRows, Tables
from ticdc_emit.protocols.decoder import EventReader, ReaderInputs
from ticdc_emit.protocols.events import (
    OTHER_SCHEMAS,
    DdlEvent,
    DecodeError,
    Event,
    Image,
    RowEvent,
    RowOp,
    WatermarkEvent,
    compare_checksums,
    document,
    member,
    millis,
    tso,
)
from ticdc_emit.protocols.names import escaped_label, sanitize
from ticdc_emit.protocols.registered_avro import (
    KnownSchemas,
    SchemaSource,
    decimal_scales,
    decimals,
    fastavro_module,
    read_record,
)
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.row_versions import Row

if TYPE_CHECKING:
    from fastavro.types import Schema


_CHECKSUM = CHECKSUM_FIELDS[0][0]


def verify_checksum(
    value: Mapping[str, Any] | None, schema: Mapping[str, Any] | str, time_zone: str = "UTC"
) -> int | None:
    """Check a decoded value against its checksum, and return the checksum; ``None`` if it has none.

    ``schema``: the value's registered schema. ``time_zone``: the changefeed's. Raises
    :class:`~ticdc_emit.protocols.events.ChecksumMismatchError`, and :class:`DecodeError` for what TiCDC would not send.
    """
    stated = None if value is None else value.get(_CHECKSUM)
    if value is None or stated in (None, "", "0"):
        return None
    if not (isinstance(stated, str) and UNSIGNED.fullmatch(stated)):
        raise DecodeError(f"the checksum {stated!r} is not a number", field=_CHECKSUM)
    try:
        record: Mapping[str, Any] = read_schema(schema) if isinstance(schema, str) else schema
        columns = column_fields(record)
    except (LookupError, TypeError) as fault:
        raise DecodeError(f"the schema does not describe a table: {fault}", remedy=OTHER_SCHEMAS) from fault
    actual = 0
    for column in columns:
        name, parameters = column["name"], parameters_of(column)
        try:
            actual = crc32(_checksum_bytes(value[name], parameters, time_zone), actual)
        except (LookupError, ValueError, TypeError, OverflowError) as fault:
            raise DecodeError(
                f"the value cannot be checked: {type(fault).__name__}: {fault}", remedy=OTHER_SCHEMAS, field=name
            ) from fault
    expected = int(stated)
    compare_checksums(
        actual,
        expected,
        remedy=f"If the changefeed does not show TIMESTAMP in {time_zone}, give its time zone",
        table=record.get("name"),
        corrupted=value.get("_tidb_corrupted"),
    )
    return expected


def _checksum_bytes(value: Any, parameters: Mapping[str, str], time_zone: str) -> bytes:
    if value is None:
        return b""
    kind = parameters["tidb_type"]
    if kind == "ENUM":
        return word(1 + _elements(parameters).index(escaped_label(value)))
    if kind == "SET":
        elements, number = _elements(parameters), 0
        for label in value.split(",") if value else ():
            number |= 1 << elements.index(escaped_label(label))
        return word(number)
    if kind == "TIMESTAMP":
        return text(in_utc(value, time_zone))
    return _BYTES[kind](value)


def _number(value: int | str) -> bytes:
    if isinstance(value, str) and not UNSIGNED.fullmatch(value):
        raise ValueError(f"{value!r} is not an unsigned number")
    return word(int(value))


_BYTES: Mapping[str, Callable[[Any], bytes]] = {
    **dict.fromkeys(("INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "YEAR"), _number),
    **dict.fromkeys(("FLOAT", "DOUBLE"), double),
    **dict.fromkeys(("DECIMAL", "TEXT", "JSON", "DATE", "DATETIME", "TIME"), text),
    "BIT": lambda value: int.from_bytes(value, "big").to_bytes(8, "little"),
    "BLOB": blob,
    "TiDBVECTORFloat32": vector,
}


def _elements(parameters: Mapping[str, str]) -> list[str]:
    return LABELS.split(parameters["allowed"])


_OPS: Mapping[str | None, RowOp] = {"c": "insert", "u": "update", "d": "delete", None: "insert"}
_MARK_BYTES = 9
_PHYSICAL_BITS = 18


class AvroMessage(NamedTuple):
    """A row's record: ``fields`` of the value, also of the TiDB extension and of checksums, and both schemas."""

    fields: Mapping[str, Any] | None
    schema: Mapping[str, Any] | None
    key_schema: Mapping[str, Any] | None


class _Known(NamedTuple):
    schema: dict[str, Any]
    parsed: Schema
    scales: dict[str, int]
    before_scales: dict[str, int]


class AvroReader(EventReader):
    """Reads the records of a topic. ``schemas``: schema texts by id; ``zone``: the changefeed's time zone.

    Names are those of the schema, with ``_`` for characters that Avro names cannot have. Without the TiDB extension,
    updates look like inserts: both are ``insert``. The ``message`` of a row's event is an :class:`AvroMessage`.
    """

    def __init__(self, schemas: SchemaSource, zone: str = "UTC") -> None:
        self._schemas = KnownSchemas(schemas, "a table", _known)
        self._zone = zone
        self._converts = per_object(_converts_of)
        self._names = per_object(avro_names)
        self._virtual = per_object(avro_virtual)

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return the event of a record; an empty key or value counts as missing. Raises :class:`DecodeError`, and
        :class:`~ticdc_emit.errors.MissingDependencyError` without fastavro.
        """
        if not key and value and value[:1] in (DDL, WATERMARK):
            return _control(value)
        key_schema, key_fields = self._part("key", key)
        marked = value is not None and value[:1] == DELETE_MARK and len(value) == _MARK_BYTES
        schema, fields = self._part("value", None if marked else value)
        named = schema or key_schema
        if named is None:
            lacking = (
                "a delete without a key does not identify its row" if marked else "the record has neither key nor value"
            )
            raise DecodeError(lacking)
        database, table = named.get("namespace", "").removeprefix(NAMESPACE), named["name"]
        message = AvroMessage(fields, schema, key_schema)
        if fields is None or schema is None:
            stamp = int.from_bytes(value[1:], "big") if marked and value is not None else None
            time = None if stamp is None else stamp >> _PHYSICAL_BITS
            return RowEvent(database, table, "delete", stamp, key_fields, None, key_fields, time, message=message)
        columns = {field["name"]: fields[field["name"]] for field in column_fields(schema)}
        extension = {name: value for name, value in fields.items() if name not in columns}
        before, op = extension.get(BEFORE), extension.get("_tidb_op")
        if op not in _OPS:
            raise DecodeError(f"{op!r} is not an op of Avro messages", part="value", field="_tidb_op")
        if (op in ("u", "d")) is not (before is not None) and before_schema(schema) is not None:
            raise DecodeError(f"a change with op {op!r} and the wrong row before it", part="value", field=BEFORE)
        extended = "_tidb_commit_ts" in extension
        return RowEvent(
            database,
            table,
            _OPS[op],
            tso(extension, "_tidb_commit_ts") if extended else None,
            key_fields if op == "d" and before is None else before,
            None if op == "d" else columns,
            key_fields,
            millis(extension, "_tidb_commit_physical_time") if extended else None,
            message=message,
        )

    def _part(self, part: str, data: bytes | None) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        if not data:
            return None, None
        number, body, known = self._schemas.split(part, data)

        def finish(fields: dict[str, Any]) -> None:
            decimals(fields, known.scales)
            if known.before_scales and fields[BEFORE] is not None:
                decimals(fields[BEFORE], known.before_scales)

        return known.schema, read_record(part, number, body, known.parsed, finish)

    def _image(self, event: RowEvent, image: Image, table: TableInfo | None) -> dict[str, str | None]:
        message: AvroMessage = event.message
        schema = message.key_schema if image is event.key else message.schema
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
        message: AvroMessage = event.message
        if message.schema is None:
            return
        try:
            verify_checksum(message.fields, message.schema, self._zone)
        except DecodeError:
            allowed = (parameters_of(field).get("allowed", "") for field in column_fields(message.schema))
            if not any("\\," in labels for labels in allowed):  # it is a comma in an element, or where one ends
                raise

    def is_corrupted(self, event: RowEvent) -> bool:
        message: AvroMessage = event.message
        return bool((message.fields or {}).get("_tidb_corrupted"))

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        return AvroTables(catalog, self, zone, lookup)


def _known(text: str, part: str) -> _Known:
    schema = read_schema(text)
    parsed = fastavro_module().parse_schema(plain_schema(schema))
    before = before_schema(schema)
    return _Known(schema, parsed, decimal_scales(schema), {} if before is None else decimal_scales(before))


def _converts_of(schema: Mapping[str, Any]) -> dict[str, Convert]:
    return {field["name"]: convert for field in column_fields(schema) if (convert := avro_convert(field)) is not None}


def _control(value: bytes) -> Event:
    if value[:1] == WATERMARK:
        if len(value) != 9:
            raise DecodeError("a watermark has 9 bytes", part="value")
        return WatermarkEvent(int.from_bytes(value[1:], "big"))
    members = document(value[1:], "value")
    query, commit_ts = member(members, "query", str), tso(members, "commitTs")
    return DdlEvent(query, commit_ts, member(members, "schema", str), member(members, "table", str))


class AvroTables(LearnedTables):
    """``catalog``: the tables before the first message; its names replace those of Avro."""

    def __init__(self, catalog: Catalog, reader: Images, zone: str, lookup: Lookup | None = None) -> None:
        super().__init__(catalog, reader, zone, lookup)
        self._names = self._shown_names()
        self._arrived = 0

    def has_handle_key(self, event: RowEvent) -> bool:
        return bool(event.key)

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        """Apply a row event. A delete in a table without handle key has no data, and is :attr:`Outcome.UNKNOWN`."""
        name = self._names.get((event.schema, event.table))
        if name is None or name not in self._tables:
            name = self._names[event.schema, event.table] = event.schema, event.table
            schema = event.message.schema or event.message.key_schema
            self._tables[name] = TableRows(avro_table(schema, event.key or (), event.schema))
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
        key = table.key(key_row)
        if event.after is not None:
            self._arrived += 1
            self._note(name, self._arrived if commit is None else commit, event.message)
        return self._write(event.op, table, (key, key_row), (key, after), commit, place)

    def ddl(self, event: DdlEvent, commit: int | None) -> None:
        super().ddl(event, commit)
        self._names = self._shown_names()

    def finish(self) -> None:
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
        return {(sanitize(schema), sanitize(table)): (schema, table) for schema, table in self._tables}


def make_reader(inputs: ReaderInputs) -> EventReader:
    assert inputs.schemas is not None  # ensured by readers.reader_for
    return AvroReader(inputs.schemas, inputs.config.time_zone)
