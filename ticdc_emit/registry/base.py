"""The two wire formats: how the first bytes of a message name its schema.

Rule sources: semantics 2.1 "Header"; reference ``pingcap/tiflow: pkg/sink/codec/avro/confluent_schema_registry.go`` and
``glue_schema_registry.go`` (getMsgHeader).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote_plus
from uuid import UUID

import pyarrow as pa

from ticdc_emit.columnar.escape import GO_STD, escape_text
from ticdc_emit.errors import RegistryError, SchemaError, SharedSubjectError

__all__ = [
    "ACCEPT",
    "CONTENT_TYPE",
    "RegisteredSchema",
    "RegistrationRequest",
    "SchemaRegistry",
    "SubjectCache",
    "compact_json",
    "confluent_schema",
    "glue_schema",
    "registration_request",
]


_CONFLUENT_MAGIC = b"\x00"
_GLUE_MAGIC = b"\x03\x00"


def confluent_schema(number: int) -> RegisteredSchema:
    """Return the schema of a Confluent id: a zero byte and the id in four bytes, big-endian."""
    return RegisteredSchema(number, _CONFLUENT_MAGIC + number.to_bytes(4, "big"))


def glue_schema(version_id: str) -> RegisteredSchema:
    """Return the schema of an AWS Glue SchemaVersionId: ``03 00`` (no compression) and the 16 bytes of the UUID."""
    return RegisteredSchema(version_id, _GLUE_MAGIC + UUID(version_id).bytes)


@dataclass(frozen=True)
class RegisteredSchema:
    """``id``: a number (Confluent) or a UUID (AWS Glue); ``header``: the first bytes of every message of the schema."""

    id: int | str
    header: bytes


class SchemaRegistry(Protocol):
    """A registry of Avro schemas."""

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        """Register a schema text under a subject; registering the same text again gives the same id.

        Raises :class:`~ticdc_emit.errors.IncompatibleSchemaError` if the registry refuses it, else the
        :class:`~ticdc_emit.errors.RegistryError` family.
        """
        ...

    def close(self) -> None:
        """Release connections."""
        ...


ACCEPT = "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"
CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"

_HEADERS: Mapping[str, str] = MappingProxyType({"Accept": ACCEPT, "Content-Type": CONTENT_TYPE})
_STRING_OR_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')


@dataclass(frozen=True)
class RegistrationRequest:
    """A POST. ``path`` is escaped and follows the registry's URL; ``headers`` are those that HTTP itself does not
    require.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes


def registration_request(subject: str, schema: str) -> RegistrationRequest:
    """Return the request that registers a schema text under a subject.

    Raises :class:`~ticdc_emit.errors.SchemaError` if the text is not JSON.
    """
    try:
        text = compact_json(schema)
    except ValueError as error:
        raise SchemaError(
            f"the schema to register is not JSON: {error}", remedy="Give it as JSON text", subject=subject
        ) from None
    escaped = escape_text(pa.array([text], pa.string()), GO_STD)[0].as_py()
    path = f"/subjects/{quote_plus(subject)}/versions"
    return RegistrationRequest(path, _HEADERS, f'{{"schema":"{escaped}"}}'.encode())


def compact_json(text: str) -> str:
    """Return a JSON text without the white space between its tokens and otherwise unchanged; raise ``ValueError`` if it
    is not JSON.
    """
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return _STRING_OR_SPACE.sub(lambda found: found[1] or "", text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


class _Entry(NamedTuple):
    version: int
    schema: str
    header: bytes


def _record(schema: str) -> str:
    """Return the name of a schema's record, which is that of the table."""
    return str(json.loads(schema).get("name"))


class SubjectCache:
    """Asks the registry if the version of a subject's table changed."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._entries: dict[str, _Entry] = {}

    def header(self, subject: str, version: int, schema: str, *, named: bool = True) -> bytes:
        """Return the header of messages of ``schema``; ``version`` is the TSO of the table's version.

        ``named``: every message names the records inside its schema. Raises what :meth:`SchemaRegistry.register`
        raises, and :class:`~ticdc_emit.errors.SharedSubjectError`.
        """
        known = self._entries.get(subject)
        if known is not None and known.version == version:
            if known.schema != schema and _fields(known.schema, named=named) != _fields(schema, named=named):
                raise SharedSubjectError(
                    f"TiCDC would write rows of {_record(schema)} with the schema of {_record(known.schema)}, because "
                    "both have the same subject and version, as after RENAME TABLE or EXCHANGE PARTITION",
                    remedy=SharedSubjectError.REMEDY,
                    subject=subject,
                )
            return known.header
        try:
            header = self._registry.register(subject, schema).header
        except RegistryError as fault:
            fault.context["version"] = version
            raise
        self._entries[subject] = _Entry(version, schema, header)
        return header

    def holds(self, subject: str, schema: str) -> bool:
        """Return whether the subject's last header is that of this very text, names included."""
        return self._entries[subject].schema == schema


def _fields(schema: str, *, named: bool) -> Any:
    return json.loads(schema, object_hook=None if named else _nameless)["fields"]


def _nameless(shown: dict[str, Any]) -> dict[str, Any]:
    if shown.get("type") != "record":
        return shown
    return {name: value for name, value in shown.items() if name not in ("name", "namespace")}
