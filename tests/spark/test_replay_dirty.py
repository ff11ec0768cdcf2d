"""Histories that contradict themselves: what is refused, what is counted, what is warned of, and what is sent then."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from child import exit_code

from ticdc_emit import from_operations, from_validity, messages, replay
from ticdc_emit.delivery.memory import clear
from ticdc_emit.errors import InvalidValueError, TicdcEmitError, TicdcEmitWarning
from ticdc_emit.spark.row_changes import OPERATIONS
from ticdc_emit.traffic.replay.history_forms import HistoryWarning
from ticdc_emit.tso import physical_ms

pytestmark = pytest.mark.spark

TABLE = "create table a.t (id int, sub varchar(2), v varchar(9), primary key (id, sub))"
DAY_ONE = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
HOUR = dt.timedelta(hours=1)


def sent(spark: Any, changes: Any, **options: Any) -> list[tuple[str, str, str, float]]:
    """Replay changes of ``a.t``; return type, key, value and hour of each row."""
    clear("dirty")
    uri = "memory://dirty?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    assert replay(spark, uri, {"a.t": changes}, TABLE, **options).finished
    values = [json.loads(message.value or b"{}") for message in messages("dirty")]
    return [
        (value["type"][0], each["id"] + each["sub"], each["v"], hour_of(value["_tidb"]["commitTs"]))
        for value in values
        for each in value["data"] or ()
    ]


def hour_of(tso: int) -> float:
    return (physical_ms(tso) - DAY_ONE.timestamp() * 1000) / 3_600_000


def versions(spark: Any, rows: list[tuple[Any, ...]], more: str = "") -> Any:
    """``rows``: id, value, the hours from and to, and what ``more`` names."""
    at = [
        (key, "x", v, DAY_ONE + a * HOUR, None if z is None else DAY_ONE + z * HOUR, *rest)
        for key, v, a, z, *rest in rows
    ]
    return spark.createDataFrame(at, f"id int, sub string, v string, f timestamp, t timestamp{more}")


def validity(spark: Any, rows: list[tuple[Any, ...]], more: str = "", **options: Any) -> Any:
    return from_validity(versions(spark, rows, more), ["id", "sub"], "f", "t", **options)


INVERTED = [(1, "a", 0, 2), (1, "b", 9, 2), (1, "c", 2, None), (2, "a", 8, 7), (3, "a", 1, None)]
CLEAN = [("I", "1x", "a", 0), ("I", "3x", "a", 1), ("U", "1x", "c", 2)]


@pytest.mark.parametrize("options", [{}, {"slice": HOUR}], ids=["whole", "sliced"])
def test_a_version_that_ends_before_it_begins_is_a_bad_row(spark: Any, tmp_path: Path, options: Any) -> None:
    changes = validity(spark, INVERTED)
    with pytest.raises(InvalidValueError, match="t is 2026-01-01 07:00:00, before f, 2026-01-01 08:00:00") as refused:
        sent(spark, changes)
    assert refused.value.bad_rows.tables == {"a.t": 2}
    assert [row.key for row in refused.value.bad_rows.first] == [{"id": 2, "sub": "x"}, {"id": 1, "sub": "x"}]
    assert messages("dirty") == []
    assert sent(spark, changes, bad_rows="skip", bad_rows_path=str(tmp_path), **options) == CLEAN
    lines = [json.loads(line) for path in sorted(tmp_path.iterdir()) for line in path.open()]
    assert [(line["op"], line["column"], line["key"]["id"]) for line in lines] == [(None, None, 2), (None, None, 1)]


def test_an_inclusive_end_may_be_the_time_of_its_begin(spark: Any) -> None:
    rows = [(1, "a", 0, 0), (1, "b", 1, None), (2, "a", 5, 4)]
    changes = validity(spark, rows, step=HOUR)
    assert sent(spark, changes, bad_rows="skip") == [("I", "1x", "a", 0), ("U", "1x", "b", 1)]
    with pytest.raises(InvalidValueError, match="04:00:00, before f"):
        sent(spark, changes)


OVERLAPS = [
    ("later", [(1, "a", 7, 11), (1, "b", 9, None)], [("I", "1x", "a", 7), ("U", "1x", "b", 9)]),
    ("open twice", [(1, "a", 7, None), (1, "b", 9, None)], [("I", "1x", "a", 7), ("U", "1x", "b", 9)]),
    ("inside", [(1, "a", 7, 20), (1, "b", 9, 11)], [("I", "1x", "a", 7), ("U", "1x", "b", 9), ("D", "1x", "b", 11)]),
    ("same begin", [(1, "a", 7, None), (1, "a", 7, 9)], [("I", "1x", "a", 7)]),
]


@pytest.mark.parametrize(("rows", "cut"), [each[1:] for each in OVERLAPS], ids=[each[0] for each in OVERLAPS])
def test_versions_that_overlap_are_refused_or_cut(spark: Any, rows: Any, cut: Any) -> None:
    other = [(key, "a", 1, None) for key in range(2, 5)]
    said = r"versions of one key overlap, 1 in all: id=1, sub='x'"
    with pytest.raises(InvalidValueError, match=said) as refused:
        validity(spark, rows + other)
    assert "--overlaps cut" in refused.value.remedy
    with pytest.warns(HistoryWarning, match=said) as warned:
        changes = validity(spark, rows + other, overlaps="cut")
    assert {each.filename for each in warned if each.category is HistoryWarning} == {__file__}
    assert [row for row in sent(spark, changes) if row[1] == "1x"] == cut


def test_equal_rows_are_one_with_a_warning(spark: Any) -> None:
    rows = [(key, "a", 0, 2) for key in range(12)] * 2 + [(1, "b", 2, None)]
    with pytest.warns(HistoryWarning, match=r"come twice, 12 in all: id=0, sub='x'; .*id=9, sub='x'\. Leave"):
        changes = validity(spark, rows)
    assert len(sent(spark, changes)) == 12 + 1 + 11


def test_two_values_at_one_time_are_refused_when_cut(spark: Any) -> None:
    with pytest.warns(HistoryWarning, match="overlap"):
        changes = validity(spark, [(1, "a", 0, None), (1, "b", 0, None)], overlaps="cut")
    with pytest.raises(TicdcEmitError, match="two changes of one key"):
        sent(spark, changes)


def test_a_history_in_which_all_is_current(spark: Any) -> None:
    df = versions(spark, [(1, "a", 0, None), (2, "b", 1, None)]).selectExpr("id", "sub", "v", "f", "null as t")
    assert df.dtypes[-1] == ("t", "void")
    assert sent(spark, from_validity(df, ["id", "sub"], "f", "t")) == [("I", "1x", "a", 0), ("I", "2x", "b", 1)]


MILLI, MICRO, SECOND, DAY = (dt.timedelta(seconds=each) for each in (1e-3, 1e-6, 1, 86400))


@pytest.mark.parametrize(
    ("gaps", "step", "proposed"),
    [
        ([MILLI] * 3 + [5 * HOUR], 0 * HOUR, "--step 1ms"),
        ([MICRO], 0 * HOUR, "--step 0.001ms"),
        ([SECOND] * 2, 0 * HOUR, "step=datetime.timedelta(seconds=1) (--step 1000ms)"),
        ([DAY], 0 * HOUR, "step=datetime.timedelta(days=1)"),
        ([2 * MILLI], MILLI, "--step 2ms"),
        ([MILLI] * 3, MILLI, None),
        ([MICRO], MICRO, None),
        ([5 * HOUR] * 3, 0 * HOUR, None),
        ([0 * HOUR] * 3 + [MILLI], 0 * HOUR, None),
        ([MILLI, SECOND, DAY, 5 * HOUR], 0 * HOUR, None),
    ],
)
def test_a_step_is_proposed_where_most_ends_miss_the_next_begin(
    spark: Any, gaps: list[dt.timedelta], step: dt.timedelta, proposed: str | None
) -> None:
    starts = [DAY_ONE + nth * 10 * DAY for nth in range(len(gaps) + 1)]
    ends = [*(start - gap for start, gap in zip(starts[1:], gaps, strict=True)), None]
    rows = [(1, "x", f"v{nth}", *pair) for nth, pair in enumerate(zip(starts, ends, strict=True))]
    df = spark.createDataFrame(rows, "id int, sub string, v string, f timestamp, t timestamp")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        changes = from_validity(df, ["id", "sub"], "f", "t", step=step)
    warned = [each for each in caught if each.category is HistoryWarning]  # a socket of Spark may be among the others
    assert [proposed in str(each.message) for each in warned] == ([True] if proposed else [])
    if step and not proposed:
        assert [row.op for row in changes.orderBy("commit_ts").collect()] == ["c", *"u" * len(gaps)]


MARKS = [
    ("boolean", (False, True), "gone"),
    ("string", ("False", "True"), "gone"),
    ("string", (None, "y"), "gone"),
    ("int", (0, 1), "gone"),
    ("string", ("A", "D"), "gone=d"),
    ("int", (1, 9), "gone=9"),
    ("string", ("x", None), "gone="),
]


@pytest.mark.parametrize(("kind", "marks", "text"), MARKS)
def test_a_column_marks_deletions(spark: Any, kind: str, marks: tuple[Any, Any], text: str) -> None:
    no, yes = marks
    rows = [
        (1, "a", 0, 3, no),
        (1, "a", 3, 5, yes),
        (1, "b", 5, None, no),  # again
        (2, "a", 0, None, no),  # open, and deleted
        (2, "a", 4, 4, yes),
        (2, "a", 6, None, yes),  # deleted again
        (3, "a", 0, 2, no),
        (3, "a", 3, None, yes),  # after its end
        (4, "a", 1, None, yes),  # never there
    ]
    changes = validity(spark, rows, f", gone {kind}", deleted_when=text)
    assert changes.select("after.*").columns == ["id", "sub", "v"]
    assert sent(spark, changes) == [
        *(("I", f"{key}x", "a", 0) for key in (1, 2, 3)),
        *(("D", "3x", "a", 2), ("D", "1x", "a", 3), ("D", "2x", "a", 4), ("I", "1x", "b", 5)),
    ]


def test_a_mark_that_is_neither_true_nor_false_needs_its_value(spark: Any) -> None:
    with pytest.raises(InvalidValueError, match="'closed' is neither true nor false") as refused:
        validity(spark, [(1, "a", 0, None, "closed")], ", gone string", deleted_when="gone")
    assert "deleted_when='gone=closed' (--deleted-when)" in refused.value.remedy


LOG = "op string, id int, sub string, v string, at timestamp, lsn int"


def log(spark: Any, rows: list[tuple[Any, ...]], **options: Any) -> Any:
    rows = [(op, key, key and "x", v, DAY_ONE + at * HOUR, nth) for nth, (op, key, v, at) in enumerate(rows)]
    return from_operations(spark.createDataFrame(rows, LOG), ["id", "sub"], "op", "at", order_by="lsn", **options)


@pytest.mark.parametrize("nothing", [None, "", " "])
def test_rows_without_an_operation_are_inserts(spark: Any, nothing: str | None) -> None:
    rows = [(nothing, 1, "a", 0), ("U", 1, "b", 1), ("X", 1, "b", 2)]
    with pytest.warns(HistoryWarning, match="rows without an operation in `op`"):
        changes = log(spark, rows, operations={"X": "delete"})
    expected = [("I", "1x", "a", 0), ("U", "1x", "b", 1), ("D", "1x", "b", 2)]
    assert sent(spark, changes) == expected
    with warnings.catch_warnings():
        warnings.simplefilter("error", TicdcEmitWarning)
        assert sent(spark, log(spark, rows, operations={"X": "delete", "": "insert"})) == expected
        assert sent(spark, log(spark, rows[:1], operations={nothing: "delete"})) == [("D", "1x", "a", 0)]


def test_a_truncation_deletes_the_rows_that_there_are(spark: Any) -> None:
    assert OPERATIONS["r"] == "put"
    rows = [
        *(
            ("r", 1, "a", 0),
            ("c", 2, "a", 1),
            ("d", 2, None, 2),
            ("t", None, None, 3),
            ("c", 1, "b", 3),
            ("c", 3, "a", 4),
        ),
        *(("truncate", None, None, 5), ("t", None, None, 6), ("u", 3, "c", 7)),
    ]
    base = spark.createDataFrame([(7, "x", "z")], "id int, sub string, v string")
    found = sent(spark, log(spark, rows, base=base))
    assert found == [
        *(("I", "1x", "a", 0), ("I", "2x", "a", 1), ("D", "2x", "a", 2), ("D", "1x", "a", 3), ("D", "7x", "z", 3)),
        *(("I", "1x", "b", 3), ("I", "3x", "a", 4), ("D", "1x", "b", 5), ("D", "3x", "a", 5), ("I", "3x", "c", 7)),
    ]


@pytest.mark.parametrize(
    ("count", "unit"), [(1_767_600_000, "s"), (1_767_600_000_000, "ms"), (1_767_600_000_000_000, "us")]
)
@pytest.mark.parametrize("kind", ["bigint", "string"])
def test_counts_since_1970_need_their_unit(spark: Any, count: int, unit: Any, kind: str) -> None:
    df = spark.sql(f"select 1 id, 'x' sub, 'a' v, cast({count} as {kind}) f, cast({count} + 1 as {kind}) t")
    with pytest.raises(InvalidValueError, match=r"'\d+' is a count since 1970, not a TSO") as refused:
        from_validity(df, ["id", "sub"], "f", "t")
    assert f"unit='{unit}' (--time-unit {unit})" in refused.value.remedy
    assert sent(spark, from_validity(df, ["id", "sub"], "f", "t", unit=unit))[0][0] == "I"


def test_the_command_names_the_table_whose_versions_overlap(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, start in (("a", 2), ("b", 1)):
        rows = f"id,valid_from,valid_to\n1,2026-01-01,2026-01-02\n1,2026-01-0{start},\n"
        (tmp_path / f"{name}.csv").write_text(rows)
    tables = [word for name in "ab" for word in ("--table", f"a.{name}={tmp_path}/{name}.csv")]
    sink = ["--keys", "id", "--mode", "validity", "--sink-uri", f"jsonl://{tmp_path}/out?protocol=canal-json"]
    assert exit_code("replay", *tables, *sink) == 2
    assert "overlap, 1 in all: id='1' [column='valid_to', table='a.b']. Correct" in capsys.readouterr().err


def test_daily_snapshots_given_to_emit_name_replay(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "daily.csv").write_text("id,v,dt\n1,a,2026-01-01\n1,b,2026-01-02\n")
    source = ["--table", "a.b", "--keys", "id", "--input", f"{tmp_path}/daily.csv"]
    assert exit_code("emit", *source, "--sink-uri", f"jsonl://{tmp_path}/out?protocol=canal-json") == 2
    assert "Replay a series of snapshots: --mode snapshots --time-column" in capsys.readouterr().err
