"""TLS with a registry: a custom CA and a client certificate (mTLS).

In: file paths. Out: an ``ssl.SSLContext``. TiCDC itself has no such options for its registry (it passes no credential).
Without them the system's CAs apply, as in Go.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ticdc_emit.errors import ConfigError

__all__ = ["RegistryTls"]

_PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class RegistryTls:
    """PEM files: ``ca`` holds the only authorities to trust, ``cert`` (chain) and ``key`` (unencrypted) the client's.

    ``cert`` and ``key`` go together; the key may also be in the file of the certificate.
    """

    ca: _PathLike | None = None
    cert: _PathLike | None = None
    key: _PathLike | None = None

    def context(self) -> ssl.SSLContext:
        """Return the context of a client. Raises :class:`~ticdc_emit.errors.ConfigError` naming the option at fault."""
        if self.key is not None and self.cert is None:
            raise ConfigError("a client key needs its certificate", remedy="Give cert too", option="cert")
        for option in ("ca", "cert", "key"):
            path = getattr(self, option)
            if path is not None:
                _check_readable(option, path, holds_certificates=option != "key")
        context = ssl.create_default_context(cafile=self.ca)
        if self.cert is not None:
            try:
                # without a password here, OpenSSL would prompt for one on the terminal
                context.load_cert_chain(self.cert, self.key, password="")
            except (ssl.SSLError, ValueError) as error:
                _refuse("key", self.key or self.cert, error)
        return context


def _check_readable(option: str, path: _PathLike, *, holds_certificates: bool) -> None:
    try:
        with Path(path).open("rb"):
            pass
        if holds_certificates:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except OSError as error:
        _refuse(option, path, error.strerror or error)


def _refuse(option: str, path: _PathLike, cause: object) -> NoReturn:
    raise ConfigError(
        f"the registry's TLS file {os.fspath(path)!r} cannot be used: {cause}",
        remedy="Give a readable PEM file; a key must be the certificate's and not encrypted",
        option=option,
    ) from None
