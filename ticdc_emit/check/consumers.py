"""Consumers in any language: as a child process that answers examples, or as a program that reads a broker.

In: an example. Out: the tables that the consumer ends with; :class:`ConsumerFailure` if it does not answer. A child
process gets each example as a line of JSON on stdin and answers with ``{"example": 1, "tables": {"schema.table": [row,
...]}}``, values as text or null, or ``{"example": 1, "error": "..."}``. With a broker, the messages are on topics of
their own, and the program is run once for each example.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any
from uuid import uuid4

import pyarrow as pa

from ticdc_emit.check.examples import Example
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.base import MESSAGE_SCHEMA
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import ConfigError, JsonError, shown
from ticdc_emit.traffic.json_objects import Members
from ticdc_emit.traffic.scenarios.comparison import GivenTables

__all__ = ["ConsumerFailure", "ConsumerOfKafka", "ConsumerProcess"]

_ANSWER = '{"example": 1, "tables": {"schema.table": [{"column": "text", ...}, ...]}}'
_END_S = 5.0  # which a consumer has to end after the end of its input


class ConsumerFailure(Exception):  # noqa: N818 - of the consumer, which is what is looked for
    """A consumer that did not answer, or says that it failed; the text says why."""


class ConsumerProcess:
    """A consumer as a child process, not in a shell, started anew if it ended. ``timeout_s``: for each answer."""

    def __init__(self, command: str, timeout_s: float, *, canonical: bool = False) -> None:
        self._timeout_s, self._canonical = timeout_s, canonical
        self._words = _words(command, "command")
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, example: Example) -> GivenTables:
        """Return the tables of its answer. Raises :class:`ConsumerFailure`, ``ConfigError`` for no answer."""
        return _tables(self._answer(example.to_json(canonical=self._canonical)), example.number, "command")

    def _answer(self, line: str) -> bytes:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(self._timeout_s, end)
        timer.daemon = True
        timer.start()
        try:
            with suppress(OSError):  # it has closed its input, perhaps after an answer
                process.stdin.write(line.encode() + b"\n")
                process.stdin.flush()
            answer = process.stdout.readline()
        finally:
            timer.cancel()
        if answer.endswith(b"\n") and not is_late.is_set():
            return answer
        code = self.close()
        if is_late.is_set():
            raise ConsumerFailure(f"it did not answer within {self._timeout_s:g} s")
        raise ConsumerFailure(f"it ended with exit code {code} before it answered")

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            except OSError as fault:
                raise _wrong_command(f"{self._words[0]} cannot be started: {fault.strerror}", "command") from None
        return self._process

    def close(self) -> int | None:
        """End the consumer and return its exit code; ``None`` if none runs."""
        process, self._process = self._process, None
        if process is None:
            return None
        try:
            process.communicate(timeout=_END_S)  # closes its input
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return process.returncode

    def __enter__(self) -> ConsumerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._process is not None:
            self._process.kill()
        self.close()


class ConsumerOfKafka:
    """A consumer that reads a broker. For each example, its messages are put on new topics (``partition-num`` of the
    changefeed each), and ``command`` is run; it gets the example without messages on stdin, the broker's address in
    ``TICDC_EMIT_BOOTSTRAP`` and the topics, with commas between them, in ``TICDC_EMIT_TOPICS``, and prints the answer.
    """

    def __init__(self, bootstrap: str, command: str, timeout_s: float, *, canonical: bool = False) -> None:
        self._bootstrap, self._timeout_s, self._canonical = bootstrap, timeout_s, canonical
        self._words = _words(command, "tables-command")

    def __call__(self, example: Example) -> GivenTables:
        """Return the tables that the command prints. Raises as :class:`ConsumerProcess`."""
        prefix = f"check-{uuid4().hex[:8]}-"
        partitions = {prefix + topic: count for topic, count in example.arrival.partitions.items()}
        sink = sink_for(load_changefeed(f"kafka://{self._bootstrap}/check?protocol=open-protocol"))
        sink.prepare(partitions)
        rows = [{**each._asdict(), "topic": prefix + each.topic} for each in example.arrival.messages]
        with sink.open(sink.message_limit(partitions)) as writer:
            writer.write(pa.RecordBatch.from_pylist(rows, MESSAGE_SCHEMA))
            writer.flush()
        told = {"TICDC_EMIT_BOOTSTRAP": self._bootstrap, "TICDC_EMIT_TOPICS": ",".join(partitions)}
        line = example.to_json(canonical=self._canonical, messages=False)
        try:
            done = subprocess.run(
                self._words,
                input=line.encode() + b"\n",
                stdout=subprocess.PIPE,
                timeout=self._timeout_s,
                env={**os.environ, **told},
                check=False,
            )
        except OSError as fault:
            raise _wrong_command(f"{self._words[0]} cannot be started: {fault.strerror}", "tables-command") from None
        except subprocess.TimeoutExpired:
            raise ConsumerFailure(f"it did not answer within {self._timeout_s:g} s") from None
        if done.returncode:
            raise ConsumerFailure(f"it ended with exit code {done.returncode}")
        return _tables(done.stdout, example.number, "tables-command")


def _tables(line: bytes, number: int, option: str) -> GivenTables:
    try:
        answer = Members(json.loads(line), "an answer")
        given = answer.whole("example")
        error = answer.text("error") if "error" in answer.names() else None
        tables: dict[str, Any] = answer.mapping("tables") if error is None else {}
    except (ValueError, RecursionError) as fault:
        cause = fault.message if isinstance(fault, JsonError) else str(fault)
        raise ConfigError(
            f"the answer to example {number} is not a consumer's tables: {cause}: "
            f"{shown(line[:60].decode('utf-8', 'replace'))}",
            remedy=f"Write {_ANSWER}",
            option=option,
        ) from None
    if given != number:
        raise ConfigError(
            f"example {given} is where example {number} should be",
            remedy="Write one line for each example, in order",
            option=option,
        )
    if error is not None:
        raise ConsumerFailure(error)
    return tables


def _words(command: str, option: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as fault:
        raise _wrong_command(f"the command cannot be read: {fault}", option) from None
    if not words:
        raise _wrong_command("the command is empty", option)
    return words


def _wrong_command(message: str, option: str) -> ConfigError:
    return ConfigError(
        message, remedy="Give a program and its arguments, such as 'java -jar consumer.jar'", option=option
    )
