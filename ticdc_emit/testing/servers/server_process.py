"""A real server: one process with its own folder and ports, killed if it does not stop."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from ticdc_emit.errors import ServerError

__all__ = ["Server", "ServerProcess", "free_ports"]

_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 15.0
_Self = TypeVar("_Self", bound="Server")
_Process = TypeVar("_Process", bound="ServerProcess")


class Server:
    """A process between :meth:`start` and :meth:`stop`, as a context manager."""

    def start(self: _Self) -> _Self:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class ServerProcess(Server):
    """:meth:`kill` and :meth:`start` keep folder and ports, as a crash and a restart do; :meth:`stop` removes them."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self: _Process) -> _Process:
        """Returns once the server answers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._prepare()
        with self._log.open("ab") as log:
            # only the parent process handles Ctrl-C; it stops this one when it is no longer used
            self._process = subprocess.Popen(
                self._command(), stdout=log, stderr=subprocess.STDOUT, cwd=self._folder, start_new_session=True
            )
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._answers():
                return self
            time.sleep(0.1)
        raise ServerError(f"the {self._name} did not come up:\n{self._log.read_text(errors='replace')[-4000:]}")

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The running process."""
        return self._process

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

    @property
    def _log(self) -> Path:
        return self._folder / "server.log"

    def _prepare(self) -> None:
        """Preparations before each start of the process."""

    def _command(self) -> Sequence[str]:
        raise NotImplementedError

    def _answers(self) -> bool:
        raise NotImplementedError


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
