"""The URL of a registry: its address and the credentials.

In: ``http[s]://[user:password@]host[:port][/path]`` as in ``schema-registry`` of a sink URI. Out: the URL without the
userinfo, the percent-decoded credentials (``https://user:p%40ss@host``), and a form that is safe to show.
"""

from __future__ import annotations

import ipaddress
from base64 import b64encode
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes, urlsplit

from ticdc_emit.config.encoded_secrets import hide
from ticdc_emit.config.secrets import Secret, hides_arguments, mask_uri, printable
from ticdc_emit.errors import ConfigError

__all__ = ["RegistryAddress"]


@dataclass(frozen=True)
class RegistryAddress:
    """``base``: the URL without userinfo and without a slash at its end; ``shown``: for messages, userinfo masked."""

    base: str
    shown: str
    login: Secret[tuple[bytes, bytes]] | None

    @classmethod
    @hides_arguments
    def parse(cls, url: str) -> RegistryAddress:
        """Split a URL. Raises :class:`~ticdc_emit.errors.ConfigError` (``option="schema-registry"``)."""
        shown = mask_uri(url)
        try:
            parts = urlsplit(url)
            scheme, host, _ = parts.scheme, parts.hostname, parts.port
            (host or "").encode("idna").decode("idna")  # a label has at most 63 letters, and xn-- is Punycode
        except ValueError:
            scheme, host = "", None
        if scheme not in ("http", "https") or not host or any(mark in url for mark in "?# \t\r\n"):
            raise _refusal(shown)
        userinfo, at, authority = parts.netloc.rpartition("@")
        user, _, password = userinfo.partition(":")
        login = Secret((unquote_to_bytes(user), unquote_to_bytes(password))) if at else None
        return cls(f"{scheme}://{authority}{parts.path.rstrip('/')}", shown, login)

    def refusal(self) -> ConfigError:
        """Return the error for a URL that parses but whose host is not valid."""
        return _refusal(self.shown)

    @property
    def https(self) -> bool:
        return self.base.startswith("https:")

    @property
    def loopback(self) -> bool:
        """Whether the host is this machine, for which Go uses no proxy."""
        host = urlsplit(self.base).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def secrets(self) -> tuple[Secret[str], ...]:
        """Secrets that no text may show: the password (or the user if there is none) and the Basic token of both."""
        if self.login is None:
            return ()
        user, password = self.login.reveal()
        # With a password the user is not a secret, and it may be an ordinary word of the text.
        token = b64encode(user + b":" + password).decode()
        return Secret(token), Secret((password or user).decode("utf-8", "surrogateescape"))

    def without_secrets(self, text: str) -> str:
        """Return a foreign text, such as a registry's answer, printable and without the credentials that it may
        repeat.
        """
        return printable(hide(text, (secret.reveal() for secret in self.secrets)))


def _refusal(shown: str) -> ConfigError:
    return ConfigError(
        f"{shown!r} is not the URL of a schema registry",
        remedy="Write http[s]://[user:password@]host[:port][/path], user and password percent-encoded",
        option="schema-registry",
    )
