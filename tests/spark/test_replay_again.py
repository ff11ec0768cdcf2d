"""A replay with ``state_uri`` that is called again: it goes on with its own history, and with no other one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.errors import InvalidValueError, StateError, UnsupportedTypeError
from ticdc_emit.traffic.replay.history_forms import from_operations
from ticdc_emit.traffic.replay.run import replay

pytestmark = pytest.mark.spark

URI = "memory://{}?protocol=canal-json&partition-num=1"
TABLE = "create table a.t (id int primary key, name varchar(10))"


def log(spark: Any, *names: str, day: int = 5) -> Any:
    rows = ", ".join(f"('I', {place}, {name}, {place})" for place, name in enumerate(names))
    return from_operations(
        spark.sql(
            f"select op, id, name, timestamp'2026-01-0{day} 07:00:00' + make_interval(0, 0, 0, 0, hour) as at "
            f"from values {rows} as v(op, id, name, hour)"
        ),
        ["id"],
        "op",
        "at",
    )


@pytest.mark.parametrize("options", [{}, pytest.param({"slice": 3600}, marks=pytest.mark.slow)])
def test_another_history_is_refused(spark: Any, store: str, tmp_path: Path, options: dict[str, Any]) -> None:
    state = str(tmp_path / "state")

    def again(source: Any, schema: str = TABLE, **more: Any) -> Any:
        return replay(spark, URI.format(store), {"a.t": source}, schema, state_uri=state, **options, **more)

    first = again(log(spark, "'x'", "null", "'z'"))
    assert (first.total.rows, first.finished, first.nothing_to_do) == (3, True, False)
    shuffled = log(spark, "'x'", "null", "'z'").repartition(3)
    second = again(shuffled)
    assert (second.total.rows, second.finished, second.nothing_to_do) == (0, True, True)
    assert second.to_dict()["nothing_to_do"] is True
    for other in (
        log(spark, "'x'", "null", "'z'", day=6),
        log(spark, "'x'", "'y'", "'z'"),
        log(spark, "null", "'x'", "'z'"),
        log(spark, "'x'", "null"),
    ):
        with pytest.raises(StateError, match="another history"):
            again(other)
    with pytest.raises(StateError, match="another schema"):
        again(shuffled, "create table a.t (id int primary key, name varchar(11))")
    with pytest.raises(StateError, match="another schema"):
        again(shuffled, ddl=[(1, "create table a.u (id int primary key)")])


def test_the_generic_form_has_a_fingerprint_too(spark: Any, store: str, tmp_path: Path) -> None:

    def changes(name: str) -> Any:
        return spark.sql(
            "select 'a' as schema, 't' as table, 'c' as op, 450000000000000000L as commit_ts, "
            f"map('id', '1', 'name', {name}) as after, cast(null as map<string, string>) as before"
        )

    for name, refused in (("null", False), ("null", False), ("'name'", True)):
        if refused:
            with pytest.raises(StateError, match="another history"):
                replay(spark, URI.format(store), changes(name), TABLE, state_uri=str(tmp_path))
        else:
            assert replay(spark, URI.format(store), changes(name), TABLE, state_uri=str(tmp_path)).finished


def test_a_replay_that_sent_nothing_leaves_no_record(spark: Any, store: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with pytest.raises(InvalidValueError, match="more than 10"):
        replay(spark, URI.format(store), {"a.t": log(spark, "'x'", "'longer than ten'")}, TABLE, state_uri=str(state))
    doubles = "create table a.t (id int primary key, name decimal(6, 2))"
    with pytest.raises(UnsupportedTypeError):
        replay(spark, URI.format(store), {"a.t": log(spark, "date'2026-01-05'")}, doubles, state_uri=str(state))
    assert not list(state.glob("*-*.json")) + list(state.glob("replay.json"))
    corrected = replay(spark, URI.format(store), {"a.t": log(spark, "'x'", "'shorter'")}, TABLE, state_uri=str(state))
    assert (corrected.total.rows, corrected.finished) == (2, True)
