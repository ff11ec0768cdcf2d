"""What a message says, by protocol, for showing it to people.

In: a :class:`~ticdc_emit.delivery.contract.Message`. Out: :class:`Shown`, or ``None`` for a message that is no row
change or control message of the protocol. Reading is the consumers' (``decode``), not the encoders'.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.decode import (
    AvroReader,
    DebeziumReader,
    DebeziumRow,
    DecodeError,
    RegistrySchemas,
    SimpleDdl,
    SimpleReader,
    SimpleRow,
    SimpleWatermark,
)
from ticdc_emit.decode.fold import key_columns
from ticdc_emit.decode.simple_avro import AvroMembers
from ticdc_emit.decode.simple_records import SimpleTimestamp
from ticdc_emit.delivery.contract import Message

__all__ = ["Reader", "Shown", "read_json", "reader_for"]


@dataclass(frozen=True)
class Shown:
    """``kind``: INSERT, UPDATE, DELETE or what the protocol calls it; ``row`` names the row, ``None`` if it is of none.

    ``members``: what the message holds, as JSON-serialisable data.
    """

    kind: str
    row: str | None
    members: dict[str, Any]


Reader: TypeAlias = Callable[[Message], "Shown | None"]

_OPERATIONS = {"c": "INSERT", "u": "UPDATE", "d": "DELETE", None: "UPSERT"}


def reader_for(config: ChangefeedConfig) -> Reader:
    """Return the reader of a changefeed's messages."""
    if config.codec.protocol is Protocol.AVRO and config.codec.schema_registry is not None:
        return _avro_reader(config.codec.schema_registry.reveal())
    if config.codec.protocol is Protocol.SIMPLE:
        return _simple_reader("avro" if config.codec.encoding_format == "avro" else "json")
    if config.codec.protocol is Protocol.DEBEZIUM:
        return _debezium_reader(has_schema=not config.codec.debezium_disable_schema)
    return read_json


def read_json(message: Message) -> Shown | None:
    """Read a message that is one JSON object in Canal's form."""
    try:
        value = json.loads(message.value or b"")
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    rows, names = value.get("data"), value.get("pkNames")
    row = json.dumps([value.get("table"), *(rows[0].get(name) for name in names)]) if rows and names else None
    return Shown(str(value.get("type", "")), row, value)


def _avro_reader(registry: str) -> Reader:
    avro = AvroReader(RegistrySchemas(registry))

    def read(message: Message) -> Shown | None:
        try:
            row = avro.read(message.key, message.value)
        except DecodeError:
            return None
        members = {"table": f"{row.namespace}.{row.table}", "key": _plain(row.key), "value": _plain(row.fields)}
        return Shown(_OPERATIONS[row.op], json.dumps([members["table"], members["key"]]), members)

    return read


def _simple_reader(encoding: Literal["json", "avro"]) -> Reader:
    simple = SimpleReader(encoding)
    # What is shown are the members of the wire, which Avro's bytes have by the same names.
    wire: Callable[[bytes], dict[str, Any]] = AvroMembers() if encoding == "avro" else json.loads
    keys: dict[tuple[str, str, int], tuple[str, ...] | None] = {}  # what names a row, by table version

    def read(message: Message) -> Shown | None:
        try:
            said = simple.read(message.key, message.value)
        except DecodeError:
            return None
        if isinstance(said, SimpleRow):
            image = said.data or said.old or {}
            names = keys.get((said.database, said.table, said.schema_version)) or tuple(image)
            row = [said.database, said.table, *(str(image.get(name)) for name in names)]
            return Shown(said.op, json.dumps(row), _told(wire(message.value or b"")))
        schema = None if isinstance(said, SimpleWatermark) else said.table_schema
        if schema is not None:
            shown = [column.name for column in schema.columns]
            keys[schema.schema, schema.table, schema.version] = key_columns(schema, shown)
        kind = said.type if isinstance(said, SimpleDdl) else type(said).__name__.removeprefix("Simple").upper()
        return Shown(kind, None, _told(wire(message.value or b"")))

    return read


def _debezium_reader(*, has_schema: bool) -> Reader:
    debezium = DebeziumReader(has_schema)

    def read(message: Message) -> Shown | None:
        try:
            said = debezium.read(message.key, message.value)
        except DecodeError:
            return None
        # The envelope's payload is what is worth seeing: the schema is many times as long.
        payload: dict[str, Any] = json.loads(message.value or b"{}")["payload"]
        if isinstance(said, DebeziumRow):
            row = json.dumps([said.source.db, said.source.table, _plain(said.key)])
            return Shown(_OPERATIONS[said.op], row, payload)
        return Shown(type(said).__name__.removeprefix("Debezium").upper(), None, payload)

    return read


def _told(members: dict[str, Any]) -> dict[str, Any]:
    """Return a message's members as JSON-serialisable data."""
    told: dict[str, Any] = json.loads(json.dumps(members, default=_jsonable))
    return told


def _jsonable(value: Any) -> Any:
    return asdict(value) if isinstance(value, SimpleTimestamp) else _plain_value(value)


def _plain(fields: Any) -> Any:
    return None if fields is None else {name: _plain_value(value) for name, value in fields.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
