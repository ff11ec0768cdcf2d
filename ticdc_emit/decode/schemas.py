"""Where a reader finds the schema that a message names by its id.

In: a schema id (a number: Confluent; a UUID text: AWS Glue). Out: the schema text. Any callable or mapping will do;
:class:`RegistrySchemas` asks a Confluent-compatible registry with the request of the verification document
(``GET /schemas/ids/{id}``), once per id. It needs nothing but the standard library.
"""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, TypeAlias
from urllib.error import HTTPError
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from ticdc_emit.config.secrets import Secret, mask_uri
from ticdc_emit.decode.errors import DecodeError

__all__ = ["RegistrySchemas", "SchemaId", "SchemaSource", "schema_text"]

SchemaId: TypeAlias = "int | str"
SchemaSource: TypeAlias = "Callable[[SchemaId], str] | Mapping[Any, str]"

_ACCEPT = "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"


class RegistrySchemas:
    """Schema texts of a registry, by id.

    ``url``: ``http[s]://[user:password@]host[:port][/path]``, user and password percent-encoded. ``timeout_s``: for
    connecting and for each read. ``tls``: for a custom CA or a client certificate. The environment's proxies are not
    used.
    """

    def __init__(self, url: str, *, timeout_s: float = 10.0, tls: ssl.SSLContext | None = None) -> None:
        self._shown = mask_uri(url)
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            usable = False
        if not usable:
            raise DecodeError(
                f"{self._shown!r} is no URL of a schema registry", remedy="Write http[s]://[user:password@]host[:port]"
            )
        userinfo, at, authority = parts.netloc.rpartition("@")
        user, _, password = userinfo.partition(":")
        self._login = Secret(unquote_to_bytes(user) + b":" + unquote_to_bytes(password)) if at else None
        self._base = f"{parts.scheme}://{authority}{parts.path.rstrip('/')}"
        self._timeout_s = timeout_s
        self._opener = build_opener(ProxyHandler({}), HTTPSHandler(context=tls))
        self._texts: dict[SchemaId, str] = {}

    def __call__(self, number: SchemaId) -> str:
        """Return a schema's text. Raises :class:`DecodeError` if the registry does not have it or does not answer."""
        if number not in self._texts:
            self._texts[number] = self._fetch(number)
        return self._texts[number]

    def _fetch(self, number: SchemaId) -> str:
        request = Request(f"{self._base}/schemas/ids/{number}", headers={"Accept": _ACCEPT})
        if self._login is not None:
            request.add_header("Authorization", "Basic " + b64encode(self._login.reveal()).decode())
        place: dict[str, Any] = {"schema_id": number, "registry": self._shown}
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                text = json.load(answer)["schema"]
        except HTTPError as fault:
            with fault:
                reason = "has no such schema" if fault.code == 404 else f"answered with status {fault.code}"
            raise DecodeError(f"the schema registry {reason}", status=fault.code, **place) from None
        except (ValueError, KeyError, TypeError):
            raise DecodeError("the schema registry's answer holds no schema", **place) from None
        except (OSError, HTTPException) as fault:
            raise DecodeError(f"the schema registry did not answer: {fault}", **place) from None
        if not isinstance(text, str):
            raise DecodeError("the schema registry's answer holds no schema", **place)
        return text


def schema_text(source: SchemaSource, number: SchemaId) -> str:
    """Return the schema text that ``source`` has for an id; :class:`DecodeError` if a mapping lacks it."""
    if callable(source):
        return source(number)
    try:
        return source[number]
    except KeyError:
        raise DecodeError("the message's schema is not known", schema_id=number) from None
