"""Where the records of batches are kept: in this process, or in a folder that fsspec knows (``state_uri``).

DDL is kept once (:class:`DdlHistory`): a record only says where its DDL is. One object at a time writes to a folder:
the last that has put its token into ``writer.json``; all others are refused at their next record.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeAlias
from uuid import uuid4

from ticdc_emit.config.secrets import Secret, hides_arguments
from ticdc_emit.errors import StateError, importing
from ticdc_emit.pipeline.plan.ddl import DdlStatement
from ticdc_emit.pipeline.state import (
    BatchState,
    Places,
    batch_id_of,
    damaged,
    file_name,
    object_of,
    record_of,
    sealed,
    storage,
    text_of,
)

_KEEP = 100  # records, and that of the batch that was saved last


class MemoryStateStore:
    """Keeps records in this process: enough for a run that is not restarted."""

    def __init__(self) -> None:
        self._records: dict[int, BatchState] = {}

    def load(self, batch_id: int) -> BatchState | None:
        return self._records.get(batch_id)

    def latest_before(self, batch_id: int) -> BatchState | None:
        _refuse_earlier(batch_id, self._records)
        earlier = [known for known, state in self._records.items() if known < batch_id and state.done]
        return self._records[max(earlier)] if earlier else None

    def newest(self) -> BatchState | None:
        return self._records[max(self._records)] if self._records else None

    def save(self, state: BatchState) -> None:
        self._records[state.batch_id] = state
        for old in sorted(self._records)[:-_KEEP]:
            if old != state.batch_id:
                del self._records[old]

    def forget(self, batch_id: int) -> None:
        self._records.pop(batch_id, None)

    def claim(self) -> bool:
        """Nobody else has this memory."""
        return False

    def release(self) -> None:
        """Nobody else has this memory."""


class FsspecStateStore:
    """Keeps records as files ``batch-<id>.json`` under a URI that fsspec knows (``file``, ``s3``, ``gs`` ...).

    It asks for nothing before it is read, and the folder is made when it is claimed. Failures become
    :class:`~ticdc_emit.errors.StateError`, for the storage's own text may hold a login.
    """

    def __init__(self, uri: str) -> None:
        with importing("state_uri needs fsspec", extra="state", package="fsspec"):
            import fsspec
        self._uri = Secret(uri)
        self._token: str | None = None
        *outer, innermost = uri.split("::")
        with storage("used", "Give state_uri a folder that this machine may write to"):
            for link in (*outer, innermost if "://" in innermost else "file://"):
                fsspec.get_filesystem_class(link.partition("://")[0])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_token": None}  # a copy is another writer

    def claim(self) -> bool:
        """Make this the store's only writer; return whether it was not before. Raises ``StateError`` if another is."""
        if self._token is not None:
            self._refuse_other_writer()
            return False
        token = uuid4().hex
        writer = {"token": token, "host": socket.gethostname(), "pid": os.getpid(), "since_ms": _now_ms()}
        self.write(_WRITER, writer)
        self._token = token
        self._history.refresh()
        return True

    def release(self) -> None:
        """Forget that this object is the writer: the next :meth:`claim` makes it that anew."""
        self._token = None

    def _refuse_other_writer(self) -> None:
        content = _content(self._fs, f"{self._root}/{_WRITER}") or b""
        writer: dict[str, Any] = {}
        with suppress(StateError):  # what cannot be read is not this writer's
            writer = object_of(content, _WRITER)
        if writer.get("token") != self._token:
            since = writer.get("since_ms")
            raise StateError(
                "another writer has taken over this state_uri, or its folder was removed",
                remedy="Use one writer per state_uri, and begin this one anew if it shall go on",
                host=writer.get("host"),
                pid=writer.get("pid"),
                held_seconds=max(0, (_now_ms() - since) // 1000) if type(since) is int else None,
            )

    @cached_property
    def _located(self) -> tuple[Any, str]:
        import fsspec

        with storage("used", "Give state_uri a folder that this machine may write to"):
            located: tuple[Any, str] = fsspec.core.url_to_fs(self._uri.reveal())
            return located

    @property
    def _fs(self) -> Any:
        return self._located[0]

    @property
    def _root(self) -> str:
        return self._located[1]

    @cached_property
    def _history(self) -> DdlHistory:
        return DdlHistory(self._fs, self._root)

    def load(self, batch_id: int) -> BatchState | None:
        content = _content(self._fs, self._path(batch_id), batch_id)
        return None if content is None else record_of(content, batch_id, self._history.ddl)

    def latest_before(self, batch_id: int) -> BatchState | None:
        """Return the last completed record before a batch without one; ``StateError`` if a later batch has one."""
        ids = self._ids()
        _refuse_earlier(batch_id, ids)
        for known in sorted((known for known in ids if known < batch_id), reverse=True):
            state = self.load(known)
            if state is not None and state.done:
                return state
        return None

    def newest(self) -> BatchState | None:
        """Return the record of the greatest batchId, completed or not."""
        known = self._ids()
        return self.load(max(known)) if known else None

    def save(self, state: BatchState) -> None:
        """Keep a record, in place of the batch's earlier one; claims the store."""
        self.claim()
        path, places = self._path(state.batch_id), self._history.places(state.ddl)
        _replace(self._fs, path, text_of(state, places), state.batch_id)
        with storage("written", batch_id=state.batch_id):
            for old in sorted(self._ids())[:-_KEEP]:
                if old != state.batch_id:
                    self._fs.rm(self._path(old))

    def forget(self, batch_id: int) -> None:
        self.claim()
        with storage("written", batch_id=batch_id):
            self._fs.rm(self._path(batch_id))

    def read(self, name: str) -> dict[str, Any] | None:
        """Return a record beside those of batches, by the name of its file; ``None`` if there is none."""
        content = _content(self._fs, f"{self._root}/{name}")
        return None if content is None else object_of(content, name)

    def write(self, name: str, record: dict[str, Any]) -> None:
        with storage("used"):
            self._fs.makedirs(self._root, exist_ok=True)
        _replace(self._fs, f"{self._root}/{name}", sealed(record))

    def remove(self, name: str) -> None:
        with storage("written"):
            self._fs.rm(f"{self._root}/{name}")

    def _path(self, batch_id: int) -> str:
        return f"{self._root}/{file_name(batch_id)}"

    def _ids(self) -> list[int]:
        with storage("listed"):
            try:
                self._fs.invalidate_cache()
                names = [str(path).rpartition("/")[2] for path in self._fs.ls(self._root, detail=False)]
            except FileNotFoundError:
                if self._token is not None:
                    raise
                return []
        return [batch_id for name in names if (batch_id := batch_id_of(name)) is not None]


def _refuse_earlier(batch_id: int, ids: Collection[int]) -> None:
    """Refuse a batch without a record before later ones: its rows would follow watermarks that cover them."""
    newest = max(ids, default=batch_id)
    if newest > batch_id:
        raise StateError(
            f"the batch has no record, but batch {newest} has one: the stream's checkpoint was deleted or is older, "
            "or another stream used this state before",
            remedy="Use the checkpoint that belongs to this state. To start over, use a new checkpoint with a new "
            "state_uri (without state_uri: a new sink)",
            batch_id=batch_id,
        )


StateStore: TypeAlias = MemoryStateStore | FsspecStateStore
"""Records by batchId."""


@hides_arguments
def open_state_store(uri: str | None) -> StateStore:
    """Return the store of ``state_uri``; this process's memory without one."""
    return MemoryStateStore() if uri is None else FsspecStateStore(uri)


_WRITER = "writer.json"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _content(fs: Any, path: str, batch_id: int | None = None) -> bytes | None:
    with storage("read", batch_id=batch_id):
        try:
            return bytes(fs.cat_file(path))
        except FileNotFoundError:
            return None


def _replace(fs: Any, path: str, content: bytes, batch_id: int | None = None) -> None:
    with storage("written", batch_id=batch_id):
        with fs.open(path + ".tmp", "wb") as file:
            file.write(content)
        fs.mv(path + ".tmp", path)


_PER_FILE = 256
_Ddl: TypeAlias = "tuple[DdlStatement, ...]"


class DdlHistory:
    """The DDL in the folder ``root`` of an fsspec file system. Only the store's writer adds to it.

    Statements are in the order in which they came, 256 to a file, of which only the last is written again: what a batch
    costs does not depend on how many came before it. What a refused batch left is in no record's places.
    """

    def __init__(self, fs: Any, root: str) -> None:
        self._fs, self._root = fs, root
        self.refresh()

    def refresh(self) -> None:
        """Forget what was read: another writer may have added to the history."""
        self._statements: list[DdlStatement] = []
        self._numbers: dict[DdlStatement, int] = {}
        self._is_read = False
        self._latest: tuple[_Ddl, Places] = ((), [])

    def places(self, ddl: _Ddl) -> Places:
        """Return where the statements are; add those that are new."""
        latest, places = self._latest
        if ddl is latest:  # as for every batch without DDL
            return places
        if not self._is_read:
            self._read()
        new = [entry for entry in ddl if entry not in self._numbers]
        if new:
            before = len(self._statements)
            self._take(new)
            for number in range(before // _PER_FILE, (len(self._statements) - 1) // _PER_FILE + 1):
                self._write(number)
        places = _ranges(sorted(self._numbers[entry] for entry in ddl))
        self._latest = ddl, places
        return places

    def ddl(self, places: Places) -> _Ddl:
        """Return the statements at places, in commit order. Raises ``StateError`` if a file is missing or damaged."""
        latest, known = self._latest
        if places == known:
            return latest
        end = max((end for _, end in places), default=0)
        if end > len(self._statements):
            self._read()
            if end > len(self._statements):
                raise damaged(_name(len(self._statements) // _PER_FILE), "statements of a batch are missing")
        found = [entry for first, last in places for entry in self._statements[first:last]]
        ddl = tuple(sorted(found, key=lambda entry: entry[0]))
        self._latest = ddl, places
        return ddl

    def _take(self, statements: Iterable[DdlStatement]) -> None:
        for entry in statements:
            self._numbers[entry] = len(self._statements)
            self._statements.append(entry)

    def _read(self) -> None:
        number = len(self._statements) // _PER_FILE
        for entry in self._statements[number * _PER_FILE :]:
            del self._numbers[entry]
        del self._statements[number * _PER_FILE :]
        self._latest = (), []
        while len(self._statements) == number * _PER_FILE:
            content = _content(self._fs, f"{self._root}/{_name(number)}")
            if content is None:
                break
            record = object_of(content, _name(number))
            self._take((commit_ts, schema, query) for commit_ts, schema, query in record["ddl"])
            number += 1
        self._is_read = True

    def _write(self, number: int) -> None:
        path = f"{self._root}/{_name(number)}"
        statements = self._statements[number * _PER_FILE : (number + 1) * _PER_FILE]
        _replace(self._fs, path, sealed({"ddl": statements}))


def _name(number: int) -> str:
    return f"ddl-{number}.json"


def _ranges(numbers: Sequence[int]) -> Places:
    places: Places = []
    for number in numbers:
        if places and places[-1][1] == number:
            places[-1][1] = number + 1
        else:
            places.append([number, number + 1])
    return places
