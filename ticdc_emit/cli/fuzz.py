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
from collections.abc import Callable, Iterator
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
from ticdc_emit.testing.java import user_cache
from ticdc_emit.traffic.json_objects import Members, json_line
from ticdc_emit.traffic.sample_schemas import schema_text
from ticdc_emit.traffic.scenarios.comparison import Difference

if TYPE_CHECKING:
    from ticdc_emit.cli.app import Fuzz

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
            verdict = _Verdict(options, _asked(stack.enter_context(process), options))
            found = failing_example(drawn, seed=seed, count=count, passes=verdict.passes, shrink_s=options.shrink)
            return verdict.of_search(found)
        if options.check is None:
            examples(drawn, seed=seed, count=count, take=lambda example: _print_example(example, options))
            return 0
        verdict = _Verdict(options, _read(_answers(_opened(stack, options.check))))
        examples(drawn, seed=seed, count=count, take=verdict.passes)
        return verdict.of_all()


def _line(example: Any, options: Fuzz) -> str:
    """Return an example as a line for a consumer."""
    config = example.delivery.config
    facts = {"seed": options.seed, "protocol": config.codec.protocol.value, "release": config.release.name}
    return json_line({**facts, **example.to_dict(canonical=options.canonical)}, what="the example")


def _print_example(example: Any, options: Fuzz) -> None:
    if options.as_json:
        print(_line(example, options), flush=True)
    else:
        result_console().print(Text(example.label))


def _asked(process: ConsumerProcess, options: Fuzz) -> Callable[[Any], Members]:
    """Return what asks a consumer for its tables of an example."""
    return lambda example: _parsed(
        process.answer(_line(example, options)), f"the answer to example {example.number}", "check-command"
    )


def _read(answers: Iterator[Members]) -> Callable[[Any], Members]:
    """Return what reads the answer to an example."""

    def next_of(example: Any) -> Members:
        answer = next(answers, None)
        if answer is None:
            raise ConfigError(
                f"the consumer's tables end before example {example.number}",
                remedy="Write a line for each example; --seed, --examples and the changefeed must be those it got",
                option="check",
            )
        return answer

    return next_of


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


def _print_failed(console: Console, label: str, failed: _Failed) -> None:
    console.print(Text(label, "bold red"))
    for text in failed.texts[:_MOST_SHOWN]:
        console.print(Text(f"  {text}"))
    if len(failed.texts) > _MOST_SHOWN:
        console.print(Text(f"  and {counted(len(failed.texts) - _MOST_SHOWN, 'more difference')}"))


class _Verdict:
    """Compares a consumer's tables with the expected ones. ``answer``: its answer to an example."""

    def __init__(self, options: Fuzz, answer: Callable[[Any], Members]) -> None:
        self._options, self._answer = options, answer
        self._failed: dict[int, _Failed] = {}
        self._asked = 0
        self._console = result_console()

    def passes(self, example: Any) -> bool:
        """Return whether the tables are the expected ones; what fails is printed at once, of a search the first."""
        self._asked += 1
        option = "check" if self._options.check is not None else "check-command"
        try:
            failed = _failed(example, self._answer(example), option, canonical=self._options.canonical)
        except ConsumerFailure as failure:
            failed = _Failed(example, str(failure), [])
        if failed is None:
            return True
        if option == "check" or not self._failed:
            if self._options.as_json:
                print_json(failed.to_dict(), flush=True)
            else:
                _print_failed(self._console, example.label, failed)
        self._failed[example.number] = failed
        return False

    def of_all(self) -> int:
        """Print the verdict on all examples and return the exit code."""
        smallest = min(self._failed.values(), key=lambda failed: failed.example.size, default=None)
        number = None if smallest is None else smallest.example.number
        verdict = {"examples": self._options.examples, "different": list(self._failed), "smallest": number}
        title = f"{len(self._failed)} of {counted(self._options.examples, 'example')} differ; the smallest is"
        return self._end(smallest, verdict, "" if smallest is None else f"{title} {smallest.example.label}")

    def of_search(self, found: tuple[Any, Any] | None) -> int:
        """Print the verdict on a search and return the exit code; ``found``: the first example that fails, and the
        smallest.
        """
        if found is None:
            nothing: dict[str, Any] = {"different": [], "smallest": None, "counterexample": None}
            return self._end(None, {"examples": self._options.examples, **nothing}, "")
        first, smallest = (self._failed[example.number] for example in found)
        number, tries = first.example.number, self._asked - first.example.number
        verdict = {"examples": number, "different": [number], "smallest": smallest.example.number}
        verdict["counterexample"] = json.loads(_line(smallest.example, self._options)) | smallest.to_dict()
        label = smallest.example.label.partition(": ")[2]
        return self._end(smallest, verdict, f"the smallest of {counted(tries, 'further example')}: {label}")

    def _end(self, smallest: _Failed | None, verdict: dict[str, Any], title: str) -> int:
        if self._options.as_json:
            print_json(verdict)
        elif smallest is None:
            self._console.print(Text(f"the tables of {counted(self._options.examples, 'example')} match", "bold green"))
        else:
            _print_failed(self._console, title, smallest)
            self._console.print(Text(repr(smallest.example.delivery.history)))
        return 0 if smallest is None else 1


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
