"""Stage rows or chunks of messages from executors, for the one process that delivers, as Arrow IPC files.

In: record batches of a task. Out: the name of the attempt's file, which is in its commit message; and, on the driver,
the rows of all named files as batches that can be read again. Every attempt writes its own file, and only files named
by a commit message count. Files of failed or repeated attempts are removed with the folder.

On a local file system, folder and files are for their user only. They are Arrow, in which nothing runs when it is read:
whoever else may write to a ``stagingUri`` can change messages, but not what the driver does.
"""

from __future__ import annotations

import shutil
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
from ticdc_emit.pipeline.error_json import unreadable
from ticdc_emit.temporary import OpenFile, own_folder

__all__ = ["StagedBatches", "StagedFile", "Staging"]


@dataclass(frozen=True)
class StagedFile:
    """One attempt's rows: the file's name in the folder (``None`` without rows), and the host that wrote it."""

    name: str | None
    host: str


@dataclass(frozen=True)
class Staging:
    """The folder of one write, at an fsspec URI that the executors and the driver both reach.

    ``is_among_others``: every user may write to the folder that this one is in, as to the machine's temporary folder.
    Then it is refused unless it is this user's own.
    """

    folder: Secret[str]  # it may contain a login
    is_among_others: bool = False

    @hides_arguments
    def write(self, batches: Iterable[pa.RecordBatch]) -> StagedFile:
        """Write the rows of a task's attempt.

        Raises :class:`~ticdc_emit.errors.TemporaryFileError` for a folder that is not this user's own.
        """
        name = f"{uuid.uuid4().hex}.arrow"
        rows = (batch for batch in batches if batch.num_rows)
        first = next(rows, None)
        if first is None:
            return StagedFile(None, socket.gethostname())
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with ExitStack() as files:
            with _storage(self.folder, "written"):
                open_file = files.enter_context(self.opened(creates=True))
                file = files.enter_context(open_file(name, "wb"))
                writer = files.enter_context(pa.ipc.new_file(file, first.schema, options=options))
            for batch in chain([first], rows):
                with _storage(self.folder, "written"):
                    writer.write_batch(batch)
            with _storage(self.folder, "written"):
                files.close()
        return StagedFile(name, socket.gethostname())

    @hides_arguments
    def read(self, staged: Sequence[StagedFile], schema: pa.Schema | None = None) -> StagedBatches:
        """Return the rows of these files, which have this ``schema``, if it is known.

        Raises :class:`DeliveryError` if a file is not visible from here, and
        :class:`~ticdc_emit.errors.TemporaryFileError` as :meth:`write` does.
        """
        names = []
        for each in staged:
            if each.name is None:
                continue
            if not self._has(each.name):
                raise DeliveryError(
                    "the driver cannot see rows that an executor staged",
                    remedy="Set stagingUri to a folder that executors and driver share",
                    executor=each.host,
                    driver=socket.gethostname(),
                )
            names.append(each.name)
        return StagedBatches(self, tuple(names), schema)

    @hides_arguments
    def remove(self) -> None:
        """Remove the folder and its content."""
        with _storage(self.folder, "removed"):
            fs, root = self._located()
            if not fs.exists(root):
                return
            if _is_local(fs):
                with self.opened():  # another user's folder stays
                    shutil.rmtree(root)
            else:
                fs.rm(root, recursive=True)

    def _has(self, name: str) -> bool:
        with _storage(self.folder, "read"):
            try:
                with self.opened() as open_file, open_file(name, "rb"):
                    return True
            except FileNotFoundError:
                return False

    @contextmanager
    def opened(self, *, creates: bool = False) -> Iterator[OpenFile]:
        """Give a function that opens files of the folder."""
        fs, root = self._located()
        if _is_local(fs):
            with own_folder(root, creates=creates, refuses_others=self.is_among_others) as open_file:
                yield open_file
            return
        if creates:
            fs.makedirs(root, exist_ok=True)
        yield lambda name, mode: fs.open(f"{root}/{name}", mode)

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
    """The record batches of staged files; can be iterated again, with one batch in memory at a time.

    Raises :class:`DeliveryError` for a file of another ``schema``.
    """

    staging: Staging
    names: tuple[str, ...]
    schema: pa.Schema | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        folder = self.staging.folder
        for name in self.names:
            with ExitStack() as files:
                with _storage(folder, "read"):
                    open_file = files.enter_context(self.staging.opened())
                    file = files.enter_context(open_file(name, "rb"))
                    reader = files.enter_context(pa.ipc.open_file(file))
                if self.schema is not None and reader.schema != self.schema:
                    raise unreadable("a staged file has other columns than chunks of messages")
                for number in range(reader.num_record_batches):
                    with _storage(folder, "read"):
                        batch = reader.get_batch(number)
                    yield batch


def _is_local(fs: Any) -> bool:
    protocol = getattr(fs, "protocol", ())
    return "file" in ((protocol,) if isinstance(protocol, str) else protocol)


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
