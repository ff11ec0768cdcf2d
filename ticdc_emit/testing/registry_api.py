"""The HTTP API of a schema registry, as a function from a request to the answer's content.

In: method, path with query, body. Out: the content of the answer's JSON, or a :class:`~.registry_store.Refusal`. Paths,
fields and error codes are those of Confluent's API reference (docs.confluent.io, Schema Registry).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ticdc_emit.json_depth import parsed
from ticdc_emit.testing.registry_store import Refusal, RegistryStore, whole_number

__all__ = ["call"]


@dataclass(frozen=True)
class _Request:
    """``names``: the variable parts of the path; ``content``: the body of a POST or PUT."""

    names: list[str]
    content: dict[str, Any]
    query: dict[str, str]

    @property
    def subject(self) -> str | None:
        return self.names[0] if self.names else None

    @property
    def schema_id(self) -> int:
        number = whole_number(self.names[0])
        if number is None:
            raise _not_found()
        return number

    @property
    def schema(self) -> str:
        if self.content.get("schemaType") not in (None, "AVRO"):
            raise Refusal(422, 42201, f"Invalid schema type {self.content['schemaType']}: only AVRO is known here")
        text = self.content.get("schema")
        if not isinstance(text, str) or not text:
            raise Refusal(422, 42201, "Empty schema")
        return text


def call(store: RegistryStore, method: str, target: str, body: bytes) -> Any:
    """Return the content of the answer (status 200). Raises :class:`~.registry_store.Refusal` for any other."""
    parts = urlsplit(target)
    for known, pattern, action in _ROUTES:
        match = pattern.fullmatch(parts.path)
        if match is not None and known == method:
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            content = {} if method == "GET" else _json_object(body)
            return action(store, _Request([unquote(name) for name in match.groups()], content, query))
    raise _not_found()


def _not_found() -> Refusal:
    return Refusal(404, 404, "HTTP 404 Not Found")


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        content = parsed(body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise Refusal(400, 400, "Unable to process JSON")
    return content


def _compatibility(store: RegistryStore, request: _Request) -> dict[str, Any]:
    which = request.names[1] if len(request.names) > 1 else None
    reasons = store.incompatibilities(request.names[0], request.schema, which)
    messages = {"messages": reasons} if request.query.get("verbose") == "true" else {}
    return {"is_compatible": not reasons, **messages}


def _get_level(store: RegistryStore, request: _Request) -> dict[str, Any]:
    return {"compatibilityLevel": store.level(request.subject, request.query.get("defaultToGlobal") == "true")}


def _put_level(store: RegistryStore, request: _Request) -> dict[str, Any]:
    return {"compatibility": store.set_level(request.subject, request.content.get("compatibility"))}


def _users(store: RegistryStore, request: _Request) -> list[dict[str, Any]]:
    return [{"subject": one.subject, "version": one.version} for one in store.users(request.schema_id)]


_Action = Callable[[RegistryStore, _Request], Any]
_CALLS: tuple[tuple[str, str, _Action], ...] = (
    ("GET", "", lambda store, request: {}),
    ("GET", "/schemas/types", lambda store, request: ["AVRO"]),
    ("GET", "/schemas/ids/{}", lambda store, request: {"schema": store.schema(request.schema_id)}),
    ("GET", "/schemas/ids/{}/versions", _users),
    ("GET", "/subjects", lambda store, request: store.subjects()),
    ("POST", "/subjects/{}", lambda store, request: asdict(store.lookup(request.names[0], request.schema))),
    ("GET", "/subjects/{}/versions", lambda store, request: store.numbers(request.names[0])),
    ("POST", "/subjects/{}/versions", lambda store, request: {"id": store.register(request.names[0], request.schema)}),
    ("GET", "/subjects/{}/versions/{}", lambda store, request: asdict(store.version(*request.names))),
    ("POST", "/compatibility/subjects/{}/versions", _compatibility),
    ("POST", "/compatibility/subjects/{}/versions/{}", _compatibility),
    ("GET", "/config", _get_level),
    ("PUT", "/config", _put_level),
    ("GET", "/config/{}", _get_level),
    ("PUT", "/config/{}", _put_level),
)
_ROUTES = tuple((method, re.compile(path.replace("{}", "([^/]+)") + "/?"), action) for method, path, action in _CALLS)
