"""Debezium messages in Avro, read by schemas of a registry.

A schema is foreign input and could nest without limit, so any but an envelope with two images of one row and its
source, or a flat key, is refused before decoding. Rule source: ``pingcap/ticdc: pkg/sink/codec/debezium/avro.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from ticdc_emit.protocols.canonical_text import Convert, converted, decimal_of_scale, raw_text
from ticdc_emit.protocols.consumer_tables import LearnedTables, Lookup, Outcome, TableRows, Tables
from ticdc_emit.protocols.debezium_avro.schema import DECIMAL, ENVELOPE, Record, ddl_schemas, watermark_schemas
from ticdc_emit.protocols.debezium_common.records import (
    DebeziumField,
    DebeziumMessage,
    ddl_event,
    debezium_column,
    debezium_convert,
    row_event,
    watermark_event,
)
from ticdc_emit.protocols.decoder import EventReader, ReaderInputs
from ticdc_emit.protocols.events import OTHER_SCHEMAS, DecodeError, Event, Image, RowEvent
from ticdc_emit.protocols.registered_avro import (
    KnownSchemas,
    SchemaSource,
    check_field,
    decimal_scales,
    decimals,
    fastavro_module,
    only_type,
    plain_type,
    read_record,
    record_of,
)
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.json_depth import parsed
from ticdc_emit.sql.types import DATE_TYPES, FLOAT_TYPES, INTEGER_TYPES, MOMENT_TYPES, ColumnFlag, MySQLType

_KEY, _VALUE = "Key", "Envelope"
_CONNECT = {"int": "int32", "long": "int64"}


@dataclass(frozen=True)
class RowSchema:
    """The content of a registered schema: the table in Avro's form, the columns of fields, the scales of decimals."""

    table: str
    columns: tuple[DebeziumField, ...]
    names: Mapping[str, str]
    plain: Mapping[str, Any] = field(repr=False)
    scales: Mapping[str, int] = field(repr=False)


def read_schema(text: str, part: str) -> RowSchema:
    """Return the schema of a part, ``key`` or ``value``. Raises :class:`DecodeError` for one that is not TiCDC's."""
    try:
        record = _record(parsed(text.encode()))
        full, end = _full_name(record), _KEY if part == "key" else _VALUE
        if not full.endswith(end):
            raise ValueError(f"its name does not end in {end}")
        table = full[: -len(end)]
        if part == "key":
            return _made(table, record, _plain_record(record))
        fields = {each["name"]: each for each in record["fields"]}
        if tuple(fields) != ENVELOPE:
            raise ValueError("it is not an envelope")
        row, source = _record(only_type(fields["before"]["type"])), _record(fields["source"]["type"])
        if _full_name(row) != table or only_type(fields["after"]["type"]) not in (table, row["name"]):
            raise ValueError("its images belong to another table")
        kinds: list[Any] = [["null", _plain_record(row)], ["null", "row"], _plain_record(source, "source")]
        kinds += [plain_type(fields[name]["type"]) for name in ENVELOPE[3:]]
        members = [{"name": name, "type": kind} for name, kind in zip(ENVELOPE, kinds, strict=True)]
        return _made(table, row, {"type": "record", "name": "envelope", "fields": members})
    except ValueError as fault:
        raise DecodeError(
            f"the schema does not describe Debezium's rows: {fault}", remedy=OTHER_SCHEMAS, part=part
        ) from fault


def _made(table: str, row: Mapping[str, Any], plain: Mapping[str, Any]) -> RowSchema:
    columns = tuple(map(_column, row["fields"]))
    names = {each["name"]: column.name for each, column in zip(row["fields"], columns, strict=True)}
    return RowSchema(table, columns, names, plain, decimal_scales(row))


def _record(schema: Any) -> Mapping[str, Any]:
    for each in record_of(schema)["fields"]:
        if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
            raise ValueError("a field has no name")
    return record_of(schema)


def _full_name(record: Mapping[str, Any]) -> str:
    return f"{record.get('namespace', '')}.{record['name']}"


def _plain_record(record: Mapping[str, Any], name: str = "row") -> dict[str, Any]:
    for each in record["fields"]:
        check_field(each)
    fields = [{"name": each["name"], "type": plain_type(each["type"])} for each in record["fields"]]
    return {"type": "record", "name": name, "fields": fields}


def _column(described: Mapping[str, Any]) -> DebeziumField:
    kind = only_type(described["type"])
    told: Mapping[str, Any] = kind if isinstance(kind, Mapping) else {"type": kind}
    name, tidb_type = described.get("connect.field", described["name"]), described.get("tidb_type")
    semantic, parameters = told.get("connect.name"), told.get("connect.parameters", {})
    texts = [name, semantic or "", tidb_type or ""]
    if not all(isinstance(text, str) for text in texts) or not isinstance(parameters, Mapping):
        raise ValueError(f"the field {described['name']!r:.100} has a property of the wrong type")
    scale = str(told.get("scale")) if told.get("logicalType") == "decimal" else ""
    if semantic == DECIMAL and parameters.get("scale") != scale:
        raise ValueError(f"the field {described['name']!r:.100} has no scale, or two that differ")
    connect = told.get("connect.type") or _CONNECT.get(told["type"], told["type"])
    return DebeziumField(name, connect, isinstance(described["type"], list), semantic, parameters, None, tidb_type)


class ControlSchema(Enum):
    """The kind of a message that is not a row."""

    DDL = "DDL"
    WATERMARK = "watermark"


_NAMES = {
    "key": {"SchemaChangeKey": ControlSchema.DDL, "Key": ControlSchema.WATERMARK},
    "value": {"SchemaChangeValue": ControlSchema.DDL, "Envelope": ControlSchema.WATERMARK},
}
"""The last parts of record names. For rows, they are Key and Envelope after the table name."""


def control_schema(text: str, part: str) -> tuple[ControlSchema, Mapping[str, Any]] | None:
    """Return a control message's kind and its schema for a decoder; ``None`` for a row. Raises :class:`DecodeError`."""
    try:
        given = parsed(text.encode())
    except ValueError:
        return None
    kind = _NAMES[part].get(str(given.get("name"))) if isinstance(given, Mapping) else None
    if kind is None:
        return None
    made = _RECORDS[kind](*_names_in(given))[part == "value"]
    if given != made:
        raise DecodeError(f"the schema does not describe a {kind.value}", remedy=OTHER_SCHEMAS, part=part)
    return kind, made


_RECORDS: Mapping[ControlSchema, Callable[[str, str], tuple[Record, Record]]] = {
    ControlSchema.DDL: ddl_schemas,
    ControlSchema.WATERMARK: lambda cluster_id, _: watermark_schemas(cluster_id),
}


def _names_in(given: Mapping[str, Any]) -> tuple[str, str]:
    try:
        space = given["fields"][0]["type"]["namespace"]
    except (LookupError, TypeError):
        space = given.get("namespace")
    cluster_id, _, database = str(space).partition(".")
    return cluster_id, database


class DebeziumAvroReader(EventReader):
    """Reads the records of a topic. ``schemas``: schema texts by id; ``zone``: the changefeed's time zone.

    The ``message`` of an event is a :class:`DebeziumMessage` with fastavro's values: BIT is little-endian ``bytes``,
    dates and times are numbers in Debezium's units; TIMESTAMP is text in UTC.
    """

    def __init__(self, schemas: SchemaSource, zone: str = "UTC") -> None:
        self._schemas = KnownSchemas(schemas, "Debezium's rows", _known)
        self._zone = zone
        self._converts: dict[tuple[int, int], tuple[object, object, dict[str, Convert]]] = {}

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return a row's event, or that of ``avro-enable-watermark``. Raises :class:`DecodeError`, and
        :class:`~ticdc_emit.errors.MissingDependencyError` without fastavro.
        """
        key_schema, handle = self._part("key", key)
        schema, payload = self._part("value", value)
        if isinstance(schema, ControlSchema) or isinstance(key_schema, ControlSchema):
            if schema != key_schema:
                raise DecodeError("the key and the value belong to different kinds of messages")
            return ddl_event(payload) if schema is ControlSchema.DDL else watermark_event(payload)
        if schema.table != key_schema.table:
            raise DecodeError(f"the value's schema is of {schema.table}, the key's of {key_schema.table}")
        images = payload["before"], payload["after"]
        before, after = (None if image is None else _columns(image, schema) for image in images)
        message = DebeziumMessage(payload, key_schema.columns, schema.columns)
        return row_event(message, _columns(handle, key_schema), before, after)

    def _part(self, part: str, data: bytes | None) -> tuple[RowSchema | ControlSchema, dict[str, Any]]:
        if not data:
            raise DecodeError(f"the record has no {part}", part=part)
        number, body, (schema, parsed) = self._schemas.split(part, data)

        def finish(fields: dict[str, Any]) -> None:
            if isinstance(schema, ControlSchema):
                return
            for record in [fields] if part == "key" else [fields["before"], fields["after"]]:
                if record is not None:
                    decimals(record, schema.scales)

        return schema, read_record(part, number, body, parsed, finish)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        return repr((event.op, event.message.payload["source"], event.key, event.before, event.after))

    def _image(self, event: RowEvent, image: Image, table: TableInfo | None) -> dict[str, str | None]:
        message: DebeziumMessage = event.message
        fields = message.key_fields if image is event.key else message.fields
        return converted(image, self._converts_of(fields or (), table), table=event.table)

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        return DebeziumAvroTables(catalog, self, zone, lookup)

    def _converts_of(self, fields: tuple[DebeziumField, ...], table: TableInfo | None) -> dict[str, Convert]:
        place = id(fields), id(table)
        if place not in self._converts:
            own = {} if table is None else {column.name: column for column in table.columns}
            converts = {field.name: _convert(field, own.get(field.name), self._zone) for field in fields}
            known = {name: convert for name, convert in converts.items() if convert is not None}
            self._converts[place] = fields, table, known  # an object that is kept alive keeps its id
        return self._converts[place][2]


def _known(text: str, part: str) -> tuple[RowSchema | ControlSchema, Any]:
    control = control_schema(text, part)
    if control is not None:
        return control[0], fastavro_module().parse_schema(dict(control[1]))
    schema = read_schema(text, part)
    return schema, fastavro_module().parse_schema(dict(schema.plain))


def _columns(record: Mapping[str, Any], schema: RowSchema) -> dict[str, Any]:
    return {schema.names[name]: value for name, value in record.items()}


_ALIKE = (INTEGER_TYPES, DATE_TYPES, FLOAT_TYPES)


def _convert(field: DebeziumField, own: Column | None, zone: str) -> Convert | None:
    if field.semantic_type == DECIMAL:
        scale = int(field.parameters["scale"])
        return lambda value: decimal_of_scale(value, scale)
    if field.type == "bytes":
        return (lambda value: str(int.from_bytes(value, "little"))) if field.semantic_type else raw_text
    if field.semantic_type is None and field.type == "string":
        return None  # also DECIMAL and BIGINT UNSIGNED in text modes
    shown = debezium_column(field)
    return debezium_convert(shown if own is None or not _is_alike(shown, own) else own, zone)


def _is_alike(shown: Column, own: Column) -> bool:
    kind = own.type
    if kind in MOMENT_TYPES or kind is MySQLType.DURATION:
        return kind is shown.type and own.decimal <= shown.decimal
    return kind is shown.type or any(kind in kinds and shown.type in kinds for kinds in _ALIKE)


_KEYED = ColumnFlag.PRIMARY_KEY | ColumnFlag.NOT_NULL


class DebeziumAvroTables(LearnedTables):
    """``catalog``: the tables before the first message."""

    def row(self, event: RowEvent, commit: int | None, place: tuple[str, int]) -> Outcome:
        if not event.key:
            return Outcome.UNKNOWN
        name = event.schema, event.table
        if name not in self._tables:
            self._tables[name] = TableRows(_described(event))
        table = self._tables[name]
        key_row = self._reader.image(event, event.key, table.info) or {}
        before = self._reader.image(event, event.before, table.info)
        after = self._reader.image(event, event.after, table.info)
        key = table.key(key_row)
        old_key = key if before is None else table.key({**key_row, **before})
        image = event.after if event.after is not None else event.before
        if image is not None:
            self._note(name, commit or 0, frozenset(image))
        return self._write(event.op, table, (old_key, before or key_row), (key, after), commit, place)

    def finish(self) -> None:
        for name, (_, shape) in self._newest.items():
            rows = self._tables[name].rows
            for key, row in rows.items():
                if not row.keys() <= shape:
                    rows[key] = {column: value for column, value in row.items() if column in shape}


def _described(event: RowEvent) -> TableInfo:
    message: DebeziumMessage = event.message
    described = map(debezium_column, message.fields or ())
    key = event.key or {}
    columns = tuple(
        replace(column, id=number, flags=column.flags | (_KEYED if column.name in key else ColumnFlag.NONE))
        for number, column in enumerate(described, 1)
    )
    return TableInfo(event.schema, event.table, 0, columns)


def make_reader(inputs: ReaderInputs) -> EventReader:
    assert inputs.schemas is not None  # ensured by readers.reader_for
    return DebeziumAvroReader(inputs.schemas, inputs.config.time_zone)
