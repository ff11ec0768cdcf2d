"""Sources of the schemas that messages name by id: a number (Confluent), or a UUID text (AWS Glue)."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any, Generic, TypeAlias, TypeVar
from uuid import UUID

from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.errors import ConfigError, MissingDependencyError, RegistryError, importing
from ticdc_emit.protocols.events import OTHER_SCHEMAS, DecodeError
from ticdc_emit.registry.http import ACCEPT, RegistryAddress, RegistryTls, RegistryTransport

SchemaId: TypeAlias = "int | str"
SchemaSource: TypeAlias = "Callable[[SchemaId], str] | Mapping[Any, str]"

_HEADERS = {"Accept": ACCEPT, "Connection": "close"}  # nobody closes a source of schemas


class RegistrySchemas:
    """Schema texts of a registry, each read once by ``GET /schemas/ids/{id}``.

    ``url``: ``http[s]://[user:password@]host[:port][/path]``, user and password percent-encoded. ``timeout_s``: for a
    whole request. ``tls``: for a custom CA or a client certificate. Needs httpx (extra ``avro``).
    """

    @hides_arguments
    def __init__(self, url: str, *, timeout_s: float = 10.0, tls: RegistryTls | None = None) -> None:
        try:
            address = RegistryAddress.parse(url)
            self._transport = RegistryTransport(address, tls, timeout_s=timeout_s, attempts=1, backoff_s=0)
        except ConfigError as fault:
            raise DecodeError(fault.message, remedy=fault.remedy) from None
        self._texts: dict[SchemaId, str] = {}

    def __call__(self, number: SchemaId) -> str:
        """Return a schema's text. Raises :class:`DecodeError` if the registry does not have it or does not answer."""
        if number not in self._texts:
            self._texts[number] = self._fetch(number)
        return self._texts[number]

    def _fetch(self, number: SchemaId) -> str:
        try:
            answer = self._transport.ask("GET", f"/schemas/ids/{number}", _HEADERS, schema_id=number)
        except RegistryError as fault:
            raise DecodeError(fault.message, remedy=fault.remedy, **fault.context) from None
        text = _schema_in(answer.json())
        if text is None:
            cause, remedy = f"answered {answer.status} without a schema", "Check the registry's URL and login"
            if answer.status == 404:
                cause, remedy = "has no such schema", OTHER_SCHEMAS
            told = f"the registry {self._transport.address.shown} {cause}: {self._transport.cause(answer)}"
            raise DecodeError(told, remedy=remedy, status=answer.status, schema_id=number)
        return text


def _schema_in(content: object) -> str | None:
    """Read an answer, which may repeat a login, where no frame of an error keeps it."""
    text = content.get("schema") if isinstance(content, dict) else None
    return text if isinstance(text, str) else None


_T = TypeVar("_T")

_CONFLUENT_BYTES = 5
_GLUE_BYTES = 18
_CONTROL = {1: "DDL", 2: "watermark"}
_PLAIN = frozenset({"boolean", "int", "long", "float", "double", "bytes", "string"})
_MOST_DIGITS, _MOST_SCALE = 65, 30
_DECIMAL_BYTES = 28
"""65 digits and a sign."""
_EXACT = Context(prec=_MOST_DIGITS + _MOST_SCALE)


def decimal_scales(schema: Mapping[str, Any]) -> dict[str, int]:
    """Return the digits after the point of every field that is a decimal."""
    kinds = {field["name"]: only_type(field["type"]) for field in schema["fields"]}
    return {
        name: kind.get("scale", 0)
        for name, kind in kinds.items()
        if isinstance(kind, Mapping) and kind.get("logicalType") == "decimal"
    }


def decimals(fields: dict[str, Any], scales: Mapping[str, int]) -> None:
    """Convert the bytes of decimals to numbers. Raises ``ValueError`` for one that does not fit a DECIMAL."""
    for name, scale in scales.items():
        data = fields[name]
        if data is not None:
            if len(data) > _DECIMAL_BYTES:
                raise ValueError(f"a DECIMAL of {len(data)} bytes")
            fields[name] = Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale, _EXACT)


def record_of(schema: Any) -> dict[str, Any]:
    """Return a schema that is a record with a name and fields; ``ValueError`` for another one."""
    if not isinstance(schema, dict) or schema.get("type") != "record" or not isinstance(schema.get("fields"), list):
        raise ValueError("it is not a record")
    if not isinstance(schema.get("name"), str) or not isinstance(schema.get("namespace", ""), str):
        raise ValueError("it has no name")
    return schema


def check_field(field: Any) -> None:
    """Raise ``ValueError`` for a field that is not a column of TiCDC's."""
    if not isinstance(field, Mapping) or not isinstance(field.get("name"), str):
        raise ValueError("a field has no name")
    kind = only_type(field.get("type"))
    properties: Mapping[str, Any] = kind if isinstance(kind, Mapping) else {"type": kind}
    if not isinstance(properties.get("type"), str) or properties["type"] not in _PLAIN:
        raise ValueError(f"the field {field['name']!r:.100} has a type that TiCDC does not write")
    if "logicalType" in properties:
        if (properties["type"], properties["logicalType"]) != ("bytes", "decimal"):
            raise ValueError(f"the field {field['name']!r:.100} has a logical type that TiCDC does not write")
        if not (
            _within(properties.get("precision"), _MOST_DIGITS) and _within(properties.get("scale", 0), _MOST_SCALE)
        ):
            raise ValueError(f"the field {field['name']!r:.100} is not a DECIMAL of TiDB")


def _within(number: object, most: int) -> bool:
    return type(number) is int and 0 <= number <= most


def only_type(kind: Any) -> Any:
    """Return the type of a field without null."""
    if not isinstance(kind, list):
        return kind
    others = [each for each in kind if each != "null"]
    return others[0] if len(others) == 1 and len(kind) == 2 else None


def plain_type(kind: Any) -> Any:
    """Return a type without its logical type."""
    if isinstance(kind, list):
        return [plain_type(each) for each in kind]
    return kind["type"] if isinstance(kind, Mapping) else kind


def split_header(data: bytes) -> tuple[SchemaId, bytes]:
    """Return the schema id and the encoded record. Raises :class:`DecodeError`, also for Avro's DDL and watermarks."""
    if data[:1] == b"\x00" and len(data) >= _CONFLUENT_BYTES:
        return int.from_bytes(data[1:_CONFLUENT_BYTES], "big"), data[_CONFLUENT_BYTES:]
    if data[:2] == b"\x03\x00" and len(data) >= _GLUE_BYTES:
        return str(UUID(bytes=data[2:_GLUE_BYTES])), data[_GLUE_BYTES:]
    control = _CONTROL.get(data[0]) if data else None
    if control is not None:
        raise DecodeError(
            f"the message is a {control}, not a row change",
            remedy="Read it with the reader of reader_for, which takes DDL and watermarks too",
        )
    raise DecodeError("the bytes do not begin with the id of a schema")


class KnownSchemas(Generic[_T]):
    """The schemas that messages name. ``make``: reads the text of a part (``key``, ``value``); ``kind``: for errors."""

    def __init__(self, source: SchemaSource, kind: str, make: Callable[[str, str], _T]) -> None:
        self._source, self._kind, self._make = source, kind, make
        self._known: dict[tuple[SchemaId, str], _T] = {}

    def split(self, part: str, data: bytes) -> tuple[SchemaId, bytes, _T]:
        """Return the schema id of a key or value, the encoded record, and the schema; errors name the ``part``."""
        try:
            number, body = split_header(data)
            place = number, part
            if place not in self._known:
                self._known[place] = self._read(number, part)
            return number, body, self._known[place]
        except DecodeError as fault:
            raise DecodeError(fault.message, remedy=fault.remedy, **{**fault.context, "part": part}) from fault

    def _read(self, number: SchemaId, part: str) -> _T:
        try:
            text = self._source(number) if callable(self._source) else self._source[number]
        except KeyError:
            raise DecodeError("the message's schema is unknown", remedy=OTHER_SCHEMAS, schema_id=number) from None
        try:
            return self._make(text, part)
        except MissingDependencyError:
            raise
        except DecodeError as fault:
            raise DecodeError(fault.message, remedy=fault.remedy, schema_id=number) from fault
        except Exception as fault:  # one of fastavro's schema errors, which have no common root
            raise DecodeError(
                f"the schema is not one of {self._kind}: {fault}", remedy=OTHER_SCHEMAS, schema_id=number
            ) from fault


def read_record(
    part: str, number: SchemaId, body: bytes, parsed: Any, finish: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Decode a record by a parsed schema; ``finish`` makes its fields' logical values. Raises :class:`DecodeError`."""
    stream = io.BytesIO(body)
    try:
        fields: dict[str, Any] = fastavro_module().schemaless_reader(stream, parsed, None)
        finish(fields)
    except Exception as fault:  # fastavro raises EOFError, IndexError, ValueError and others
        raise DecodeError(
            f"the bytes do not fit their schema: {type(fault).__name__} {fault}",
            remedy=OTHER_SCHEMAS,
            part=part,
            schema_id=number,
        ) from fault
    if stream.tell() != len(body):
        raise DecodeError(
            "the bytes do not fit their schema: some are left over", remedy=OTHER_SCHEMAS, part=part, schema_id=number
        )
    return fields


def fastavro_module() -> Any:
    """Return fastavro; :class:`MissingDependencyError` without it."""
    with importing("reading Avro messages needs fastavro", extra="avro"):
        import fastavro
    return fastavro
