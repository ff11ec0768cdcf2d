"""An identity provider for tests: OAuth's client credentials grant on loopback, its tokens signed with RS256."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

_KEY_ID = "test"
_LIFETIME_S = 300


class IdentityProvider:
    """Gives tokens for ``audience`` to the one client that knows its secret.

    Brokers check tokens with :meth:`jwks`; ``scopes`` collects what clients asked for.
    """

    audience = "kafka"

    def __init__(self, client_id: str, client_secret: str) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._login = "Basic " + base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        self._client_id = client_id
        self.scopes: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.token_url = f"http://127.0.0.1:{self._server.server_port}/token"

    def jwks(self) -> str:
        """The public key as a JSON Web Key Set (RFC 7517)."""
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY_ID}
        return json.dumps({"keys": [{**key, "n": _number(numbers.n), "e": _number(numbers.e)}]})

    def token(self) -> str:
        """A JSON Web Token (RFC 7519) for the client."""
        now = int(time.time())
        claims = {"sub": self._client_id, "aud": self.audience, "iat": now, "exp": now + _LIFETIME_S}
        signed = f"{_part({'alg': 'RS256', 'kid': _KEY_ID})}.{_part(claims)}"
        return f"{signed}.{_base64(self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def answer(self, login: str | None, form: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """Status and body, as RFC 6749 5.1 and 5.2 say."""
        if login != self._login:
            return 401, {"error": "invalid_client", "error_description": "unknown client or wrong secret"}
        if form.get("grant_type") != ["client_credentials"]:
            return 400, {"error": "unsupported_grant_type"}
        self.scopes += form.get("scope", [])
        return 200, {"access_token": self.token(), "token_type": "Bearer", "expires_in": _LIFETIME_S}

    def __enter__(self) -> IdentityProvider:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
                status, body = provider.answer(self.headers.get("Authorization"), form)
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: pytest shows what matters."""

        return Handler


def _part(content: dict[str, Any]) -> str:
    return _base64(json.dumps(content).encode())


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
