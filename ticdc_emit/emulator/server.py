"""The control API as an HTTP server in a thread of this process, on uvicorn (extra ``serve``)."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ticdc_emit.config.secrets import Secret
from ticdc_emit.emulator.emulator import Emulator
from ticdc_emit.emulator.guard import Guard, address_of, check_binding, is_loopback
from ticdc_emit.errors import MissingDependencyError, ServerError
from ticdc_emit.hints import names
from ticdc_emit.testing.addresses import address_text, unusable
from ticdc_emit.testing.running import Running

if TYPE_CHECKING:
    from typing import Self

    import uvicorn

MOST_CONNECTIONS = 64
_START_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = 5.0
IDLE_S = 10.0
"""How long a connection may be without a request, also one whose head does not end."""


def _impatient() -> type[asyncio.Protocol]:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Impatient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            self.loop.call_later(IDLE_S, self.look, None)

        def look(self, last: Any) -> None:
            if self.cycle is last and (last is None or last.response_complete):
                self.transport.close()
            elif not self.transport.is_closing():
                self.loop.call_later(IDLE_S, self.look, self.cycle)

    return Impatient


class ControlServer(Running):
    """A context manager. ``address``: ``HOST:PORT``; port 0: any free one. ``token``: required in requests.

    ``served``: ``host:port`` of the Kafka and the schema registry that changefeeds made over HTTP may use beside
    loopback's; ``any_sink``: any. Raises :class:`~ticdc_emit.errors.ConfigError` for a host elsewhere without a token.
    """

    def __init__(
        self,
        emulator: Emulator,
        address: str = "127.0.0.1:8300",
        *,
        token: Secret[str] | None = None,
        served: str | Collection[str] = (),
        any_sink: bool = False,
    ) -> None:
        self._host, self._port = address_of(address)
        check_binding(self._host, token)
        try:
            import uvicorn  # noqa: F401

            from ticdc_emit.emulator.control_api import control_api
        except ImportError as error:
            raise MissingDependencyError(
                "the control API needs FastAPI and uvicorn", extra="serve", package=error.name
            ) from error
        self._application = control_api(emulator, served=frozenset(names(served)), any_sink=any_sink)
        self._guard = Guard(self._application, token=token, checks_host=is_loopback(self._host))
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port; before the start, the one that was asked for."""
        return self._port

    @property
    def url(self) -> str:
        """``http://127.0.0.1:8300`` while it runs."""
        return f"http://{address_text(self._host, self._port)}"

    def answer_settings(self, settings: Mapping[str, Any]) -> None:
        """Let ``GET /settings`` answer this, which JSON must hold."""
        self._application.state.settings = settings

    def start(self) -> Self:
        """Return when it answers. Raises :class:`~ticdc_emit.errors.ConfigError` for a port in use."""
        import uvicorn

        listener = self._listener()
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._guard,
            http=_impatient(),
            log_config=None,
            log_level="critical",  # a line for each request of a client that offers HTTP/2 would fill an unread pipe
            access_log=False,
            limit_concurrency=MOST_CONNECTIONS,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        server = self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="control", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise ServerError("the control API does not start", remedy="Read uvicorn's lines on stderr")
            time.sleep(0.005)
        return self

    def _listener(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        # asyncio lets answers leave at once (TCP_NODELAY) only where the protocol is named
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self._host, self._port))
        except OSError as error:
            listener.close()
            raise unusable(address_text(self._host, self._port), "--control", error) from None
        return listener

    def stop(self) -> None:
        """Free the port; requests under way may end without an answer."""
        self._guard.ends = True
        server, self._server = self._server, None
        thread, self._thread = self._thread, None
        if server is not None:
            server.should_exit = True
        if thread is not None:
            thread.join(_STOP_TIMEOUT_S)
