"""A registry with Confluent's HTTP API: Confluent, Apicurio (``…/apis/ccompat/v7``), Karapace, Redpanda ...

The requests are TiCDC's own: confluent-kafka's client adds ``schemaType``, ``normalize`` and headers. Source of the
rules: ``pingcap/tiflow: pkg/sink/codec/avro/confluent_schema_registry.go``. One is relaxed here: TiCDC refuses a server
(Apicurio) that does not answer a GET of the URL with ``{}``. Here ``GET /schemas/types`` follows, and its answer must
be a list or an error in Confluent's form.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote_plus

import pyarrow as pa

from ticdc_emit.columnar.escape import GO_STD, escape_text
from ticdc_emit.config.secrets import Secret, hides_arguments
from ticdc_emit.errors import IncompatibleSchemaError, RegistryError, SchemaError
from ticdc_emit.registry.headers import RegisteredSchema, confluent_schema
from ticdc_emit.registry.http import ACCEPT, Answer, RegistryAddress, RegistryTls, RegistryTransport

logger = logging.getLogger(__name__)

_LARGEST_ID = 2**31 - 1
_REMEDIES = {
    401: "Put user and password, percent-encoded, into the URL: https://user:password@host",
    403: "Give this user the right to write the subject",
    404: "Check the path of the URL; Apicurio's is /apis/ccompat/v7",
    422: "The registry does not take this text for an Avro schema",
}


CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"

_HEADERS: Mapping[str, str] = MappingProxyType({"Accept": ACCEPT, "Content-Type": CONTENT_TYPE})
_STRING_OR_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')


@dataclass(frozen=True)
class RegistrationRequest:
    """A POST. ``path`` is escaped and follows the registry's URL; ``headers``: what HTTP itself does not require."""

    path: str
    headers: Mapping[str, str]
    body: bytes


def registration_request(subject: str, schema: str) -> RegistrationRequest:
    """Return the POST of a schema text. Raises :class:`~ticdc_emit.errors.SchemaError` if it is not JSON."""
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
    """Return a JSON text without white space between its tokens. Raises ``ValueError`` if it is not JSON."""
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return _STRING_OR_SPACE.sub(lambda found: found[1] or "", text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


class ConfluentRegistry:
    """Registers schemas, one request each; holds connections until :meth:`close`. For the driver only."""

    @hides_arguments
    def __init__(
        self,
        url: str | Secret[str],
        tls: RegistryTls | None = None,
        *,
        timeout_s: float = 10.0,
        attempts: int = 7,
        backoff_s: float = 0.5,
    ) -> None:
        """``url``: ``http[s]://[user:password@]host[:port][/path]``, user and password percent-encoded.

        ``timeout_s`` applies to a whole request. After network errors and 5xx, a request is tried up to ``attempts``
        times. The first wait is ``backoff_s`` seconds; each next one is twice as long, up to 30 seconds. Raises
        :class:`~ticdc_emit.errors.ConfigError`, :class:`~ticdc_emit.errors.MissingDependencyError`.
        """
        address = RegistryAddress.parse(url.reveal() if isinstance(url, Secret) else url)
        self._shown = address.shown
        self._transport = RegistryTransport(address, tls, timeout_s=timeout_s, attempts=attempts, backoff_s=backoff_s)
        self._probed = False

    def __repr__(self) -> str:
        return f"ConfluentRegistry({self._shown!r})"

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        """Register a schema text; the same text gives the same id again. Raises
        :class:`~ticdc_emit.errors.IncompatibleSchemaError` (409), :class:`~ticdc_emit.errors.RegistryUnreachableError`,
        else :class:`~ticdc_emit.errors.RegistryError` (``status``).
        """
        request = registration_request(subject, schema)
        if not self._probed:
            self._probe(subject)
            self._probed = True
        answer = self._transport.ask("POST", request.path, request.headers, request.body, subject=subject)
        if answer.method != "POST":
            raise self._error("turned a POST into a GET by redirecting it", answer, subject, "Use the URL it leads to")
        if answer.status == 200:
            number = self._number(answer, subject)
            logger.info("registered a schema under %s at %s: id %d", subject, self._shown, number)
            return confluent_schema(number)
        if answer.status == 409:
            raise IncompatibleSchemaError(
                f"the registry refused the schema as incompatible: {self._transport.cause(answer)}",
                remedy=f"Make the DDL compatible, or lower the subject's compatibility: PUT /config/{subject}",
                subject=subject,
                status=409,
            )
        raise self._error(f"answered {answer.status}", answer, subject)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> ConfluentRegistry:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _probe(self, subject: str) -> None:
        answer = self._transport.ask("GET", "", {}, subject=subject)
        if answer.content == b"{}":
            return
        # an HTML page may need no password even if the API needs one
        answer = self._transport.ask("GET", "/schemas/types", {"Accept": ACCEPT}, subject=subject)
        if answer.status in (401, 403):
            raise self._error(f"answered {answer.status}", answer, subject)
        if not _of_a_registry(answer.json()):
            raise self._error("does not answer as a registry", answer, subject, _REMEDIES[404])

    def _number(self, answer: Answer, subject: str) -> int:
        number = _id_in(answer.json())
        if type(number) is int and 0 < number <= _LARGEST_ID:
            return number
        raise self._error("answered without the id of a schema", answer, subject, "Is there a schema registry?")

    def _error(self, what: str, answer: Answer, subject: str, remedy: str = "") -> RegistryError:
        return RegistryError(
            f"the registry {self._shown} {what}: {self._transport.cause(answer)}",
            remedy=remedy or _REMEDIES.get(answer.status, ""),
            subject=subject,
            status=answer.status,
        )


# In functions of their own, so that no frame of an error keeps an answer, which may repeat the login.


def _of_a_registry(content: object) -> bool:
    """Return whether this is an answer to ``GET /schemas/types``; a registry too old for it refuses in that form."""
    return isinstance(content, list) or (isinstance(content, dict) and "error_code" in content)


def _id_in(content: object) -> object:
    return content.get("id") if isinstance(content, dict) else None
