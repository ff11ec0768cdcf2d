"""Messages as files: one per topic-partition, one JSON line per message, the same bytes for the same messages.

A line of ``{directory}/{topic}/{partition:05d}.jsonl`` is ``{"key":…,"value":…}`` with text where the bytes are UTF-8,
``{"base64":…}`` where they are not and ``null`` where they are null.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from ticdc_emit.config.kafka import DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_PARTITION_NUM
from ticdc_emit.delivery.base import (
    Message,
    PartitionBatch,
    TaskWriter,
    effective_partitions,
    unknown_partition,
    unknown_topic,
)
from ticdc_emit.delivery.temporary import close_quietly, writing_temporary_files
from ticdc_emit.errors import ConfigError, DeliveryError

try:
    import fcntl
except ImportError:  # Windows: one writer per partition is then the caller's promise alone
    fcntl = None  # type: ignore[assignment]

_TOPIC = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}\Z")
_PARTITION = re.compile(r"[0-9]{5,}\.jsonl\Z")
_REMEDY = "Name a file, or a folder of files, that a jsonl:// sink has written"
_SPOOL_BYTES = 8 * 1024 * 1024
"""Bytes of one partition that a task keeps in memory before they go to a temporary file."""


@dataclass(frozen=True)
class FileSink:
    """A :class:`~ticdc_emit.delivery.base.Sink` into ``directory``, which every worker must reach at that path.

    A topic is a folder with one file per partition, by default ``new_partitions``; a flush appends.
    """

    directory: str
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    auto_create_topic: bool = True
    new_partitions: int = DEFAULT_PARTITION_NUM

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        return {topic: self._prepare(topic, asked) for topic, asked in topics.items()}

    def message_limit(self, topics: Iterable[str]) -> int:
        return self.max_message_bytes

    def open(self, message_limit: int | None = None) -> FileWriter:
        return FileWriter(self)

    def path(self, topic: str, partition: int) -> Path:
        """Return the file of a topic-partition."""
        return Path(self.directory, topic, f"{partition:05d}.jsonl")

    def _prepare(self, topic: str, asked: int | None) -> int:
        if not _TOPIC.match(topic):
            raise ConfigError(
                f"{topic!r} is not a legal name of a Kafka topic",
                remedy="Use letters, digits, dots, underscores and hyphens, at most 249",
                option="topic",
            )
        folder = Path(self.directory, topic)
        try:
            if not folder.is_dir():
                if not self.auto_create_topic:
                    raise unknown_topic(topic)
                folder.mkdir(parents=True)
            existing = len(_partition_files(folder))
            for partition in range(0 if existing else asked or self.new_partitions):
                self.path(topic, partition).touch()
        except OSError as error:
            raise DeliveryError(
                f"cannot make the topic {topic} in {self.directory}: {error}",
                remedy="Choose a folder that every worker can write to",
                topic=topic,
            ) from error
        return effective_partitions(topic, asked, len(_partition_files(folder)))


class FileWriter(TaskWriter):
    """Spools lines per partition, and appends them under a lock on flush."""

    def __init__(self, sink: FileSink) -> None:
        super().__init__(sink.max_message_bytes)
        self._sink = sink
        self._spools: dict[tuple[str, int], IO[bytes]] = {}

    def check_target(self, topic: str, partition: int) -> None:
        if not _TOPIC.match(topic) or not Path(self._sink.directory, topic).is_dir():
            raise unknown_topic(topic, creates=self._sink.auto_create_topic)
        if not self._sink.path(topic, partition).is_file():
            raise unknown_partition(topic, partition)

    def enqueue(self, batch: PartitionBatch) -> None:
        target = (batch.topic, batch.partition)
        lines = [
            orjson.dumps(
                {"key": printable_bytes(key), "value": printable_bytes(value)}, option=orjson.OPT_APPEND_NEWLINE
            )
            for key, value in zip(batch.keys, batch.values, strict=True)
        ]
        with writing_temporary_files():
            if target not in self._spools:
                self._spools[target] = tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES)  # noqa: SIM115
            self._spools[target].write(b"".join(lines))

    def settle(self) -> None:
        for topic, partition in sorted(self._spools):
            spool = self._spools[topic, partition]
            with writing_temporary_files():
                spool.flush()
            try:
                _append(self._sink.path(topic, partition), spool)
            except OSError as error:
                raise DeliveryError(
                    f"cannot append to topic {topic}: {error}",
                    remedy="Check the free space and the rights of the folder",
                    topic=topic,
                    partition=partition,
                ) from error
            close_quietly(self._spools.pop((topic, partition)))

    def release(self, failed: bool) -> None:
        for spool in self._spools.values():
            close_quietly(spool)
        self._spools.clear()


def read_files(path: str | Path) -> Iterator[Message]:
    """Yield the messages in a sink's directory (by topic and partition), a topic's folder, or one partition's file.

    A last line without its end was never acknowledged and is not read. Raises :class:`~ticdc_emit.errors.DeliveryError`
    for a line or a file name that does not come from a sink.
    """
    return FileReader(path).read()


class FileReader:
    """Reads the messages of :func:`read_files`, and those that are added later."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._done: dict[Path, tuple[int, int]] = {}
        """Bytes and lines that were read of each file."""

    def partitions(self) -> dict[str, int]:
        """Return how many partitions each topic has, also those without a message."""
        counts: dict[str, int] = {}
        for file in self._files():
            counts[file.parent.name] = max(counts.get(file.parent.name, 0), int(file.stem) + 1)
        return counts

    def read(self) -> Iterator[Message]:
        """Return the messages that were not read before."""
        for file in self._files():
            position, offset = self._done.get(file, (0, 0))
            with file.open("rb") as lines:
                lines.seek(position)
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    yield _message(file, offset, line)
                    position, offset = position + len(line), offset + 1
                    self._done[file] = position, offset

    def _files(self) -> list[Path]:
        files = [self._path]
        if not self._path.is_file():
            files = _partition_files(self._path) or sorted(self._path.glob("*/*.jsonl"))
        for file in files:
            if not _PARTITION.match(file.name):
                raise DeliveryError("the file is not named like a partition's", remedy=_REMEDY, file=str(file))
        return files


def _message(file: Path, offset: int, line: bytes) -> Message:
    try:
        record = orjson.loads(line)
        key, value = _original(record["key"]), _original(record["value"])
        return Message(file.parent.name, int(file.stem), offset, key, value)
    except (ValueError, LookupError, TypeError, AttributeError) as fault:
        raise DeliveryError(f"line {offset + 1} is not a message: {fault}", remedy=_REMEDY, file=str(file)) from None


def _partition_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


def printable_bytes(data: bytes | None) -> object:
    """Return bytes as JSON has them: text where they are UTF-8, else their base64 in an object; ``None`` as null."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _original(printed: Any) -> bytes | None:
    if printed is None:
        return None
    return printed.encode() if isinstance(printed, str) else base64.b64decode(printed["base64"])


def _append(path: Path, spool: IO[bytes]) -> None:
    spool.seek(0)
    with path.open("r+b") as file, _locked(file):
        end = _end_of_last_line(file)
        file.truncate(end)
        file.seek(end)
        try:
            shutil.copyfileobj(spool, file, 1024 * 1024)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            file.truncate(end)
            raise


@contextmanager
def _locked(file: IO[bytes]) -> Iterator[None]:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
    yield


def _end_of_last_line(file: IO[bytes]) -> int:
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - 64 * 1024)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
