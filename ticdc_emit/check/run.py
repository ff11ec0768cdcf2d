"""``check``: does a consumer survive TiCDC, and why not.

In: a consumer, and a changefeed. Out: a :class:`Verdict`, one :class:`Outcome` for each behaviour (``behaviours.py``).
At the first example that the consumer fails, ``say`` gets it at once; then a smaller one is looked for: faults are left
out of its plan, and parts out of its history. The smallest is diagnosed (``diagnosis.py``).
"""

from __future__ import annotations

import math
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, TypeAlias

from ticdc_emit.check.behaviours import Behaviour, chosen
from ticdc_emit.check.consumers import ConsumerFailure
from ticdc_emit.check.diagnosis import Diagnosis, diagnose
from ticdc_emit.check.examples import Example, Setting, feed_of_examples
from ticdc_emit.config.secrets import printable
from ticdc_emit.errors import ConfigError, HistoryError, MissingDependencyError, ReleaseDefectError, TicdcEmitError
from ticdc_emit.hints import counted, names
from ticdc_emit.strategies.deliveries import Delivery
from ticdc_emit.strategies.failures import SHRINK_SECONDS
from ticdc_emit.strategies.smaller import smaller
from ticdc_emit.traffic.expected_tables import shown_tables
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.comparison import Difference, GivenTables, differences
from ticdc_emit.traffic.scenarios.delivery_order import Fault

_MOST_SHOWN = 5

Ask: TypeAlias = Callable[[Example], GivenTables]
"""Runs the consumer on an example and returns its tables, or raises."""


@dataclass(frozen=True)
class Failure:
    """An example that a consumer fails, by its ``error`` or by ``differences`` of its ``tables``; of an outcome, the
    smallest of ``tried`` further ones, with its ``diagnosis``.
    """

    example: Example
    error: str | None = None
    differences: Sequence[Difference] = ()
    tables: GivenTables | None = None
    tried: int = 0
    diagnosis: Diagnosis = Diagnosis()  # noqa: RUF009 - it is frozen

    def wrong(self) -> list[str]:
        """Return what is wrong, the first few differences."""
        if self.error is not None:
            return [printable(self.error)]
        more = len(self.differences) - _MOST_SHOWN
        told = [printable(str(each)) for each in self.differences[:_MOST_SHOWN]]
        if self.tables is not None and not any(self.tables.values()):
            told.append(f"the consumer has no rows at all: is it for {self.example.arrival.config.codec.form}?")
        return [*told, f"and {counted(more, 'more difference')}"] if more > 0 else told

    def lines(self) -> list[str]:
        """Return the example, what is wrong with it, and why."""
        plan = [f"with the fault {fault}" for fault in self.example.plan]
        why = [printable(line) for line in self.diagnosis.lines()]
        return [f"the {'smallest' if self.tried else 'example'} ({self.example.label}):", *plan, *self.wrong(), *why]

    def history(self) -> str:
        """Return the history as SQL, as far as SQL can say it."""
        history = self.example.arrival.history
        try:
            schema = history.schema.strip().rstrip(";")
            text = f"{schema};\n" * bool(schema) + history.to_sql()
        except HistoryError:
            text = repr(history)
        return "\n".join(map(printable, text.split("\n")))

    def to_dict(self) -> dict[str, Any]:
        return {
            "error": self.error,
            "differences": [vars(each) for each in self.differences],
            "diagnosis": self.diagnosis.to_dict(),
            "tried": self.tried,
            "example": self.example.to_dict(),
        }


@dataclass(frozen=True)
class Outcome:
    """``why``: a behaviour does not apply. ``examples``: how many were tried."""

    behaviour: Behaviour
    state: Literal["passed", "failed", "not applicable"]
    why: str = ""
    examples: int = 0
    failure: Failure | None = None

    def to_dict(self) -> dict[str, Any]:
        found = {name: getattr(self.behaviour, name) for name in ("group", "what")}
        found |= {"state": self.state, "why": self.why or None, "examples": self.examples}
        failure = {} if self.failure is None else {"failure": self.failure.to_dict()}
        return {"behaviour": self.behaviour.name, **found, **failure}


@dataclass(frozen=True)
class Verdict:
    """``outcomes``: one for each behaviour that was asked for."""

    setting: Setting
    outcomes: list[Outcome] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.failed

    @property
    def failed(self) -> list[Outcome]:
        """The outcomes that failed."""
        return [each for each in self.outcomes if each.state == "failed"]

    def __str__(self) -> str:
        """Return the failures as text, for an assertion: ``assert verdict, verdict``."""
        told = [self.summary]
        for each in self.failed:
            assert each.failure is not None
            lines = [f"  {line}" for line in each.failure.lines()]
            told += ["", f"{each.behaviour.name}: {each.behaviour.what}", *lines, "", each.failure.history()]
        return "\n".join(told)

    @property
    def summary(self) -> str:
        config, states = self.setting.config, [each.state for each in self.outcomes]
        counts = ", ".join(f"{states.count(state)} {state}" for state in ("passed", "failed", "not applicable"))
        return f"{config.codec.form} of {config.release.name}, seed {self.setting.seed}: {counts}"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict for JSON, with the smallest example of each failure."""
        config = self.setting.config
        return {
            "protocol": config.codec.form,
            "release": config.release.name,
            "seed": self.setting.seed,
            "passed": bool(self),
            "outcomes": [each.to_dict() for each in self.outcomes],
        }

    def to_junit(self) -> str:
        """Return the verdict as JUnit's XML: a test case for each behaviour."""
        suite = ElementTree.Element(
            "testsuite", name="ticdc-emit check", tests=str(len(self.outcomes)), failures=str(len(self.failed))
        )
        for each in self.outcomes:
            case = ElementTree.SubElement(suite, "testcase", classname=each.behaviour.group, name=each.behaviour.name)
            if each.failure is not None:
                text = "\n".join([*each.failure.lines(), each.failure.history()])
                ElementTree.SubElement(case, "failure", message=each.failure.wrong()[0]).text = text
            elif each.state == "not applicable":
                ElementTree.SubElement(case, "skipped", message=each.why)
        not_xml = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
        text = ElementTree.tostring(suite, encoding="unicode").translate(not_xml)
        return text.encode("utf-8", "replace").decode()


def check(
    consumer: Callable[[Delivery], GivenTables],
    *,
    schema: str | None = None,
    protocol: str | None = None,
    sink_uri: str | None = None,
    changefeed: Mapping[str, Any] | None = None,
    release: str | None = None,
    time_zone: str = "UTC",
    seed: int = 0,
    only: str | Collection[str] = (),
    examples: int = 100,
    seconds: float | None = None,
    canonical: bool = False,
    shrink_seconds: float = SHRINK_SECONDS,
) -> Verdict:
    """Check a consumer against everything that it must bear.

    ``consumer``: gets a :class:`~ticdc_emit.strategies.Delivery` (``messages`` as they arrive, ``schemas``,
    ``partitions``, ``config``) and returns its tables: by (schema, table) or ``schema.table``, rows as mappings of
    text, ``None`` for NULL. ``schema``: SQL of the tables; default: random ones. ``protocol``, ``sink_uri``,
    ``changefeed``, ``release``: the changefeed. ``only``: names or groups of behaviours (``ticdc-emit check --list``).
    ``examples``: of random histories. ``seconds``: behaviours that have not begun then are not tried. ``canonical``:
    ENUM, SET and binary values are expected as canonical text (docs/types.md), not as messages show them. The same seed
    makes the same examples. Raises :class:`~ticdc_emit.errors.ConfigError`.
    """
    feed = feed_of_examples(protocol, sink_uri=sink_uri, changefeed=changefeed, release=release)
    setting = Setting(feed, schema, time_zone, seed)
    run = Run(setting, lambda example: consumer(example.arrival), canonical=canonical, shrink_seconds=shrink_seconds)
    return run.all(chosen(names(only, "only")), examples, seconds)


@dataclass
class Run:
    """One run of ``check``. ``ask``: the consumer. ``say_first``: gets what fails first, at once; ``say``: outcomes."""

    setting: Setting
    ask: Ask
    canonical: bool = False
    shrink_seconds: float = SHRINK_SECONDS
    say_first: Callable[[Failure], object] = lambda _: None
    say: Callable[[Outcome], object] = lambda _: None
    _runs: bool = field(default=False, init=False)

    def all(self, behaviours: Sequence[Behaviour], examples: int, seconds: float | None = None) -> Verdict:
        ends = math.inf if seconds is None else time.monotonic() + seconds
        outcomes = []
        for behaviour in behaviours:
            is_over = time.monotonic() >= ends
            why = "not tried: the time is over" if is_over else behaviour.why_not(self.setting)
            outcome = Outcome(behaviour, "not applicable", why) if why else self.of(behaviour, examples, ends)
            outcomes.append(outcome)
            self.say(outcome)
        return Verdict(self.setting, outcomes)

    def of(self, behaviour: Behaviour, count: int, ends: float = math.inf) -> Outcome:
        tried = 0
        try:
            for example in behaviour.examples(self.setting, count):
                tried += 1
                if (failed := self._judged(example)) is not None:
                    self.say_first(failed)
                    return Outcome(behaviour, "failed", "", tried, self._explained(failed, behaviour))
                if time.monotonic() >= ends:
                    break
        except (MissingDependencyError, ReleaseDefectError) as fault:
            return Outcome(behaviour, "not applicable", fault.message)
        if not tried:
            return Outcome(behaviour, "not applicable", "the messages do not carry any of its examples")
        return Outcome(behaviour, "passed", "", tried)

    def _judged(self, example: Example) -> Failure | None:
        """Return what is wrong with the consumer's answer; ``None`` if it is right."""
        must_refuse = example.refusal is not None
        try:
            tables = self._answer(example)
        except ConfigError:  # of the command, not of the consumer
            raise
        except Exception as fault:
            kind = "" if isinstance(fault, ConsumerFailure) else f"{type(fault).__name__}: "
            return None if must_refuse else Failure(example, f"the consumer failed: {kind}{fault}")
        if must_refuse:
            told = f"the consumer took a message that it must refuse ({example.refusal})"
            return Failure(example, told, tables=tables)
        found = differences(example.tables if self.canonical else example.shown, example.keys, tables)
        return Failure(example, None, found, tables) if found else None

    def _answer(self, example: Example) -> GivenTables:
        """Return the consumer's tables. Raises ``ConfigError`` for a program that ends before it gets any message."""
        try:
            tables = self.ask(example)
        except ConsumerFailure as fault:
            if fault.ended and not self._runs:
                self._runs = True
                arrival = replace(example.arrival, messages=[])
                try:
                    self.ask(replace(example, arrival=arrival, tables={}, shown={}, refusal=None))
                except ConsumerFailure as again:
                    if again.ended:
                        message = f"the consumer does not run: of an example without messages, {again}"
                        remedy = "Mend what it prints on stderr; it gets examples as lines of JSON on stdin"
                        raise ConfigError(message, remedy=remedy) from None
            raise
        self._runs = True
        return tables

    def _explained(self, first: Failure, behaviour: Behaviour) -> Failure:
        smallest, tried, setting = first, 0, behaviour.of(self.setting)

        def fails(history: History, plan: tuple[Fault, ...]) -> bool:
            nonlocal smallest, tried
            example = None
            with suppress(TicdcEmitError):  # something else needs what was left out
                example = setting.example(history, plan, behaviour.name, first.example.number)
            if example is None:
                return False
            tried += 1
            failed = self._judged(example)
            smallest = failed or smallest
            return failed is not None

        def without_faults() -> None:
            for fault in smallest.example.plan:
                now = smallest.example
                fails(now.arrival.history, tuple(each for each in now.plan if each is not fault))

        if behaviour.scenario is None:
            without_faults()
            plan = smallest.example.plan
            smaller(smallest.example.arrival.history, lambda each: fails(each, plan), seconds=self.shrink_seconds)
            without_faults()
        larger = (first.example.arrival, first.tables) if tried and first.tables is not None else None
        return replace(smallest, tried=tried, diagnosis=self._diagnosed(smallest, larger))

    def _diagnosed(self, failed: Failure, larger: tuple[Delivery, GivenTables] | None) -> Diagnosis:
        example = failed.example
        ends = time.monotonic() + self.shrink_seconds

        @cache
        def is_wrong(count: int) -> bool | None:
            if time.monotonic() >= ends:  # each answer may be a program's start
                return None
            arrival = replace(example.arrival, messages=example.arrival.messages[:count])
            right = arrival.consumer()
            try:
                right.take_all(arrival.messages)
                waits = right.pending
                right.finish()
            except TicdcEmitError:  # a statement that others need is among the later messages
                return False
            shown = shown_tables(right.tables, right.version, arrival.config.codec.protocol.value)
            if self._judged(replace(example, arrival=arrival, tables=right.tables, shown=shown)) is None:
                return False
            # a consumer that waits for watermarks is right if it is so when they have come
            return not (waits and count < len(example.arrival.messages)) or is_wrong(count + 1)

        if example.refusal is not None:
            return Diagnosis()
        return diagnose(example.arrival, is_wrong, failed.tables, self.canonical, larger)
