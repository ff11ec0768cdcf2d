"""Reader of Debezium's messages in Avro. In: bytes of a Kafka record. Out: their content. fastavro decodes.

A key or value begins with the id of its schema, as in TiCDC's Avro. Rule source: reference ``pingcap/ticdc:
pkg/sink/codec/debezium/avro.go`` (buildDebeziumAvroValueMessage).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticdc_emit.decode.avro_fields import decimals, fastavro_module, known_schema, read_record, split_known
from ticdc_emit.decode.connect.changes import ddl_record
from ticdc_emit.decode.connect.records import DebeziumMessage, DebeziumRow, DebeziumSource, DebeziumWatermark
from ticdc_emit.decode.connect.source import source_of
from ticdc_emit.decode.debezium_avro.control import ControlSchema, control_schema
from ticdc_emit.decode.debezium_avro.schema import RowSchema, read_schema
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.members import member
from ticdc_emit.decode.schemas import SchemaId, SchemaSource, schema_text

__all__ = ["DebeziumAvroReader"]

_SHOWN = {"c": (False, True), "u": (None, True), "d": (True, False)}
"""By kind of change, whether ``before`` and ``after`` exist; an update has ``before`` unless ``output-old-value`` is
off.
"""


class DebeziumAvroReader:
    """Reads the records of a topic. ``schemas``: a mapping or callable from schema id to schema text.

    Values are fastavro's: int, float, bool, text, ``bytes`` of binary data and of BIT (little-endian), ``Decimal``.
    Dates and times are numbers in Debezium's units; TIMESTAMP is text in UTC.
    """

    def __init__(self, schemas: SchemaSource) -> None:
        self._schemas = schemas
        self._known: dict[tuple[SchemaId, str], tuple[RowSchema | ControlSchema, Any]] = {}

    def read(self, key: bytes | None, value: bytes | None) -> DebeziumMessage:
        """Return the message in a record: a row change, or the DDL and watermarks of ``avro-enable-watermark``.

        Raises :class:`DecodeError` for other bytes, for bytes that do not fit the schema they name, and
        :class:`~ticdc_emit.errors.MissingDependencyError` without fastavro.
        """
        key_schema, handle = self._part("key", key)
        schema, payload = self._part("value", value)
        if isinstance(schema, ControlSchema) or isinstance(key_schema, ControlSchema):
            if schema != key_schema:
                raise DecodeError("the key and the value belong to different kinds of messages")
            source, ts_ms = _source(payload["source"]), member(payload, "ts_ms", int)
            if schema is ControlSchema.DDL:
                return ddl_record(payload, source, ts_ms)
            return DebeziumWatermark(source, ts_ms)
        if schema.table != key_schema.table:
            raise DecodeError(f"the value's schema is of {schema.table}, the key's of {key_schema.table}")
        op = member(payload, "op", str)
        images = payload["before"], payload["after"]
        if op not in _SHOWN:
            raise DecodeError(f"{op!r:.20} is not an op of Debezium messages", part="value", field="op")
        for shown, image in zip(_SHOWN[op], images, strict=True):
            if shown is not None and shown is not (image is not None):
                raise DecodeError(f"a change with op {op!r} and the wrong images", part="value")
        before, after = (None if image is None else _columns(image, schema) for image in images)
        return DebeziumRow(
            op,
            _source(payload["source"]),
            member(payload, "ts_ms", int),
            _columns(handle, key_schema),
            before,
            after,
            key_schema.columns,
            schema.columns,
        )

    def _part(self, part: str, data: bytes | None) -> tuple[RowSchema | ControlSchema, dict[str, Any]]:
        if not data:
            raise DecodeError(f"the record has no {part}", part=part)
        number, body, (schema, parsed) = split_known(part, data, lambda number: self._schema(number, part))

        def finish(fields: dict[str, Any]) -> None:
            if isinstance(schema, ControlSchema):
                return
            for record in [fields] if part == "key" else [fields["before"], fields["after"]]:
                if record is not None:
                    decimals(record, schema.scales)

        return schema, read_record(part, number, body, parsed, finish)

    def _schema(self, number: SchemaId, part: str) -> tuple[RowSchema | ControlSchema, Any]:
        place = number, part
        if place not in self._known:
            text = schema_text(self._schemas, number)
            self._known[place] = known_schema(number, "Debezium's rows", lambda: _known(text, part))
        return self._known[place]


def _known(text: str, part: str) -> tuple[RowSchema | ControlSchema, Any]:
    control = control_schema(text, part)
    if control is not None:
        return control[0], fastavro_module().parse_schema(dict(control[1]))
    schema = read_schema(text, part)
    return schema, fastavro_module().parse_schema(dict(schema.plain))


def _columns(record: Mapping[str, Any], schema: RowSchema) -> dict[str, Any]:
    return {schema.names[name]: value for name, value in record.items()}


def _source(members: Mapping[str, Any]) -> DebeziumSource:
    return source_of(members, **{name: members.get(name) for name in ("snapshot", "gtid", "thread", "query")})
