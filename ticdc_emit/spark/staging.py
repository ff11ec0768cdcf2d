"""Stage rows or chunks of messages from executors, for the one process that delivers, as Arrow IPC files.

In: record batches of a task. Out: the name of the attempt's file, which is in its commit message; and, on the driver,
the rows of all named files as batches that can be read again. Every attempt writes its own file, and only files named
by a commit message count. Files of failed or repeated attempts are removed with the folder.
"""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from ticdc_emit.config.encoded_secrets import hide
from ticdc_emit.config.secrets import Secret, foreign_text, hides_arguments, uri_secrets
from ticdc_emit.errors import DeliveryError, MissingDependencyError, TicdcEmitError

__all__ = ["StagedBatches", "StagedFile", "Staging"]


@dataclass(frozen=True)
class StagedFile:
    """One attempt's rows: the file's name in the folder (``None`` without rows), and the host that wrote it."""

    name: str | None
    host: str


@dataclass(frozen=True)
class Staging:
    """The folder of one write, at an fsspec URI that the executors and the driver both reach."""

    folder: Secret[str]  # it may contain a login

    @hides_arguments
    def write(self, batches: Iterable[pa.RecordBatch]) -> StagedFile:
        """Write the rows of a task's attempt."""
        name = f"{uuid.uuid4().hex}.arrow"
        rows = (batch for batch in batches if batch.num_rows)
        first = next(rows, None)
        if first is None:
            return StagedFile(None, socket.gethostname())
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with ExitStack() as files:
            with _storage(self.folder, "written"):
                fs, root = self._located()
                fs.makedirs(root, exist_ok=True)
                file = files.enter_context(fs.open(f"{root}/{name}", "wb"))
                writer = files.enter_context(pa.ipc.new_file(file, first.schema, options=options))
            for batch in chain([first], rows):
                with _storage(self.folder, "written"):
                    writer.write_batch(batch)
            with _storage(self.folder, "written"):
                files.close()
        return StagedFile(name, socket.gethostname())

    @hides_arguments
    def read(self, staged: Sequence[StagedFile]) -> StagedBatches:
        """Return the rows of these files; :class:`DeliveryError` if one is not visible from here."""
        paths = []
        for each in staged:
            if each.name is None:
                continue
            with _storage(self.folder, "read"):
                fs, root = self._located()
                there = fs.exists(f"{root}/{each.name}")
            if not there:
                raise DeliveryError(
                    "the driver cannot see rows that an executor staged",
                    remedy="Set stagingUri to a folder that executors and driver share",
                    executor=each.host,
                    driver=socket.gethostname(),
                )
            paths.append(f"{root}/{each.name}")
        return StagedBatches(self.folder, fs if paths else None, tuple(paths))

    @hides_arguments
    def remove(self) -> None:
        """Remove the folder and its content."""
        with _storage(self.folder, "removed"):
            fs, root = self._located()
            if fs.exists(root):
                fs.rm(root, recursive=True)

    def _located(self) -> tuple[Any, str]:
        try:
            import fsspec
        except ImportError:
            raise MissingDependencyError(
                "the data source stages rows by fsspec", extra="state", package="fsspec"
            ) from None
        located: tuple[Any, str] = fsspec.core.url_to_fs(self.folder.reveal())
        return located


@dataclass(frozen=True)
class StagedBatches:
    """The record batches of staged files; can be iterated again, with one batch in memory at a time."""

    folder: Secret[str]
    fs: Any
    paths: tuple[str, ...]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for path in self.paths:
            with ExitStack() as files:
                with _storage(self.folder, "read"):
                    file = files.enter_context(self.fs.open(path, "rb"))
                    reader = files.enter_context(pa.ipc.open_file(file))
                for number in range(reader.num_record_batches):
                    with _storage(self.folder, "read"):
                        batch = reader.get_batch(number)
                    yield batch


@contextmanager
def _storage(folder: Secret[str], what: str) -> Iterator[None]:
    """Turn any error of the storage's client into a masked :class:`DeliveryError`."""
    try:
        yield
    except TicdcEmitError:
        raise
    except Exception as error:
        shown = foreign_text(hide(str(error), uri_secrets(folder.reveal())))
        raise DeliveryError(
            f"staged rows cannot be {what}: {type(error).__name__}: {shown}",
            remedy="Check stagingUri, and that this machine can use it",
        ) from None
