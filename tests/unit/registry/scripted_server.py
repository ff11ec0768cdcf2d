"""An HTTP server that keeps each request as it came, to the byte, and answers what a test tells it to."""

from __future__ import annotations

import socketserver
import ssl
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType

DROP = b""
HANG = b"hang"


def answer(status: int, body: str = "", headers: str = "", kind: str = "application/json") -> bytes:
    content = body.encode()
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n{headers}\r\n"
    return head.encode() + content


def slowly(data: bytes, seconds: float = 0.02) -> Iterable[bytes]:
    """Yield a byte at a time, each in good time, and then the last one for ever."""
    for at in range(10_000_000):
        time.sleep(seconds)
        yield data[min(at, len(data) - 1) :][:1]


PROBED = answer(200, "{}")
"""Confluent's answer to the GET of its URL."""


@dataclass(frozen=True)
class Request:
    line: str
    headers: dict[str, str]
    body: bytes


class ScriptedServer:
    """Gives ``answers`` in turn, the last one for ever; ``requests`` are those that came.

    An answer of many pieces is sent one by one, until it ends or the client goes away.
    """

    def __init__(self, *answers: bytes | Iterable[bytes], tls: ssl.SSLContext | None = None) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.released = threading.Event()
        script = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                if tls is not None:
                    self.request.do_handshake()
                while line := self.rfile.readline().decode().strip():
                    headers = {}
                    while text := self.rfile.readline().decode().strip():
                        name, _, value = text.partition(": ")
                        headers[name.lower()] = value
                    body = self.rfile.read(int(headers.get("content-length", 0)))
                    script.requests.append(Request(line, headers, body))
                    said = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
                    if said == HANG:
                        script.released.wait(30)
                    if said in (DROP, HANG):
                        return
                    for piece in [said] if isinstance(said, bytes) else said:
                        if script.released.is_set():
                            return
                        self.wfile.write(piece)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def get_request(self):  # type: ignore[no-untyped-def]
                connection, address = super().get_request()
                if tls is not None:
                    connection = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                return connection, address

            def handle_error(self, request, client_address):  # type: ignore[no-untyped-def]
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.authority = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{'https' if tls else 'http'}://{self.authority}"

    @property
    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.line.startswith("POST ")]

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
