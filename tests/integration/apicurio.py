"""A real Apicurio Registry for tests: on a port and in a folder of its own, all in memory."""

from __future__ import annotations

import ssl
import tarfile
import urllib.request
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from unpacking import unpack

from ticdc_emit.testing.addresses import free_ports
from ticdc_emit.testing.java import short_lived_jvm
from ticdc_emit.testing.kraft import ServerProcess

_JVM = ("-Xmx384m", *short_lived_jvm())


@dataclass(frozen=True)
class ServerCertificate:
    """PEM files of a certificate for 127.0.0.1, its key, and the CA that signed it."""

    cert: Path
    key: Path
    ca: Path


def unpacked(archive: Path, folder: Path) -> Path:
    """The runnable jar, after unpacking the server's archive into ``folder``."""
    with tarfile.open(archive) as packed:
        unpack(packed, folder)
    (jar,) = folder.glob("*-runner.jar")
    return jar


class Apicurio(ServerProcess):
    """A server whose ``url`` speaks Confluent's API, version 7; its global compatibility is NONE.

    ``login``: user and password that every request must give. With ``certificate`` it speaks https only to who asks
    ``url``. :meth:`kill` and :meth:`start` keep the port, as a crash and a restart do; the schemas are gone.
    """

    def __init__(
        self,
        java: Path,
        jar: Path,
        folder: Path,
        *,
        login: tuple[str, str] | None = None,
        certificate: ServerCertificate | None = None,
    ) -> None:
        super().__init__("Apicurio registry", folder)
        self._login = login
        self._certificate = certificate
        http, https = free_ports(2)
        self.authority = f"127.0.0.1:{https if certificate else http}"
        self._line = [str(java), *_JVM, *_options(http, https, login, certificate), "-jar", str(jar)]

    @property
    def url(self) -> str:
        """``http[s]://127.0.0.1:port/apis/ccompat/v7``, without user and password."""
        return f"{'https' if self._certificate else 'http'}://{self.authority}/apis/ccompat/v7"

    @property
    def url_with_login(self) -> str:
        """``url`` with user and password, percent-encoded, if the server wants them."""
        if self._login is None:
            return self.url
        userinfo = ":".join(quote(part, safe="") for part in self._login)
        return self.url.replace("://", f"://{userinfo}@")

    def _command(self) -> list[str]:
        return self._line

    def _answers(self) -> bool:
        trusted = ssl.create_default_context(cafile=self._certificate.ca) if self._certificate else None
        # No proxy, whatever the environment says.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusted)
        )
        asked = urllib.request.Request(f"{self.url}/subjects")
        if self._login is not None:
            asked.add_header("Authorization", "Basic " + b64encode(":".join(self._login).encode()).decode())
        try:
            opener.open(asked, timeout=5).close()
        except OSError:
            return False
        return True


def _options(
    http: int, https: int, login: tuple[str, str] | None, certificate: ServerCertificate | None
) -> Sequence[str]:
    settings = {"quarkus.http.host": "127.0.0.1", "quarkus.http.port": http}
    if login is not None:
        user, password = login
        settings |= {
            "quarkus.http.auth.basic": "true",
            "quarkus.security.users.embedded.enabled": "true",
            "quarkus.security.users.embedded.plain-text": "true",
            f"quarkus.security.users.embedded.users.{user}": password,
            "quarkus.http.auth.permission.a.paths": "/apis/*",
            "quarkus.http.auth.permission.a.policy": "authenticated",
        }
    if certificate is not None:
        settings |= {
            "quarkus.http.ssl-port": https,
            "quarkus.http.ssl.certificate.files": certificate.cert,
            "quarkus.http.ssl.certificate.key-files": certificate.key,
        }
    return [f"-D{name}={value}" for name, value in settings.items()]
