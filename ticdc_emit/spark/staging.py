"""Rows on their way from executors to the one process that delivers them, as Arrow IPC files.

In: record batches of a task. Out: the name of one file of the attempt, which its commit message carries; and, on the
driver, the rows of all named files as batches that can be read again. Every attempt writes a file of its own, and only
what a commit message names counts: what failed or repeated attempts left behind is removed with the folder.
"""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ticdc_emit.config import Secret
from ticdc_emit.errors import DeliveryError, MissingDependencyError

__all__ = ["StagedBatches", "StagedFile", "Staging"]


@dataclass(frozen=True)
class StagedFile:
    """One attempt's rows: the file's name in the folder (``None`` without rows), and the host that wrote it."""

    name: str | None
    host: str


@dataclass(frozen=True)
class Staging:
    """The folder of one write, at an fsspec URI that the executors and the driver both reach."""

    folder: Secret[str]  # it may hold a login

    def write(self, batches: Iterable[pa.RecordBatch]) -> StagedFile:
        """Write the rows of a task's attempt."""
        name = f"{uuid.uuid4().hex}.arrow"
        rows = (batch for batch in batches if batch.num_rows)
        first = next(rows, None)
        if first is None:
            return StagedFile(None, socket.gethostname())
        fs, root = self._located()
        fs.makedirs(root, exist_ok=True)
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with fs.open(f"{root}/{name}", "wb") as file, pa.ipc.new_file(file, first.schema, options=options) as writer:
            writer.write_batch(first)
            for batch in rows:
                writer.write_batch(batch)
        return StagedFile(name, socket.gethostname())

    def read(self, staged: Sequence[StagedFile]) -> StagedBatches:
        """Return the rows of these files; :class:`DeliveryError` if one is not to be seen from here."""
        fs, root = self._located()
        paths = []
        for each in staged:
            if each.name is None:
                continue
            if not fs.exists(f"{root}/{each.name}"):
                raise DeliveryError(
                    "rows that an executor staged are not to be seen on the driver",
                    remedy="Set stagingUri to a folder that executors and driver share",
                    executor=each.host,
                    driver=socket.gethostname(),
                )
            paths.append(f"{root}/{each.name}")
        return StagedBatches(fs, tuple(paths))

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
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
    """The record batches of staged files, anew with each iteration, one in memory at a time."""

    fs: Any
    paths: tuple[str, ...]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for path in self.paths:
            with self.fs.open(path, "rb") as file, pa.ipc.open_file(file) as reader:
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)
