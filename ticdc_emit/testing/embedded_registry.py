"""A schema registry like Confluent's in this process: its rules and state, its calls, and the HTTP server around them.

Status and error codes: docs.confluent.io, Schema Registry API reference. Ids are global, one per schema text; versions
count within a subject. Compatibility is decided by ``avro.compatibility`` (extra ``registry``).
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import socket
import ssl
import threading
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from ticdc_emit.errors import ConfigError, importing
from ticdc_emit.registry.confluent import CONTENT_TYPE, compact_json
from ticdc_emit.sql.json_depth import parsed
from ticdc_emit.testing.addresses import LOOPBACK, address_text, reached_here
from ticdc_emit.testing.running import Running

if TYPE_CHECKING:
    from typing import Self

LEVELS = ("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE")


_MOST_DIGITS = 10


class Refusal(Exception):  # noqa: N818 - an answer of the registry
    """``status`` is HTTP's, ``code`` Confluent's error_code."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Version:
    """One version of a subject; ``id`` is that of its schema text."""

    subject: str
    version: int
    id: int
    schema: str


class RegistryStore:
    """Subjects, schemas and levels in memory; safe to call from several threads."""

    def __init__(self, level: str) -> None:
        """Raises :class:`~ticdc_emit.errors.MissingDependencyError`. ``level``: the global compatibility."""
        with importing("the embedded registry needs Apache Avro", extra="registry"):
            import avro.compatibility  # noqa: F401
        self._lock = threading.RLock()
        self._ids: dict[str, int] = {}
        self._subjects: dict[str, list[Version]] = {}
        self._levels: dict[str, str] = {}
        self._global_level = _checked_level(level)

    def register(self, subject: str, schema: str) -> int:
        """Register a schema as a version of the subject and return its id; 409 if the subject's level forbids it."""
        text = _checked_schema(schema)
        with self._lock:
            versions = self._subjects.get(subject, [])
            for known in versions:
                if known.schema == text:
                    return known.id
            level = self._levels.get(subject, self._global_level)
            reasons = _incompatibilities(level, text, versions)
            if reasons:
                raise Refusal(
                    409,
                    409,
                    f'Schema being registered is incompatible with an earlier schema for subject "{subject}", '
                    f"details: [{'; '.join(reasons)}; {{compatibility: '{level}'}}]",
                )
            number = self._ids.setdefault(text, len(self._ids) + 1)
            self._subjects[subject] = [*versions, Version(subject, len(versions) + 1, number, text)]
            return number

    def lookup(self, subject: str, schema: str) -> Version:
        text = _checked_schema(schema)
        for known in self._versions(subject):
            if known.schema == text:
                return known
        raise Refusal(404, 40403, "Schema not found")

    def schema(self, number: int) -> str:
        with self._lock:
            for text, known in self._ids.items():
                if known == number:
                    return text
        raise Refusal(404, 40403, f"Schema {number} not found")

    def subjects(self) -> list[str]:
        """Return the subjects in the order of their names."""
        with self._lock:
            return sorted(self._subjects)

    def numbers(self, subject: str) -> list[int]:
        return [version.version for version in self._versions(subject)]

    def version(self, subject: str, which: str) -> Version:
        """Return a version by number, or the newest (``latest``, ``-1``)."""
        versions = self._versions(subject)
        if which in ("latest", "-1"):
            return versions[-1]
        number = whole_number(which)
        if not number:
            raise Refusal(422, 42202, f"The specified version '{which}' is not a valid version id.")
        if number > len(versions):
            raise Refusal(404, 40402, f"Version {which} not found.")
        return versions[number - 1]

    def incompatibilities(self, subject: str, schema: str, which: str | None) -> list[str]:
        """Return why a schema cannot follow a version of a subject (``None``: the versions that its level covers)."""
        text = _checked_schema(schema)
        with self._lock:
            versions = [self.version(subject, which)] if which is not None else self._subjects.get(subject, [])
            return _incompatibilities(self._levels.get(subject, self._global_level), text, versions)

    def level(self, subject: str | None, default_to_global: bool = False) -> str:
        """Return the compatibility of a subject, or the global one (``None``)."""
        with self._lock:
            if subject is None or (default_to_global and subject not in self._levels):
                return self._global_level
            if subject not in self._levels:
                raise Refusal(404, 40408, f"Subject '{subject}' does not have subject-level compatibility configured")
            return self._levels[subject]

    def set_level(self, subject: str | None, level: object) -> str:
        """Set the compatibility of a subject, or the global one (``None``), and return it."""
        checked = _checked_level(level)
        with self._lock:
            if subject is None:
                self._global_level = checked
            else:
                self._levels[subject] = checked
        return checked

    def _versions(self, subject: str) -> list[Version]:
        with self._lock:
            versions = self._subjects.get(subject)
        if versions is None:
            raise Refusal(404, 40401, f"Subject '{subject}' not found.")
        return versions


def _checked_level(level: object) -> str:
    text = str(level).upper()
    if text not in LEVELS:
        raise Refusal(422, 42203, f"Invalid compatibility level. Valid values are {', '.join(LEVELS)}")
    return text


def whole_number(text: str) -> int | None:
    """Return the number in ASCII digits, up to the size of an id or length; ``None`` for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def _checked_schema(text: str) -> str:
    from avro.errors import AvroException

    try:
        parsed(text.encode())
        compact = compact_json(text)
        _parse(compact)
    except (AvroException, ValueError, TypeError, AttributeError, ArithmeticError, LookupError) as error:
        raise Refusal(422, 42201, f"Invalid schema of type AVRO, details: {error}") from None
    return compact


def _parse(text: str) -> Any:
    from avro.schema import parse

    with warnings.catch_warnings():
        # an unknown logical type is an ordinary property
        warnings.simplefilter("ignore")
        return parse(text)


def _incompatibilities(level: str, text: str, versions: list[Version]) -> list[str]:
    from avro import compatibility

    direction, _, transitive = level.partition("_")
    if direction == "NONE":
        return []
    checker: Any = compatibility.ReaderWriterCompatibilityChecker
    compatible = compatibility.SchemaCompatibilityType.compatible
    new = _parse(text)
    reasons = []
    for version in versions if transitive else versions[-1:]:
        old = _parse(version.schema)
        pairs = [("new", new, "old", old)] if direction in ("BACKWARD", "FULL") else []
        pairs += [("old", old, "new", new)] if direction in ("FORWARD", "FULL") else []
        for reader_name, reader, writer_name, writer in pairs:
            result = checker().get_compatibility(reader, writer)
            if result.compatibility is not compatible:
                kinds = ", ".join(kind.name for kind in result.incompatibilities)
                reasons.append(
                    f"the {reader_name} schema cannot read what the {writer_name} one (version {version.version}) "
                    f"wrote: {kinds} at {', '.join(sorted(result.locations))}: {', '.join(sorted(result.messages))}"
                )
    return reasons


@dataclass(frozen=True)
class _Request:
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
    """Return the content of the answer (status 200). Raises :class:`Refusal` for any other."""
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


_Action = Callable[[RegistryStore, _Request], Any]
_CALLS: tuple[tuple[str, str, _Action], ...] = (
    ("GET", "", lambda store, request: {}),
    ("GET", "/schemas/types", lambda store, request: ["AVRO"]),
    ("GET", "/schemas/ids/{}", lambda store, request: {"schema": store.schema(request.schema_id)}),
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


_LONGEST_BODY = 16 * 1024 * 1024


class EmbeddedRegistry(Running):
    """A context manager around the server. Schemas and port survive a stop and a new start."""

    def __init__(
        self,
        compatibility: str = "BACKWARD",
        *,
        login: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        port: int = 0,
        host: str = LOOPBACK,
    ) -> None:
        """``compatibility``: the global level; ``login``: user and password that every request must give. ``port``: 0
        for any free one. ``host``: ``0.0.0.0`` for all of the machine's. Raises :class:`~ticdc_emit.errors.ConfigError`
        for an unknown level, :class:`~ticdc_emit.errors.MissingDependencyError`.
        """
        if compatibility.upper() not in LEVELS:
            raise ConfigError(
                f"no compatibility level is called {compatibility!r}",
                remedy=f"Use one of {', '.join(LEVELS)}",
                option="compatibility",
            )
        self.store = RegistryStore(compatibility)
        self._login = login
        self._tls = tls
        self._port = port
        self._host = host
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"<EmbeddedRegistry {self.url if self._server else 'stopped'}>"

    @property
    def url(self) -> str:
        """``http[s]://host:port`` for a program on this machine, without user and password."""
        place = address_text(reached_here(self._host), self._port)
        return f"{'https' if self._tls else 'http'}://{place}"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    def start(self) -> Self:
        self._server = _Server((self._host, self._port), self.store, self._login, self._tls)
        self._port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop the server and close its connections."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
        self._server = self._thread = None


class _Server(ThreadingHTTPServer):
    allow_reuse_address = True

    def __init__(
        self, place: tuple[str, int], store: RegistryStore, login: tuple[str, str] | None, tls: ssl.SSLContext | None
    ) -> None:
        self.store = store
        self.authorization = "Basic " + base64.b64encode(":".join(login).encode()).decode() if login else None
        self._tls = tls
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        self.address_family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        super().__init__(place, _Handler)

    def server_bind(self) -> None:
        # HTTPServer's own version looks up the host name, which may take seconds
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = self.socket.getsockname()[:2]

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        if self._tls is not None:
            # the handshake is done in the connection's thread
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with self._open_lock:
            self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        with self._open_lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    connection.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "ticdc-emit"
    wbufsize = -1  # head and body in one segment
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        try:
            body = self._body()
            self._check_login()
            content = call(self.server.store, self.command, self.path, body)
            status = 200
        except Refusal as refusal:
            status, content = refusal.status, {"error_code": refusal.code, "message": refusal.message}
        payload = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="registry"')
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_POST = do_PUT = do_GET  # noqa: N815

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if whole_number(length) is None or int(length) > _LONGEST_BODY:
            self.close_connection = True
            raise Refusal(413, 413, "Content-Length is missing or too large")
        return self.rfile.read(int(length))

    def _check_login(self) -> None:
        wanted = self.server.authorization
        given = self.headers.get("Authorization", "")
        if wanted is not None and not secrets.compare_digest(given.encode(), wanted.encode()):
            raise Refusal(401, 401, "Unauthorized")
