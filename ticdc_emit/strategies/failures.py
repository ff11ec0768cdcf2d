"""A failing property test that says so at once, and soon ends with a small example.

In: a test under Hypothesis's ``@given`` whose arguments are histories or have them. Out: the first failure as soon as
it is found, and a small one within :data:`SHRINK_SECONDS`, with which the test ends.

Hypothesis reports a failure after it has looked for smaller ones in silence, for up to five minutes; no setting changes
that. But it calls the function under test through an attribute that may be replaced (``test.hypothesis.inner_test``).
The replacement prints the first failure, calls the function with smaller histories (``smaller.py``), and ends the test.
Where that is not possible, as for a history that was drawn inside of the test, Hypothesis goes on until the time is
over. A test without histories is left as it is.
"""

from __future__ import annotations

import functools
import inspect
import random
import time
import traceback
import unittest
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from ticdc_emit.hints import counted
from ticdc_emit.strategies.smaller import smaller
from ticdc_emit.traffic.history import History

SHRINK_SECONDS = 20.0
"""How long smaller examples are looked for, in seconds."""

settings.register_profile(
    "ticdc",
    deadline=None,
    phases=[phase for phase in Phase if phase is not Phase.explain],  # it would list lines of this package
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)

_Test = TypeVar("_Test", bound=Callable[..., Any])
_DRAW_LATER = (st.DataObject, random.Random, FunctionType)  # arguments with which a test cannot be called twice

_watch: ContextVar[FailureWatch | None] = ContextVar("_watch", default=None)


def observed(draw: Callable[[], History]) -> History:
    """Return the history of an example: what ``draw`` does, unless a watch has one."""
    return draw() if (watch := _watch.get()) is None else watch.observe(draw)


class _Stop(BaseException):
    """Ends a test: Hypothesis keeps the example at hand for the next run, and lets this through."""


@dataclass(frozen=True)
class Failure:
    example: Mapping[str, Any]
    history: History
    fault: BaseException

    @property
    def size(self) -> tuple[int, int]:
        return len(self.history.rows) + len(self.history.ddl), len(self.history.to_json())

    @property
    def origin(self) -> tuple[Any, ...]:
        """Where the failure comes from: one from elsewhere is not a smaller example of it."""
        place = traceback.extract_tb(self.fault.__traceback__)[-1]
        return type(self.fault), place.filename, place.lineno

    def shown(self, test: Callable[..., Any]) -> str:
        fault = "".join(traceback.format_exception_only(self.fault)).partition("\n")[0]
        arguments = "".join(f"    {name}={each!r},\n" for name, each in self.example.items())
        return f"{fault}\n{test.__name__}(\n{arguments})\n"


class FailureWatch:
    """Watches runs of a test. ``say``: prints a text at once. ``example``: the file of a history (JSON), which all
    strategies of histories draw then.

    ``smallest``: of the last run; ``None`` if it passed, or has no histories.
    """

    def __init__(
        self, say: Callable[[str], object], *, shrink_seconds: float = SHRINK_SECONDS, example: Path | None = None
    ) -> None:
        self._say = say
        self._shrink_seconds = shrink_seconds
        self._example = None if example is None else History.from_json(example.read_text("utf-8"))
        self._begin()

    def _begin(self) -> None:
        self._begun = self._ends = time.monotonic()
        self._tried, self._is_over = 0, False
        self._drawn: History | None = None
        self.smallest: Failure | None = None

    def over(self, test: _Test) -> _Test:
        """Return the test with this watch. ``test``: a function or method with ``@given``."""
        handle: Any = getattr(test, "hypothesis")  # noqa: B009 - Hypothesis adds it

        @functools.wraps(test)
        def watched(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            self._begin()
            inner, token = handle.inner_test, _watch.set(self)
            try:
                handle.inner_test = inner if inspect.iscoroutinefunction(inner) else self._watched(inner)
                return test(*arguments, **named)
            except (_Stop, HypothesisException):  # Hypothesis takes a stop inside of a strategy for a flaky one
                found = self.smallest
                if found is None or not self._is_over:
                    raise
            finally:
                handle.inner_test = inner
                _watch.reset(token)
            found.fault.add_note(found.shown(inner))
            raise found.fault

        return watched  # type: ignore[return-value]

    def observe(self, draw: Callable[[], History]) -> History:
        if self.smallest is not None and time.monotonic() > self._ends:
            self._stop()
        self._drawn = self._example or draw()
        return self._drawn

    def _stop(self) -> NoReturn:
        self._is_over = True
        raise _Stop

    def _watched(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(inner)
        def watched(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            self._tried += 1
            try:
                return inner(*arguments, **named)
            except BaseException as fault:
                if not _is_failure(fault):
                    raise
                found = fault
            self._take(functools.partial(inner, *arguments), named, found)  # further failures have not this as context
            raise found

        return watched

    def _take(self, test: functools.partial[Any], example: dict[str, Any], fault: BaseException) -> None:
        places = {name: history for name, each in example.items() if (history := _history_of(each)) is not None}
        history = next(iter(places.values()), self._drawn)
        if history is None:
            return
        failure = Failure(example if places else {**example, "drawn": history}, history, fault)
        is_first = self.smallest is None
        self.smallest = min(failure, self.smallest or failure, key=lambda each: each.size)
        if not is_first:
            return
        self._ends = time.monotonic() + self._shrink_seconds
        found = f"Example {self._tried} fails after {time.monotonic() - self._begun:.1f} s, {failure.shown(test.func)}"
        self._say(f"\n{found}Looking for a smaller one, for at most {self._shrink_seconds:g} s.")
        if places and not any(isinstance(each, _DRAW_LATER) for each in example.values()):
            self._reduce(test, failure, places)

    def _reduce(self, test: functools.partial[Any], first: Failure, places: Mapping[str, History]) -> None:
        """Call the test with smaller histories, and end it; return if it does not fail with the same one again."""
        begun, tries, smallest = time.monotonic(), 0, first

        def fails(history: History, name: str) -> bool:
            nonlocal tries, smallest
            tries += 1
            held, example = smallest.example[name], dict(smallest.example)
            try:
                example[name] = history if isinstance(held, History) else held.with_history(history)
                test(**example)
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as fault:
                failure = Failure(example, history, fault)
                if not _is_failure(fault) or failure.origin != first.origin:
                    return False
                smallest = failure
                return True
            return False

        for name, history in places.items():
            if not fails(history, name):
                return
            smaller(history, functools.partial(fails, name=name), seconds=self._ends - time.monotonic())
        self.smallest = smallest
        took = f"{time.monotonic() - begun:.1f} s and {counted(tries, 'try', 'tries')}"
        self._say(f"\nA smaller one after {took}, {smallest.shown(test.func)}")
        self._stop()


def _is_failure(fault: BaseException) -> bool:
    if isinstance(fault, Exception):
        return not isinstance(fault, HypothesisException | unittest.SkipTest)  # such as that of assume()
    return type(fault).__name__ == "Failed"  # of pytest.fail()


def _history_of(value: Any) -> History | None:
    """Return the history of an argument that others can replace: itself, or that of a delivery."""
    held = getattr(value, "history", None) if hasattr(value, "with_history") else value
    return held if isinstance(held, History) else None


def watch_failures(*, shrink_seconds: float = SHRINK_SECONDS) -> Callable[[_Test], _Test]:
    """Return a decorator that does outside of pytest what the plugin does there; it stands above ``@given``."""
    return FailureWatch(functools.partial(print, flush=True), shrink_seconds=shrink_seconds).over
