"""A real PostgreSQL for tests: on a port and in a folder of its own, run as a user that is not root."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ticdc_emit.testing.addresses import free_ports
from ticdc_emit.testing.kraft import ServerProcess

_DEBIAN = Path("/usr/lib/postgresql")
_USER = "postgres"  # as which packages run the server; it refuses to run as root
_UNSAFE_AND_FAST = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")


def find_postgres() -> Path | None:
    """Return the folder with ``initdb``, ``postgres`` and ``psql``: of PATH, ``pg_config`` or Debian."""
    on_path = shutil.which("postgres")
    folders = [] if on_path is None else [Path(on_path).resolve().parent]
    if shutil.which("pg_config"):
        answer = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False, timeout=60)
        folders.append(Path(answer.stdout.strip()))
    versions = [path for path in _DEBIAN.glob("*") if path.name.isdigit()]
    folders += [path / "bin" for path in sorted(versions, key=lambda path: int(path.name), reverse=True)]
    return next((each for each in folders if (each / "postgres").is_file() and (each / "initdb").is_file()), None)


class Postgres(ServerProcess):
    """A server with an empty database ``shop``, which ``user`` owns and enters without a password.

    ``folder`` must be in one that every user may enter. ``bin_folder``: as :func:`find_postgres` returns it.
    """

    user = "shop"

    def __init__(self, bin_folder: Path, folder: Path) -> None:
        super().__init__("PostgreSQL", folder)
        self._bin = bin_folder
        (self._port,) = free_ports(1)
        self.address = f"127.0.0.1:{self._port}"

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table, each value as PostgreSQL's JSON has it: binary data as text ``\\x``."""
        return json.loads(self.query(f"SELECT coalesce(json_agg(each), '[]') FROM \"{table}\" AS each"))

    def query(self, sql: str) -> str:
        """Return what ``psql`` prints of a query, without headings."""
        command = [self._bin / "psql", "-XqAt", "-h", "127.0.0.1", "-p", str(self._port)]
        answer = subprocess.run(
            [*command, "-U", self.user, "-d", "shop", "-c", sql], capture_output=True, text=True, check=True, timeout=60
        )
        return answer.stdout

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)  # ends sessions, too; SIGTERM waits for them
        super().stop()

    def _prepare(self) -> None:
        data = self._folder / "data"
        if data.exists():
            return
        if os.geteuid() == 0:
            shutil.chown(self._folder, _USER)
        self._folder.chmod(0o755)
        options = ["-D", str(data), "-U", self.user, "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", *options)
        create = f"CREATE DATABASE {self.user};\n"
        self._run("postgres", "--single", "-D", str(data), "postgres", given=create)

    def _run(self, program: str, *arguments: str, given: str = "") -> None:
        command = [*_unprivileged(), str(self._bin / program), *arguments]
        subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=120, cwd=self._folder)

    def _command(self) -> Sequence[str]:
        listening = ["-c", "listen_addresses=127.0.0.1", "-p", str(self._port), "-c", "unix_socket_directories="]
        data = str(self._folder / "data")
        return [*_unprivileged(), str(self._bin / "postgres"), "-D", data, *listening, *_UNSAFE_AND_FAST]

    def _answers(self) -> bool:
        try:
            return self.query("SELECT 1").strip() == "1"
        except subprocess.CalledProcessError:
            return False


def _unprivileged() -> list[str]:
    return ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups"] if os.geteuid() == 0 else []
