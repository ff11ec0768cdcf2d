"""The right to write to a state store: one process at a time has it, in the file ``writer.json``.

In: a folder of an fsspec file system. Out: a :class:`Lease`, renewed by a thread while it is held. It is over when its
process has ended (told by a :class:`Process`, on the same machine) or has not renewed it for a minute.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import socket
import sys
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ticdc_emit.errors import StateError
from ticdc_emit.pipeline.state import GREATEST, object_of, storage

logger = logging.getLogger(__name__)

LEASE_SECONDS = 60
"""How long a lease is believed after it was renewed."""

_RENEW_SECONDS = 10.0
_NAME = "writer.json"
_ATTEMPTS = 20  # of a file that another process is just writing
_ATTEMPT_SECONDS = 0.05


@dataclass(frozen=True)
class _Holder:
    """The content of ``writer.json``. ``token`` is unique to this lease; times are ms since the epoch."""

    token: str
    host: str
    machine: str
    pid: int
    started: str
    since_ms: int
    renewed_ms: int

    @classmethod
    def new(cls) -> _Holder:
        now = _now_ms()
        return cls(uuid.uuid4().hex, *Process.this(), now, now)

    @classmethod
    def read(cls, content: bytes) -> _Holder:
        """Raises :class:`StateError` for anything but what :meth:`text` writes."""
        record = object_of(content, _NAME)
        texts = ("token", "host", "machine", "started")
        numbers = ("pid", "since_ms", "renewed_ms")
        if set(record) != {*texts, *numbers} or not (
            all(isinstance(record[name], str) for name in texts)
            and all(type(record[name]) is int and 0 < record[name] <= GREATEST for name in numbers)
        ):
            raise StateError("it does not name a writer", remedy="Remove the file if no writer is running", file=_NAME)
        return cls(**record)

    def text(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @property
    def process(self) -> Process:
        return Process(self.host, self.machine, self.pid, self.started)

    @property
    def remaining_seconds(self) -> float:
        return LEASE_SECONDS - (_now_ms() - self.renewed_ms) / 1000

    def is_over(self) -> bool:
        """Whether another writer may take the lease from this one."""
        return self.process == Process.this() or self.process.lives() is False or self.remaining_seconds <= 0

    def error(self, message: str, remedy: str) -> StateError:
        """Return an error that names the holder of the store."""
        return StateError(
            message,
            remedy=remedy,
            host=self.host,
            pid=self.pid,
            held_seconds=max(0, (_now_ms() - self.since_ms) // 1000),
            renewed_seconds_ago=max(0, (_now_ms() - self.renewed_ms) // 1000),
        )


class Lease:
    """The right to write to the store at ``root``. Pickled, it is one that is not held."""

    def __init__(self, fs: Any, root: str) -> None:
        self._fs, self._root = fs, root
        self._held: _Held | None = None
        self._finalizer: Callable[[], Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Lease, (self._fs, self._root)

    @property
    def is_held(self) -> bool:
        """Whether this process has taken the lease, even if it has lost it since."""
        return self._held is not None and self._held.pid == os.getpid()

    def hold(self) -> bool:
        """Take the lease, or check that it is still held; return whether it was taken.

        Raises :class:`StateError` if another writer holds the store or has taken it meanwhile.
        """
        if self.is_held:
            assert self._held is not None
            self._held.check()
            return False
        held = _Held(self._fs, self._root)
        held.take()
        self._held = held
        self._finalizer = weakref.finalize(self, held.release)
        threading.Thread(target=held.renew_until_released, name="ticdc-emit-lease", daemon=True).start()
        return True

    def release(self) -> None:
        """Give the lease back, if it is held; :meth:`hold` takes it again."""
        if self._finalizer is not None:
            self._finalizer()
        self._held = self._finalizer = None


class _Held:
    """A lease from its taking to its release; shared by its :class:`Lease` and the thread that renews it."""

    def __init__(self, fs: Any, root: str) -> None:
        self.pid = os.getpid()
        self._fs, self._root, self._path = fs, root, f"{root}/{_NAME}"
        self._holder = _Holder.new()
        self._lock = threading.Lock()
        self._released = threading.Event()

    def take(self) -> None:
        with storage("used"):
            self._fs.makedirs(self._root, exist_ok=True)
        with self._alone():
            known = self._read()
            if known is not None and not known.is_over():
                wait = max(1, round(known.remaining_seconds + 0.5))
                raise known.error(
                    "another writer uses this state_uri",
                    f"Stop that writer, or use another state_uri. If it is dead, try again in {wait} s",
                )
            self._write(is_new=known is None)
            self._refuse_other(self._read())

    def check(self) -> None:
        """Raise :class:`StateError` if the lease is lost."""
        with self._lock:
            self._refuse_other(self._read())

    def renew_until_released(self) -> None:
        """Renew the lease until it is released; runs in its own thread."""
        while not self._released.wait(_RENEW_SECONDS):
            try:
                self._renew()
            except Exception as error:  # the next check of the writer tells what is wrong
                logger.debug("the lease of the state store could not be renewed: %s", error)

    def release(self) -> None:
        """Remove the file, if it is still this lease's."""
        if os.getpid() != self.pid:  # a forked child's copy
            return
        self._released.set()
        try:
            with self._lock, self._alone():
                known = self._read()
                if known is not None and known.token == self._holder.token:
                    self._fs.rm(self._path)
        except Exception as error:  # it ends by itself
            logger.debug("the lease of the state store could not be given back: %s", error)

    def _renew(self) -> None:
        with self._lock, self._alone():
            known = self._read()
            if self._released.is_set() or known is None or known.token != self._holder.token:
                self._released.set()
                return
            self._holder = replace(self._holder, renewed_ms=_now_ms())
            self._write()

    def _refuse_other(self, known: _Holder | None) -> None:
        remedy = "Use one writer per state_uri, and begin this one anew if it shall go on"
        if known is None:
            raise StateError(
                "the lease of this state_uri is gone: another writer had it, or the folder was removed",
                remedy=remedy,
                file=_NAME,
            )
        if known.token != self._holder.token:
            raise known.error("another writer has taken over this state_uri", remedy)

    def _read(self) -> _Holder | None:
        """Return the content of the file, ``None`` without one; wait a little if it is just being written."""
        for attempt in range(_ATTEMPTS):
            with storage("read"):
                try:
                    content = bytes(self._fs.cat_file(self._path))
                except FileNotFoundError:
                    return None
            try:
                return _Holder.read(content)
            except StateError as fault:
                if attempt == _ATTEMPTS - 1:
                    raise StateError(
                        f"the lease of this state_uri cannot be read: {fault.message}",
                        remedy="Make sure that no writer uses state_uri, then remove the file",
                        file=_NAME,
                    ) from None
            time.sleep(_ATTEMPT_SECONDS)
        raise AssertionError("unreachable")

    def _write(self, *, is_new: bool = False) -> None:
        content = self._holder.text()
        with storage("written"):
            if _is_local(self._fs):
                draft = f"{self._path}.{self._holder.token}.tmp"
                self._fs.pipe_file(draft, content)
                self._fs.mv(draft, self._path)
            elif not (is_new and self._created(content)):
                self._fs.pipe_file(self._path, content)

    def _created(self, content: bytes) -> bool:
        """Create the file if the storage can do that atomically, else return ``False``.

        A file that is there by now stays as it is, and the caller reads it back.
        """
        try:
            self._fs.pipe_file(self._path, content, mode="create")
        except FileExistsError:
            return True
        except (TypeError, ValueError, NotImplementedError):
            return False
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes of a local file system out, where it has locks."""
        folder = _locked(self._root) if _is_local(self._fs) else None
        try:
            yield
        finally:
            if folder is not None:
                os.close(folder)


class Process(NamedTuple):
    """Names a process, and no other, not even a later one with the same pid.

    ``machine``: one boot of one machine, and in it one space of pids (a container has its own). ``started``: what
    tells processes with the same pid apart, empty where the system does not show it.
    """

    host: str
    machine: str
    pid: int
    started: str

    @classmethod
    def this(cls) -> Process:
        """Return the identity of the calling process."""
        pid = os.getpid()
        return cls(socket.gethostname(), _machine(), pid, _started(pid) or "")

    def lives(self) -> bool | None:
        """Return whether the process lives; ``None`` if unknown: on another machine, or on Windows."""
        if self.machine != _machine() or sys.platform == "win32":
            return None
        if self.started:
            return _started(self.pid) == self.started
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True  # it lives, and belongs to another user
        return True


def _machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - the target is not a path
    except OSError:
        return f"{platform.node()}:{uuid.getnode():x}"


def _started(pid: int) -> str | None:
    """Return when a process began, in ticks since the machine did; ``None`` if it has ended or is not to be seen."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before may hold anything
    return None if fields[0] in "ZX" else fields[19]


def _is_local(fs: Any) -> bool:
    protocol = fs.protocol
    return "file" in ((protocol,) if isinstance(protocol, str) else protocol)


def _locked(folder: str) -> int | None:
    """Return the descriptor of a folder that is locked for this process; ``None`` where that is not possible."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    for _ in range(_ATTEMPTS * 5):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_ATTEMPT_SECONDS)
        except OSError:  # a file system without locks
            break
        else:
            return descriptor
    os.close(descriptor)
    return None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
