"""Sources of the schemas that messages name by id.

In: a schema id (a number: Confluent; a UUID text: AWS Glue). Out: the schema text. Any callable or mapping works.
:class:`RegistrySchemas` reads from a Confluent-compatible registry with the request of the verification document (``GET
/schemas/ids/{id}``), once per id. :mod:`ticdc_emit.registry.http` limits each request, and keeps redirects from sending
the login to another server.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.decode.errors import OTHER_SCHEMAS, DecodeError
from ticdc_emit.errors import ConfigError
from ticdc_emit.registry.http import Exchange, ExchangeError, RegistryAddress

__all__ = ["RegistrySchemas", "SchemaId", "SchemaSource", "schema_text"]

SchemaId: TypeAlias = "int | str"
SchemaSource: TypeAlias = "Callable[[SchemaId], str] | Mapping[Any, str]"

_HEADERS = {"Accept": "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"}


class RegistrySchemas:
    """Schema texts of a registry, by id.

    ``url``: ``http[s]://[user:password@]host[:port][/path]``, user and password percent-encoded. ``timeout_s``: for a
    whole request, from connecting to the last byte. ``tls``: for a custom CA or a client certificate. The environment's
    proxies are not used. Needs httpx (extra ``avro``).
    """

    @hides_arguments
    def __init__(self, url: str, *, timeout_s: float = 10.0, tls: ssl.SSLContext | None = None) -> None:
        try:
            address = RegistryAddress.parse(url)
            self._exchange = Exchange(address, tls, timeout_s=timeout_s, keep_alive=False)
        except ConfigError as fault:
            raise DecodeError(fault.message, remedy=fault.remedy) from None
        self._shown = address.shown
        self._texts: dict[SchemaId, str] = {}

    def __call__(self, number: SchemaId) -> str:
        """Return a schema's text. Raises :class:`DecodeError` if the registry does not have it or does not answer."""
        if number not in self._texts:
            self._texts[number] = self._fetch(number)
        return self._texts[number]

    def _fetch(self, number: SchemaId) -> str:
        place: dict[str, Any] = {"schema_id": number, "registry": self._shown}
        try:
            answer = self._exchange.ask("GET", f"/schemas/ids/{number}", _HEADERS)
        except ExchangeError as fault:
            what = "did not answer" if fault.transient else "gave no usable answer"
            remedy = "Check the registry's URL and that it runs, then read again"
            raise DecodeError(f"the schema registry {what}: {fault}", remedy=remedy, **place) from None
        if answer.status != 200:
            reason, remedy = f"answered with status {answer.status}", "Check the registry's URL and login"
            if answer.status == 404:
                reason, remedy = "has no such schema", OTHER_SCHEMAS
            raise DecodeError(f"the schema registry {reason}", remedy=remedy, status=answer.status, **place)
        text = _schema_in(answer.json())
        if text is None:
            remedy = "Give the URL of a registry that has the API of Confluent's"
            raise DecodeError("the schema registry's answer has no schema in it", remedy=remedy, **place)
        return text


def _schema_in(content: object) -> str | None:
    text = content.get("schema") if isinstance(content, dict) else None
    return text if isinstance(text, str) else None


def schema_text(source: SchemaSource, number: SchemaId) -> str:
    """Return the schema text that ``source`` has for an id; :class:`DecodeError` if a mapping lacks it."""
    if callable(source):
        return source(number)
    try:
        return source[number]
    except KeyError:
        raise DecodeError("the message's schema is unknown", remedy=OTHER_SCHEMAS, schema_id=number) from None
