"""A sink whose worker dies in the middle of sending, once, when it is told to: no kill from outside hits that moment.

In: any sink, and the path of a file; a worker that finds the file takes it away, sends half of its batch and is gone by
SIGKILL. Out: what the sink itself does, until then and in every other worker.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ticdc_emit.delivery.base import MessageWriter, Sink
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.storage.folder import Data, Folder


@dataclass(frozen=True)
class LethalStorage(StorageSink):
    """A storage sink whose worker dies between a file with rows and its index file. ``order``: as of the other."""

    order: str = ""

    @classmethod
    def around(cls, sink: StorageSink, order: str) -> LethalStorage:
        return cls(sink.uri, sink.rules, order=order)

    def folder(self) -> Folder:
        return _LethalFolder(super().folder(), self.order)


class _LethalFolder:
    def __init__(self, folder: Folder, order: str) -> None:
        self._folder = folder
        self._order = order

    def __getattr__(self, name: str) -> Any:
        return getattr(self._folder, name)

    def write(self, path: str, *parts: Data) -> None:
        self._folder.write(path, *parts)
        if "/CDC0" in path and os.getpid() != os.getsid(0) and _taken(self._order):
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class LethalSink:
    sink: Sink
    order: str

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        return self.sink.prepare(topics)

    def message_limit(self, topics: Iterable[str]) -> int:
        return self.sink.message_limit(topics)

    def open(self, message_limit: int | None = None) -> Any:
        return _LethalWriter(self.sink.open(message_limit), self.order)


class _LethalWriter:
    def __init__(self, writer: MessageWriter, order: str) -> None:
        self._writer = writer
        self._order = order
        self._is_worker = os.getpid() != os.getsid(0)  # the driver, which began the session, sends control messages

    def write(self, batch: pa.RecordBatch) -> None:
        half = batch.num_rows // 2
        if half and self._is_worker and _taken(self._order):
            self._writer.write(batch.slice(0, half))
            self._writer.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        self._writer.write(batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def __enter__(self) -> _LethalWriter:
        self._writer.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._writer.__exit__(*error)


def _taken(order: str) -> bool:
    try:
        Path(order).unlink()
    except FileNotFoundError:
        return False
    return True
