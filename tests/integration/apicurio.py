"""A real Apicurio Registry for tests: on a port and in a folder of its own, all in memory."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import tarfile
import time
import urllib.request
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

__all__ = ["Apicurio", "ServerCertificate", "unpacked"]

_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 15.0
_JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True)
class ServerCertificate:
    """PEM files of a certificate for 127.0.0.1, its key, and the CA that signed it."""

    cert: Path
    key: Path
    ca: Path


def unpacked(archive: Path, folder: Path) -> Path:
    """The runnable jar, after unpacking the server's archive into ``folder``."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (jar,) = folder.glob("*-runner.jar")
    return jar


class Apicurio:
    """A server whose ``url`` speaks Confluent's API, version 7; its global compatibility is NONE until it is set.

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
        self._folder = folder
        self._login = login
        self._certificate = certificate
        self._process: subprocess.Popen[bytes] | None = None
        http, https = _free_ports(2)
        self.authority = f"127.0.0.1:{https if certificate else http}"
        self._options = _options(http, https, login, certificate)
        self._command = [str(java), *_JVM, *self._options, "-jar", str(jar)]

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

    def start(self) -> Apicurio:
        """Returns once the server answers requests."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "apicurio.log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT, cwd=self._folder)
        self._wait_until_up()
        return self

    def set_compatibility(self, level: str) -> None:
        """Set the global level, say BACKWARD."""
        self._ask("PUT", "/config", {"compatibility": level})

    def kill(self) -> None:
        """SIGKILL, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Stop, by force after a while, and remove the folder."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_TIMEOUT_S)
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Apicurio:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _wait_until_up(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._answers():
                return
            time.sleep(0.1)
        log = (self._folder / "apicurio.log").read_text(errors="replace")
        raise RuntimeError(f"the Apicurio registry did not come up:\n{log[-4000:]}")

    def _answers(self) -> bool:
        try:
            self._ask("GET", "/subjects")
        except OSError:
            return False
        return True

    def _ask(self, method: str, path: str, content: object = None) -> None:
        trusted = ssl.create_default_context(cafile=self._certificate.ca) if self._certificate else None
        # No proxy, whatever the environment says.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusted)
        )
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        if self._login is not None:
            headers["Authorization"] = "Basic " + b64encode(":".join(self._login).encode()).decode()
        body = None if content is None else json.dumps(content).encode()
        with opener.open(urllib.request.Request(self.url + path, body, headers, method=method), timeout=5):
            pass


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


def _free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
