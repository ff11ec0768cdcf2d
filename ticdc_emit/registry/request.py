"""The HTTP request with which TiCDC registers a schema, as plain data.

In: subject and schema text. Out: path, headers and body, byte for byte those of TiCDC. Nothing is sent here, so a
conformance run can compare them. Source: ``pingcap/tiflow: pkg/sink/codec/avro/confluent_schema_registry.go``
(Register). The subject is escaped with Go's ``url.QueryEscape`` (a space becomes ``+``), the schema text goes through
``json.Compact`` and then, as a JSON string, through ``json.Marshal``, which escapes ``<``, ``>``, ``&``, U+2028 and
U+2029. ``schemaType`` is missing because registries older than 5.5 refuse it; Avro is the default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote_plus

import pyarrow as pa

from ticdc_emit.columnar.escape import GO_STD, escape_text
from ticdc_emit.errors import SchemaError

__all__ = ["ACCEPT", "CONTENT_TYPE", "RegistrationRequest", "compact_json", "registration_request"]

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
