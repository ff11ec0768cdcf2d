"""Where per-batch state is kept: any ``fsspec`` URI (``state_uri``), or this process's memory.

In: records (``changefeed.state``) as they are begun and completed. Out: the same records by batchId, and the last ones.
The newest hundred are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ticdc_emit.changefeed.record import batch_id_of, file_name, record_of, text_of
from ticdc_emit.changefeed.state import BatchState
from ticdc_emit.config.secrets import hides_arguments, mask_text
from ticdc_emit.errors import MissingDependencyError, StateError

__all__ = ["FsspecStateStore", "MemoryStateStore", "StateStore", "open_state_store"]

_KEEP = 100
_STORAGE_REMEDY = "Check that the folder of state_uri is there and may be used, then run the batch again"


class StateStore(Protocol):
    """Records by batchId."""

    def load(self, batch_id: int) -> BatchState | None: ...
    def latest_before(self, batch_id: int) -> BatchState | None:
        """Return the last completed record before a batch."""
        ...

    def newest(self) -> BatchState | None:
        """Return the record of the greatest batchId, completed or not."""
        ...

    def save(self, state: BatchState) -> None: ...


class MemoryStateStore:
    """Keeps records in this process: enough for a run that is not restarted."""

    def __init__(self) -> None:
        self._records: dict[int, BatchState] = {}

    def load(self, batch_id: int) -> BatchState | None:
        return self._records.get(batch_id)

    def latest_before(self, batch_id: int) -> BatchState | None:
        earlier = [known for known, state in self._records.items() if known < batch_id and state.done]
        return self._records[max(earlier)] if earlier else None

    def newest(self) -> BatchState | None:
        return self._records[max(self._records)] if self._records else None

    def save(self, state: BatchState) -> None:
        self._records[state.batch_id] = state
        for old in sorted(self._records)[:-_KEEP]:
            del self._records[old]


class FsspecStateStore:
    """Keeps records as files ``batch-<id>.json`` under a URI that fsspec knows (``file``, ``s3``, ``gs`` ...).

    Whatever the storage raises becomes a :class:`~ticdc_emit.errors.StateError`, for its own text may hold a login.
    """

    def __init__(self, uri: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise MissingDependencyError("state_uri needs fsspec", extra="state", package="fsspec") from None
        with _storage("used", "Give state_uri a folder that this machine may write to"):
            self._fs, self._root = fsspec.core.url_to_fs(uri)
            self._fs.makedirs(self._root, exist_ok=True)

    def load(self, batch_id: int) -> BatchState | None:
        with _storage("read", _STORAGE_REMEDY, batch_id):
            try:
                with self._fs.open(self._path(batch_id), "rb") as file:
                    content = file.read()
            except FileNotFoundError:
                return None
        return record_of(content, batch_id)

    def latest_before(self, batch_id: int) -> BatchState | None:
        for known in sorted((known for known in self._ids() if known < batch_id), reverse=True):
            state = self.load(known)
            if state is not None and state.done:
                return state
        return None

    def newest(self) -> BatchState | None:
        known = self._ids()
        return self.load(max(known)) if known else None

    def save(self, state: BatchState) -> None:
        path = self._path(state.batch_id)
        with _storage("written", _STORAGE_REMEDY, state.batch_id):
            with self._fs.open(path + ".tmp", "wb") as file:
                file.write(text_of(state))
            self._fs.mv(path + ".tmp", path)
            for old in sorted(self._ids())[:-_KEEP]:
                self._fs.rm(self._path(old))

    def _path(self, batch_id: int) -> str:
        return f"{self._root}/{file_name(batch_id)}"

    def _ids(self) -> list[int]:
        with _storage("listed", _STORAGE_REMEDY):
            names = [str(path).rpartition("/")[2] for path in self._fs.ls(self._root, detail=False)]
        return [batch_id for name in names if (batch_id := batch_id_of(name)) is not None]


@contextmanager
def _storage(what: str, remedy: str, batch_id: int | None = None) -> Iterator[None]:
    """Turn what the storage's client raises, of any type, into a masked :class:`StateError`."""
    try:
        yield
    except StateError:
        raise
    except Exception as error:
        raise StateError(
            f"the state store cannot be {what}: {type(error).__name__}: {mask_text(str(error))}",
            remedy=remedy,
            batch_id=batch_id,
        ) from None


@hides_arguments
def open_state_store(uri: str | None) -> StateStore:
    """Return the store of ``state_uri``; this process's memory without one."""
    return MemoryStateStore() if uri is None else FsspecStateStore(uri)
