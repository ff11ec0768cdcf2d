"""A failing property test: what is printed at once, the example with which it ends, and which tests are left alone."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ticdc_emit.strategies import changefeeds, deliveries, histories
from ticdc_emit.strategies.failures import FailureWatch, watch_failures
from ticdc_emit.traffic.history import History

SCHEMA = """
create table shop.orders (id bigint primary key, state varchar(10));
create table shop.t (id int primary key);
"""
HISTORIES = histories(SCHEMA, ddl_kinds=())
SOME = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def run(test: Any, **options: Any) -> tuple[BaseException | None, list[str], History | None]:
    """Return the error of a test, what was printed, and the history that is kept."""
    said: list[str] = []
    watch = FailureWatch(said.append, **options)
    usual = test.hypothesis.inner_test
    try:
        watch.over(test)()
    except BaseException as error:
        return error, said, watch.smallest and watch.smallest.history
    finally:
        assert test.hypothesis.inner_test is usual
    return None, said, watch.smallest and watch.smallest.history


@SOME
@given(HISTORIES)
def of_one_argument(history: History) -> None:
    assert len(history.rows) < 3


@SOME
@given(HISTORIES, st.integers(), HISTORIES)
def of_several_arguments(first: History, number: int, second: History) -> None:
    assert len(first.rows) + len(second.rows) < 3


FAILED: list[History] = []


@SOME
@given(HISTORIES)
def by_other_means(history: History) -> None:
    assume(len(history.rows) != 1)
    if len(history.rows) > 2:
        FAILED.append(history)
        pytest.fail("more than two")
    if FAILED and history.rows:
        raise ValueError("another failure")


@SOME
@given(deliveries(HISTORIES, changefeeds(protocols=["canal-json", "avro"])))
def of_deliveries(delivery: Any) -> None:
    assert max(Counter(each[:2] + each[3:] for each in delivery.messages).values(), default=0) < 2


@pytest.mark.parametrize(
    ("test", "rows"),
    [(of_one_argument, 3), (of_several_arguments, 3), (of_deliveries, 1)],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_the_first_failure_is_printed_at_once_and_a_small_one_is_raised(test: Any, rows: int) -> None:
    error, said, kept = run(test)
    assert isinstance(error, AssertionError)
    assert error.__context__ is None, "not the failure of a larger one"
    first, small = said
    assert re.match(rf"\nExample \d+ fails after [\d.]+ s, AssertionError.*\n{test.__name__}\(\n", first)
    assert first.endswith("Looking for a smaller one, for at most 20 s.")
    assert small.startswith("\nA smaller one after ")
    assert kept is not None
    shown = repr(kept)
    assert shown in small
    assert any(shown in note for note in error.__notes__)
    assert len(kept.rows) <= rows
    assert all(set(each["after"] or each["before"]) == {"id"} for each in kept.rows), "of one column"


def test_only_the_same_failure_counts() -> None:
    error, _, kept = run(by_other_means)
    assert type(error).__name__ == "Failed"
    assert len(kept.rows) == 3


@SOME
@given(st.data())
def drawn_inside(data: Any) -> None:
    assert len(data.draw(HISTORIES).rows) < 3


@SOME
@given(st.tuples(HISTORIES, st.booleans()))
def drawn_in_a_tuple(both: Any) -> None:
    assert len(both[0].rows) < 3


@pytest.mark.parametrize("test", [drawn_inside, drawn_in_a_tuple])
def test_where_other_histories_cannot_be_given_time_ends_it(test: Any) -> None:
    error, said, kept = run(test, shrink_seconds=0)
    assert isinstance(error, AssertionError)
    assert len(said) == 1
    assert "drawn=History.from_sql(" in said[0]
    assert kept is not None
    assert any(repr(kept) in note for note in error.__notes__)


def test_without_histories_and_without_failures_nothing_is_said() -> None:
    @SOME
    @given(st.integers())
    def fails(number: int) -> None:
        assert number < 10

    @settings(max_examples=3, deadline=None)
    @given(HISTORIES)
    def passes(history: History) -> None:
        assert history.tables()

    assert isinstance(run(fails)[0], AssertionError)
    assert run(fails)[1:] == ([], None)
    assert run(passes) == (None, [], None)


def test_a_given_history_is_the_only_one(tmp_path: Path) -> None:
    seen: list[History] = []

    @settings(max_examples=3, deadline=None)
    @given(HISTORIES)
    def test(history: History) -> None:
        seen.append(history)

    (tmp_path / "it.json").write_text(History(SCHEMA).to_json())
    assert run(test, example=tmp_path / "it.json")[0] is None
    assert set(map(id, seen)) == {id(seen[0])}
    assert seen[0].schema == SCHEMA


def test_the_decorator_prints_and_the_profile_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError):
        watch_failures(shrink_seconds=5)(of_one_argument)()
    assert "Looking for a smaller one, for at most 5 s." in capsys.readouterr().out
    assert settings.get_profile("ticdc").deadline is None
