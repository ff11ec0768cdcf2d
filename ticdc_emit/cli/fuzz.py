"""``ticdc-emit fuzz``: random histories for a consumer in any language, and the check of its tables.

Out: with ``--json`` one object on each line, as soon as it is drawn (``strategies/fuzzing.py``): the history, the
changefeed, the messages in the order of arrival with key and value in base64, and the expected tables. In, with
``--check``: a line of the consumer for each example, in order, ``{"example": 1, "tables": {"schema.table": [row, …]}}``
with text or null as values, or ``{"example": 1, "error": "…"}``. The same arguments draw the same examples again, so
what draws and what checks may be two processes at the ends of a pipe.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from rich.text import Text

from ticdc_emit.cli.console import print_json, result_console
from ticdc_emit.cli.schema_sql import in_tidb_sql
from ticdc_emit.config.document import read_document
from ticdc_emit.errors import ConfigError, JsonError, shown
from ticdc_emit.hints import counted
from ticdc_emit.java import user_cache
from ticdc_emit.json_objects import Members, json_line
from ticdc_emit.traffic.sample_schemas import schema_text
from ticdc_emit.traffic.scenarios.comparison import Difference

_MOST_SHOWN = 5
_ANSWER = '{"example": 1, "tables": {"schema.table": [{"column": "text", ...}, ...]}}'


def run(
    *,
    seed: int,
    examples_: int,
    schema: str | None,
    schema_dialect: str | None,
    no_ddl: bool,
    restarts: int,
    protocol: str | None,
    sink_uri: str | None,
    config: Path | None,
    time_zone: str,
    release: str | None,
    canonical: bool,
    check: str | None,
    as_json: bool,
) -> int:
    """Print the examples, or what a consumer's tables have else; return the exit code."""
    from ticdc_emit.strategies.fuzzing import ExampleOptions, examples, feed_of_examples  # names a missing extra

    configuration = importlib.import_module("hypothesis.configuration")
    configuration.set_hypothesis_home_dir(
        user_cache() / "hypothesis"
    )  # else it would make a folder where the command runs
    document = None if config is None else read_document(config).to_dict()
    options = ExampleOptions(
        feed_of_examples(protocol, sink_uri=sink_uri, changefeed=document, release=release),
        None if schema is None else in_tidb_sql(schema_text(schema), schema_dialect),
        time_zone,
        ddl=not no_ddl,
        restarts=restarts,
    )
    with ExitStack() as stack:
        if check is None:
            take = _Printer(seed, canonical=canonical, as_json=as_json)
            examples(options, seed=seed, count=examples_, take=take)
            return 0
        checker = _Checker(_answers(_opened(stack, check)), canonical=canonical, as_json=as_json)
        examples(options, seed=seed, count=examples_, take=checker)
        return checker.finish(examples_)


class _Printer:
    """Prints each example."""

    def __init__(self, seed: int, *, canonical: bool, as_json: bool) -> None:
        self._seed, self._canonical, self._as_json = seed, canonical, as_json
        self._console = result_console()

    def __call__(self, example: Any) -> None:
        if not self._as_json:
            self._console.print(Text(example.label))
            return
        config = example.delivery.config
        facts = {"seed": self._seed, "protocol": config.codec.protocol.value, "release": config.release.name}
        print(json_line({**facts, **example.to_dict(canonical=self._canonical)}, what="the example"), flush=True)


class _Checker:
    """Compares the answers of a consumer, one for each example."""

    def __init__(self, answers: Iterator[Members], *, canonical: bool, as_json: bool) -> None:
        self._answers = answers
        self._canonical, self._as_json = canonical, as_json
        self._different: list[int] = []
        self._smallest: tuple[Any, list[str]] | None = None
        self._console = result_console()

    def __call__(self, example: Any) -> None:
        answer = next(self._answers, None)
        if answer is None:
            raise ConfigError(
                f"the consumer's tables end before example {example.number}",
                remedy="Write a line for each example; --seed, --examples and the changefeed must be those it got",
                option="check",
            )
        if (number := answer.whole("example")) != example.number:
            raise ConfigError(
                f"example {number} is where example {example.number} should be",
                remedy="Write one line for each example, in order",
                option="check",
            )
        error = answer.text("error") if "error" in answer.names() else None
        diffs: list[Difference] = []
        if error is None:
            diffs = example.check(answer.mapping("tables"), canonical=self._canonical)
        if error is not None or diffs:
            self._report(example, error, diffs)

    def _report(self, example: Any, error: str | None, diffs: list[Difference]) -> None:
        self._different.append(example.number)
        texts = [str(each) for each in diffs] if error is None else [f"the consumer failed: {error}"]
        if self._smallest is None or example.size < self._smallest[0].size:
            self._smallest = example, texts
        if self._as_json:
            differences = [vars(each) for each in diffs]
            print_json({"example": example.number, "differences": differences, "error": error}, flush=True)
            return
        self._console.print(Text(example.label, "bold red"))
        self._print(texts)

    def _print(self, texts: list[str]) -> None:
        for text in texts[:_MOST_SHOWN]:
            self._console.print(Text(f"  {text}"))
        if len(texts) > _MOST_SHOWN:
            self._console.print(Text(f"  and {counted(len(texts) - _MOST_SHOWN, 'more difference')}"))

    def finish(self, count: int) -> int:
        """Print the verdict and return the exit code."""
        smallest = None if self._smallest is None else self._smallest[0]
        if self._as_json:
            number = None if smallest is None else smallest.number
            print_json({"examples": count, "different": self._different, "smallest": number})
        elif self._smallest is None:
            self._console.print(Text(f"the tables of {counted(count, 'example')} match", "bold green"))
        else:
            verdict = f"{len(self._different)} of {counted(count, 'example')} differ; the smallest is"
            self._console.print(Text(f"{verdict} {self._smallest[0].label}", "bold red"))
            self._print(self._smallest[1])
            self._console.print(Text(repr(self._smallest[0].delivery.history)))
        return 1 if self._different else 0


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
        if not line.strip():
            continue
        try:
            yield Members(json.loads(line), "an answer")
        except (ValueError, RecursionError) as fault:
            cause = fault.message if isinstance(fault, JsonError) else str(fault)
            raise ConfigError(
                f"line {number} is not a consumer's tables: {cause}: {shown(line[:60].decode('utf-8', 'replace'))}",
                remedy=f"Write {_ANSWER}",
                option="check",
            ) from None
