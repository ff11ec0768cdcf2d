"""``ticdc-emit fuzz``: random histories for a consumer in any language, and the check of its tables.

Out: with ``--json`` one object on each line, as soon as it is drawn (``strategies/fuzzing.py``): the history, the
changefeed, the messages in the order of arrival with key and value in base64, and the expected tables. In, with
``--check``: a line of the consumer for each example, in order, ``{"example": 1, "tables": {"schema.table": [row, …]}}``
with text or null as values, or ``{"example": 1, "error": "…"}``. The same arguments draw the same examples again, so
what draws and what checks may be two processes at the ends of a pipe.

With ``--check-command`` this process starts the consumer itself, gives it the lines and reads the answers. Then it can
ask for more: from the first example that the consumer fails, smaller and smaller histories follow, and the smallest one
that it also fails is printed.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from ticdc_emit.cli.console import print_json, result_console
from ticdc_emit.cli.consumer_process import ConsumerFailure, ConsumerProcess
from ticdc_emit.cli.schema_sql import in_tidb_sql
from ticdc_emit.config.document import read_document
from ticdc_emit.errors import ConfigError, JsonError, shown
from ticdc_emit.hints import counted
from ticdc_emit.java import user_cache
from ticdc_emit.json_objects import Members, json_line
from ticdc_emit.traffic.sample_schemas import schema_text
from ticdc_emit.traffic.scenarios.comparison import Difference

if TYPE_CHECKING:
    from ticdc_emit.cli.consumer_commands import Fuzz

_MOST_SHOWN = 5
_ANSWER = '{"example": 1, "tables": {"schema.table": [{"column": "text", ...}, ...]}}'


def run(options: Fuzz) -> int:
    """Print the examples, or what a consumer's tables have else; return the exit code."""
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
    form = {"canonical": options.canonical, "as_json": options.as_json}
    drawn = ExampleOptions(
        feed_of_examples(options.protocol, sink_uri=options.sink_uri, changefeed=document, release=options.release),
        None if schema is None else in_tidb_sql(schema_text(schema), options.schema_dialect, schema),
        options.time_zone,
        ddl=not options.no_ddl,
        restarts=options.restarts,
    )
    with ExitStack() as stack:
        if options.check_command is not None:
            process = ConsumerProcess(options.check_command, timeout_s=options.answer_timeout, option="check-command")
            search = _Search(stack.enter_context(process), seed, **form)
            found = failing_example(drawn, seed=seed, count=count, passes=search, shrink_s=options.shrink)
            return search.finish(count, found)
        if options.check is None:
            examples(drawn, seed=seed, count=count, take=_Printer(seed, **form))
            return 0
        checker = _Checker(_answers(_opened(stack, options.check)), **form)
        examples(drawn, seed=seed, count=count, take=checker)
        return checker.finish(count)


def _line(example: Any, seed: int, *, canonical: bool) -> str:
    """Return an example as a line for a consumer."""
    config = example.delivery.config
    facts = {"seed": seed, "protocol": config.codec.protocol.value, "release": config.release.name}
    return json_line({**facts, **example.to_dict(canonical=canonical)}, what="the example")


class _Printer:
    """Prints each example."""

    def __init__(self, seed: int, *, canonical: bool, as_json: bool) -> None:
        self._seed, self._canonical, self._as_json = seed, canonical, as_json
        self._console = result_console()

    def __call__(self, example: Any) -> None:
        if self._as_json:
            print(_line(example, self._seed, canonical=self._canonical), flush=True)
        else:
            self._console.print(Text(example.label))


@dataclass(frozen=True)
class _Failed:
    """An example that a consumer fails: with an ``error``, or with other tables."""

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


def _failed(example: Any, answer: Members, option: str, *, canonical: bool) -> _Failed | None:
    """Compare an answer with an example; raises :class:`ConfigError` for the answer to another one."""
    if (number := answer.whole("example")) != example.number:
        raise ConfigError(
            f"example {number} is where example {example.number} should be",
            remedy="Write one line for each example, in order",
            option=option,
        )
    if "error" in answer.names() and (error := answer.text("error")) is not None:
        return _Failed(example, error, [])
    found = example.check(answer.mapping("tables"), canonical=canonical)
    return _Failed(example, None, found) if found else None


def _print_at_once(console: Console, failed: _Failed, *, as_json: bool) -> None:
    if as_json:
        print_json(failed.to_dict(), flush=True)
    else:
        _print_failed(console, failed.example.label, failed)


def _print_failed(console: Console, label: str, failed: _Failed) -> None:
    console.print(Text(label, "bold red"))
    for text in failed.texts[:_MOST_SHOWN]:
        console.print(Text(f"  {text}"))
    if len(failed.texts) > _MOST_SHOWN:
        console.print(Text(f"  and {counted(len(failed.texts) - _MOST_SHOWN, 'more difference')}"))


class _Checker:
    """Compares the answers of a consumer, one for each example."""

    def __init__(self, answers: Iterator[Members], *, canonical: bool, as_json: bool) -> None:
        self._answers = answers
        self._canonical, self._as_json = canonical, as_json
        self._failed: list[_Failed] = []
        self._console = result_console()

    def __call__(self, example: Any) -> None:
        answer = next(self._answers, None)
        if answer is None:
            raise ConfigError(
                f"the consumer's tables end before example {example.number}",
                remedy="Write a line for each example; --seed, --examples and the changefeed must be those it got",
                option="check",
            )
        failed = _failed(example, answer, "check", canonical=self._canonical)
        if failed is None:
            return
        self._failed.append(failed)
        _print_at_once(self._console, failed, as_json=self._as_json)

    def finish(self, count: int) -> int:
        """Print the verdict and return the exit code."""
        smallest = min(self._failed, key=lambda failed: failed.example.size, default=None)
        if self._as_json:
            different = [failed.example.number for failed in self._failed]
            number = None if smallest is None else smallest.example.number
            print_json({"examples": count, "different": different, "smallest": number})
        elif smallest is None:
            self._console.print(Text(f"the tables of {counted(count, 'example')} match", "bold green"))
        else:
            verdict = f"{len(self._failed)} of {counted(count, 'example')} differ; the smallest is"
            _print_failed(self._console, f"{verdict} {smallest.example.label}", smallest)
            self._console.print(Text(repr(smallest.example.delivery.history)))
        return 0 if smallest is None else 1


class _Search:
    """Asks a consumer for its tables of each example, and keeps which ones it fails."""

    def __init__(self, process: ConsumerProcess, seed: int, *, canonical: bool, as_json: bool) -> None:
        self._process, self._seed = process, seed
        self._canonical, self._as_json = canonical, as_json
        self._failed: dict[int, _Failed] = {}
        self._asked = 0
        self._console = result_console()

    def __call__(self, example: Any) -> bool:
        """Return whether the consumer has the expected tables; what it fails first is printed at once."""
        self._asked += 1
        line = _line(example, self._seed, canonical=self._canonical)
        try:
            answer = _parsed(self._process.answer(line), f"the answer to example {example.number}", "check-command")
            failed = _failed(example, answer, "check-command", canonical=self._canonical)
        except ConsumerFailure as failure:
            failed = _Failed(example, str(failure), [])
        if failed is None:
            return True
        if not self._failed:
            _print_at_once(self._console, failed, as_json=self._as_json)
        self._failed[example.number] = failed
        return False

    def finish(self, count: int, found: tuple[Any, Any] | None) -> int:
        """Print the verdict and return the exit code; ``found``: the first example that fails, and the smallest."""
        if found is None:
            if self._as_json:
                print_json({"examples": count, "different": [], "smallest": None, "counterexample": None})
            else:
                self._console.print(Text(f"the tables of {counted(count, 'example')} match", "bold green"))
            return 0
        first, smallest = (self._failed[example.number] for example in found)
        if self._as_json:
            counterexample = json.loads(_line(smallest.example, self._seed, canonical=self._canonical))
            verdict = {"examples": first.example.number, "different": [first.example.number]}
            print_json(
                {**verdict, "smallest": smallest.example.number, "counterexample": counterexample | smallest.to_dict()}
            )
        else:
            tries = self._asked - first.example.number
            label = smallest.example.label.partition(": ")[2]
            _print_failed(self._console, f"the smallest of {counted(tries, 'further example')}: {label}", smallest)
            self._console.print(Text(repr(smallest.example.delivery.history)))
        return 1


def _opened(stack: ExitStack, path: str) -> IO[bytes]:
    if path == "-":
        return sys.stdin.buffer
    try:
        return stack.enter_context(Path(path).open("rb"))
    except OSError as fault:
        raise ConfigError(
            f"the tables cannot be read: {fault}", remedy="Check the path of --check", option="check"
        ) from None


def _answers(lines: IO[bytes]) -> Iterator[Members]:
    for number, line in enumerate(iter(lines.readline, b""), 1):
        if line.strip():
            yield _parsed(line, f"line {number}", "check")


def _parsed(line: bytes, place: str, option: str) -> Members:
    try:
        return Members(json.loads(line), "an answer")
    except (ValueError, RecursionError) as fault:
        cause = fault.message if isinstance(fault, JsonError) else str(fault)
        raise ConfigError(
            f"{place} is not a consumer's tables: {cause}: {shown(line[:60].decode('utf-8', 'replace'))}",
            remedy=f"Write {_ANSWER}",
            option=option,
        ) from None
