"""``ticdc-emit fuzz``: random histories for a consumer in any language, and the check of its tables.

With ``--json`` each example is a line (``strategies/fuzzing.py``). With ``--check-command`` the consumer is a child
process, which answers each line with ``{"example": 1, "tables": {"schema.table": [row, …]}}``, values as text or null,
or ``{"example": 1, "error": "…"}``. From the first example that it fails, smaller histories follow.
"""

from __future__ import annotations

import importlib
import json
import shlex
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from ticdc_emit.cli.console import print_json, result_console
from ticdc_emit.cli.schema_files import sample_or_file
from ticdc_emit.config.document import read_document
from ticdc_emit.errors import ConfigError, JsonError, shown
from ticdc_emit.hints import counted
from ticdc_emit.testing.java import user_cache
from ticdc_emit.traffic.json_objects import Members, json_line
from ticdc_emit.traffic.scenarios.comparison import Difference

if TYPE_CHECKING:
    from ticdc_emit.cli.app import Fuzz

_MOST_SHOWN = 5
_ANSWER = '{"example": 1, "tables": {"schema.table": [{"column": "text", ...}, ...]}}'
_OPTION = "check-command"


def run(options: Fuzz) -> int:
    from ticdc_emit.strategies.fuzzing import (  # names a missing extra
        ExampleOptions,
        examples,
        failing_example,
        feed_of_examples,
    )

    configuration = importlib.import_module("hypothesis.configuration")
    configuration.set_hypothesis_home_dir(
        user_cache() / "hypothesis"
    )  # else it would make a folder where the command runs
    document = None if options.config is None else read_document(options.config).to_dict()
    schema, seed, count = options.schema, options.seed, options.examples
    drawn = ExampleOptions(
        feed_of_examples(options.protocol, sink_uri=options.sink_uri, changefeed=document, release=options.release),
        None if schema is None else sample_or_file(schema, options.schema_dialect),
        options.time_zone,
        ddl=not options.no_ddl,
        restarts=options.restarts,
    )
    if options.check_command is None:

        def show(example: Any) -> None:
            if options.as_json:
                print(_line(example, options), flush=True)
            else:
                result_console().print(Text(example.label))

        examples(drawn, seed=seed, count=count, take=show)
        return 0
    with ConsumerProcess(options.check_command, options.answer_timeout) as consumer:
        verdict = _Verdict(options, consumer)
        found = failing_example(drawn, seed=seed, count=count, passes=verdict.passes, shrink_s=options.shrink)
        return verdict.of(found)


def _line(example: Any, options: Fuzz) -> str:
    config = example.delivery.config
    facts = {"seed": options.seed, "protocol": config.codec.protocol.value, "release": config.release.name}
    return json_line({**facts, **example.to_dict(canonical=options.canonical)}, what="the example")


@dataclass(frozen=True)
class _Failed:
    example: Any
    error: str | None
    differences: list[Difference]

    @property
    def texts(self) -> list[str]:
        if self.error is not None:
            return [f"the consumer failed: {self.error}"]
        return [str(each) for each in self.differences]

    def to_dict(self) -> dict[str, Any]:
        differences = [vars(each) for each in self.differences]
        return {"example": self.example.number, "differences": differences, "error": self.error}


def _failed(example: Any, line: bytes, *, canonical: bool) -> _Failed | None:
    """Compare the answer to an example with it."""
    try:
        answer = Members(json.loads(line), "an answer")
    except (ValueError, RecursionError) as fault:
        cause = fault.message if isinstance(fault, JsonError) else str(fault)
        raise ConfigError(
            f"the answer to example {example.number} is not a consumer's tables: {cause}: "
            f"{shown(line[:60].decode('utf-8', 'replace'))}",
            remedy=f"Write {_ANSWER}",
            option=_OPTION,
        ) from None
    if (number := answer.whole("example")) != example.number:
        raise ConfigError(
            f"example {number} is where example {example.number} should be",
            remedy="Write one line for each example, in order",
            option=_OPTION,
        )
    if "error" in answer.names() and (error := answer.text("error")) is not None:
        return _Failed(example, error, [])
    found = example.check(answer.mapping("tables"), canonical=canonical)
    return _Failed(example, None, found) if found else None


def _print_failed(console: Console, label: str, failed: _Failed) -> None:
    console.print(Text(label, "bold red"))
    for text in failed.texts[:_MOST_SHOWN]:
        console.print(Text(f"  {text}"))
    if len(failed.texts) > _MOST_SHOWN:
        console.print(Text(f"  and {counted(len(failed.texts) - _MOST_SHOWN, 'more difference')}"))


class _Verdict:
    def __init__(self, options: Fuzz, consumer: ConsumerProcess) -> None:
        self._options, self._consumer = options, consumer
        self._failed: dict[int, _Failed] = {}
        self._asked = 0
        self._console = result_console()

    def passes(self, example: Any) -> bool:
        """Return whether the consumer has the expected tables; the first example that fails is printed at once."""
        self._asked += 1
        try:
            answer = self._consumer.answer(_line(example, self._options))
            failed = _failed(example, answer, canonical=self._options.canonical)
        except ConsumerFailure as failure:
            failed = _Failed(example, str(failure), [])
        if failed is None:
            return True
        if not self._failed and self._options.as_json:
            print_json(failed.to_dict(), flush=True)
        elif not self._failed:
            _print_failed(self._console, example.label, failed)
        self._failed[example.number] = failed
        return False

    def of(self, found: tuple[Any, Any] | None) -> int:
        """Print the verdict and return the exit code; ``found``: the first example that fails, and the smallest."""
        if found is None:
            count = self._options.examples
            if self._options.as_json:
                print_json({"examples": count, "different": [], "smallest": None, "counterexample": None})
            else:
                self._console.print(Text(f"the tables of {counted(count, 'example')} match", "bold green"))
            return 0
        first, smallest = (self._failed[example.number] for example in found)
        number, tries = first.example.number, self._asked - first.example.number
        if self._options.as_json:
            counterexample = json.loads(_line(smallest.example, self._options)) | smallest.to_dict()
            verdict = {"examples": number, "different": [number], "smallest": smallest.example.number}
            print_json(verdict | {"counterexample": counterexample})
        else:
            label = smallest.example.label.partition(": ")[2]
            _print_failed(self._console, f"the smallest of {counted(tries, 'further example')}: {label}", smallest)
            self._console.print(Text(repr(smallest.example.delivery.history)))
        return 1


_END_S = 5.0  # which a consumer has to end after the end of its input


class ConsumerFailure(Exception):  # noqa: N818 - of the consumer, which is what is looked for
    """A consumer that did not answer; the text says why."""


class ConsumerProcess:
    """A consumer as a child process, not in a shell, started anew if it ended. ``timeout_s``: for each answer."""

    def __init__(self, command: str, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        try:
            self._words = shlex.split(command)
        except ValueError as fault:
            raise _wrong_command(f"the command cannot be read: {fault}") from None
        if not self._words:
            raise _wrong_command("the command is empty")
        self._process: subprocess.Popen[bytes] | None = None

    def answer(self, line: str) -> bytes:
        """Return the answer to a line. Raises :class:`ConsumerFailure`; ``ConfigError`` if the command cannot start."""
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
                raise _wrong_command(f"the command {self._words[0]} cannot be started: {fault.strerror}") from None
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


def _wrong_command(message: str) -> ConfigError:
    remedy = "Give a program and its arguments, such as 'java -jar consumer.jar'"
    return ConfigError(message, remedy=remedy, option=_OPTION)
