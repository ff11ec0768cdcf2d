"""A schema registry for a demo or a test: Confluent's HTTP API on loopback, in this process.

Out: a URL that other processes reach (Spark's Python workers, Confluent's own clients). Paths, bodies and error codes
are those of Confluent's API reference (:mod:`ticdc_emit.testing.registry_api`), compatibility is checked by Avro's
rules (:mod:`ticdc_emit.testing.registry_store`). Its limits: Avro only, nothing is deleted, no contexts, modes or
references, and schemas end with this object.
"""

from __future__ import annotations

import base64
import json
import secrets
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from ticdc_emit.errors import ConfigError
from ticdc_emit.registry.base import CONTENT_TYPE
from ticdc_emit.testing.registry_api import call
from ticdc_emit.testing.registry_store import LEVELS, Refusal, RegistryStore, whole_number

__all__ = ["EmbeddedRegistry"]

_LONGEST_BODY = 16 * 1024 * 1024


class EmbeddedRegistry:
    """A context manager around the server; ``url`` is its address while it runs.

    Schemas and port survive a stop and a new start.
    """

    def __init__(
        self,
        compatibility: str = "BACKWARD",
        *,
        login: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        port: int = 0,
    ) -> None:
        """``compatibility``: the global level; ``login``: user and password that every request must give. ``port``: on
        loopback, 0 for any free one.

        Raises :class:`~ticdc_emit.errors.ConfigError` for an unknown level, and
        :class:`~ticdc_emit.errors.MissingDependencyError` without the extra ``registry``.
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
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"<EmbeddedRegistry {self.url if self._server else 'stopped'}>"

    @property
    def url(self) -> str:
        """``http[s]://127.0.0.1:port``, without user and password."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    def start(self) -> EmbeddedRegistry:
        self._server = _Server(self._port, self.store, self._login, self._tls)
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

    def __enter__(self) -> EmbeddedRegistry:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    allow_reuse_address = True

    def __init__(
        self, port: int, store: RegistryStore, login: tuple[str, str] | None, tls: ssl.SSLContext | None
    ) -> None:
        self.store = store
        self.authorization = "Basic " + base64.b64encode(":".join(login).encode()).decode() if login else None
        self._tls = tls
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

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
                _cut(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        connection.close()


class _Handler(BaseHTTPRequestHandler):
    """One connection: finds the route, reads the body, writes the answer."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "ticdc-emit"
    wbufsize = -1  # head and body in one segment
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_PUT = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _answer(self) -> None:
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
