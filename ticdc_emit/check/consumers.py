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
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

from ticdc_emit.check.examples import Example
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import ConfigError, JsonError, shown
from ticdc_emit.traffic.json_objects import Members
from ticdc_emit.traffic.scenarios.comparison import GivenTables
from ticdc_emit.traffic.scenarios.model import send

_ANSWER = '{"example": 1, "tables": {"schema.table": [{"column": "text", ...}, ...]}}'
_END_S = 5.0  # which a consumer has to end after the end of its input


class ConsumerFailure(Exception):  # noqa: N818 - of the consumer, which is what is looked for
    """A consumer that did not answer, or says that it failed; the text says why. ``ended``: its program ended."""

    def __init__(self, told: str, *, ended: bool = False) -> None:
        super().__init__(told)
        self.ended = ended


class ConsumerProcess:
    """A consumer as a child process, not in a shell, started anew if it ended; the caller closes it. ``timeout_s``: for
    each answer.
    """

    def __init__(self, command: str, timeout_s: float, *, canonical: bool = False) -> None:
        self._timeout_s, self._canonical = timeout_s, canonical
        self._words = _words(command, "command")
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, example: Example) -> GivenTables:
        """Return the tables of its answer. Raises :class:`ConsumerFailure`, ``ConfigError`` for no answer."""
        process = self._process = self._process or _started(self._words, "command")
        answer, is_late = _answer(process, example.to_json(canonical=self._canonical), self._timeout_s)
        if is_late or not answer.endswith(b"\n"):
            raise _failure(self.close(), self._timeout_s if is_late else None)
        return _tables(answer, example.number, "command")

    def close(self) -> int | None:
        """End the consumer and return its exit code; ``None`` if none runs."""
        process, self._process = self._process, None
        return None if process is None else _ended(process)


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
        send(sink, partitions, [each._replace(topic=prefix + each.topic) for each in example.arrival.messages])
        told = {"TICDC_EMIT_BOOTSTRAP": self._bootstrap, "TICDC_EMIT_TOPICS": ",".join(partitions)}
        line = example.to_json(canonical=self._canonical, messages=False)
        process = _started(self._words, "tables-command", told)
        answer, is_late = _answer(process, line, self._timeout_s, is_last=True)
        if (code := _ended(process)) or is_late:
            raise _failure(code, self._timeout_s if is_late else None)
        return _tables(answer, example.number, "tables-command")


def _started(words: list[str], option: str, told: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    try:
        environment = {**os.environ, **(told or {})}
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    except OSError as fault:
        raise _wrong_command(f"{words[0]} cannot be started: {fault.strerror}", option) from None


def _answer(process: subprocess.Popen[bytes], line: str, timeout_s: float, is_last: bool = False) -> tuple[bytes, bool]:
    """Return a line of a program's output, all of it for the last one, and whether it came too late."""
    assert process.stdin is not None
    assert process.stdout is not None
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        process.kill()

    timer = threading.Timer(timeout_s, end)
    timer.daemon = True
    timer.start()
    try:
        with suppress(OSError):  # it has closed its input, perhaps after an answer
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        if is_last:
            with suppress(OSError):
                process.stdin.close()
            process.stdin = None
            return process.stdout.read(), is_late.is_set()
        return process.stdout.readline(), is_late.is_set()
    finally:
        timer.cancel()


def _ended(process: subprocess.Popen[bytes]) -> int:
    try:
        process.communicate(timeout=_END_S)  # closes its input
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode


def _failure(code: int | None, late_s: float | None) -> ConsumerFailure:
    if late_s is not None:
        return ConsumerFailure(f"it did not answer within {late_s:g} s")
    return ConsumerFailure(f"it ended with exit code {code} before it answered", ended=True)


def _tables(line: bytes, number: int, option: str) -> GivenTables:
    try:
        answer = Members(json.loads(line), "an answer")
        given = answer.get("example", int)
        error = answer.get("error", str) if "error" in answer.names() else None
        tables: dict[str, Any] = answer.get("tables", dict) if error is None else {}
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
    message = "the command is empty"
    try:
        if words := shlex.split(command):
            return words
    except ValueError as fault:
        message = f"the command cannot be read: {fault}"
    raise _wrong_command(message, option)


def _wrong_command(message: str, option: str) -> ConfigError:
    return ConfigError(message, remedy="Give a program with arguments, like 'java -jar consumer.jar'", option=option)
