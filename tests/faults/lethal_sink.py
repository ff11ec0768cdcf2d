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
from types import TracebackType

import pyarrow as pa

from ticdc_emit.delivery.base import DeliveryReport, MessageWriter, Sink

__all__ = ["LethalSink"]


@dataclass(frozen=True)
class LethalSink:
    """``order``: the path of the file."""

    sink: Sink
    order: str

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        return self.sink.prepare(topics)

    def message_limit(self, topics: Iterable[str]) -> int:
        return self.sink.message_limit(topics)

    def open(self, message_limit: int | None = None) -> _LethalWriter:
        return _LethalWriter(self.sink.open(message_limit), self.order)


class _LethalWriter:
    def __init__(self, writer: MessageWriter, order: str) -> None:
        self._writer = writer
        self._order = order
        self._is_worker = os.getpid() != os.getsid(0)  # the driver, which began the session, sends control messages

    def write(self, batch: pa.RecordBatch) -> None:
        half = batch.num_rows // 2
        if half and self._is_worker and self._ordered():
            self._writer.write(batch.slice(0, half))
            self._writer.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        self._writer.write(batch)

    def _ordered(self) -> bool:
        try:
            Path(self._order).unlink()
        except FileNotFoundError:
            return False
        return True

    def flush(self) -> DeliveryReport:
        return self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def __enter__(self) -> _LethalWriter:
        self._writer.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.__exit__(kind, error, trace)
