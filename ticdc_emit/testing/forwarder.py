"""A fixed port for a server that cannot choose its own: its connections are forwarded, byte for byte.

In: a port on loopback and the ``host:port`` behind it. Out: a thread that accepts, and one per connection.
"""

from __future__ import annotations

import selectors
import socket
import socketserver
import threading
from contextlib import suppress

from ticdc_emit.errors import ConfigError

__all__ = ["Forwarder", "require_free_port"]

_CHUNK = 64 * 1024


def require_free_port(port: int, option: str) -> None:
    """Raise :class:`~ticdc_emit.errors.ConfigError` if something listens on a port of loopback."""
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # a socket that was closed a minute ago does not count
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ConfigError(
                f"port {port} cannot be used: {error.strerror}",
                remedy=f"Stop the program that uses it, or choose another port with {option}",
                option=option.lstrip("-"),
            ) from None


class Forwarder:
    """Forwards connections from ``port`` to ``target`` between :meth:`start` and :meth:`stop`."""

    def __init__(self, port: int, target: str) -> None:
        host, _, number = target.rpartition(":")
        self._port = port
        self._target = host, int(number)
        self._server: _Server | None = None

    def start(self) -> None:
        """Raise :class:`~ticdc_emit.errors.ConfigError` if the port is in use."""
        require_free_port(self._port, "port")
        self._server = _Server(self._port, self._target)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Free the port; connections end with their server."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        self._server = None


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, target: tuple[str, int]) -> None:
        self.target = target
        super().__init__(("127.0.0.1", port), _Connection)


class _Connection(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        with suppress(OSError), socket.create_connection(self.server.target) as behind:
            self._pass_on(self.request, behind)

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(one, selectors.EVENT_READ, other)
            ready.register(other, selectors.EVENT_READ, one)
            while True:
                for key, _ in ready.select():
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    data = source.recv(_CHUNK)
                    if not data:
                        return
                    key.data.sendall(data)
