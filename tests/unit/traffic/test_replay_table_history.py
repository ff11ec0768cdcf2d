"""The lives of data files, the versions in which they are read, and the identities of columns."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.errors import ConfigError
from ticdc_emit.traffic.replay import table_versions
from ticdc_emit.traffic.replay.feed_reader import versions_between
from ticdc_emit.traffic.replay.table_history import FileLife, chosen_versions, file_lives, reading_numbers
from ticdc_emit.traffic.replay.table_versions import (
    FileChange,
    TableColumn,
    TableVersion,
    tracked_columns,
    versioned_table,
)
from ticdc_emit.tso import compose, tso_of


def test_a_file_lives_from_its_addition_to_its_removal() -> None:
    changes = [
        FileChange(0, "a", "add"),
        FileChange(1, "b", "add"),
        FileChange(1, "a", "remove"),
        FileChange(3, "b", "remove"),
        FileChange(3, "c", "add"),
    ]
    assert file_lives(changes, range(5)) == [
        FileLife("a", 0, 1),
        FileLife("b", 0, 1),  # as if it had been there before; no row of version 0 is in it
        FileLife("b", 1, 3),
        FileLife("c", 0, 3),
        FileLife("c", 3, None),
    ]


def test_a_file_whose_addition_is_no_longer_known() -> None:
    assert file_lives([FileChange(4, "a", "remove")], [2, 4]) == [FileLife("a", 0, 1)]
    assert file_lives([FileChange(-2, "a", "add"), FileChange(-1, "a", "remove")], [0, 1]) == []


def test_a_file_with_a_new_deletion_vector_lives_again() -> None:
    changes = [FileChange(2, "a", "add"), FileChange(2, "a", "remove"), FileChange(1, "a", "add")]
    assert file_lives(changes, range(3))[1:] == [FileLife("a", 1, 2), FileLife("a", 2, None)]


def test_all_files_may_have_other_rows() -> None:
    changes = [FileChange(0, "a", "add"), FileChange(1, "b", "add"), FileChange(2, None, "touch")]
    assert set(file_lives(changes, range(3))) >= {
        FileLife("a", 0, 2),
        FileLife("a", 2, None),
        FileLife("b", 1, 2),
        FileLife("b", 2, None),
    }


def test_versions_that_are_left_out() -> None:
    changes = [FileChange(1, "a", "add"), FileChange(2, "a", "remove"), FileChange(2, "b", "add")]
    lives = file_lives(changes, [0, 5])
    assert [life for life in lives if life.first] == [FileLife("b", 1, None)]


@pytest.mark.parametrize("seed", range(20))
def test_each_file_is_read_in_a_version_in_which_it_lives(seed: int) -> None:
    draw = random.Random(seed)
    count = 12
    lives = []
    for nth in range(30):
        first = draw.randrange(count)
        end = draw.choice([None, *range(first + 1, count)])
        lives.append(FileLife(str(nth), first, end))
    ends = [count] * count
    for number in reversed(range(count - 1)):
        ends[number] = number + 1 if draw.random() < 0.2 else ends[number + 1]
    for life, number in zip(lives, reading_numbers(lives, ends), strict=True):
        assert life.first <= number < min(ends[life.first], count if life.end is None else life.end)


def test_a_table_that_only_grows_is_read_twice() -> None:
    lives = [FileLife(str(nth), nth, None) for nth in range(200)]
    assert set(reading_numbers(lives, [200] * 200)) == {0, 199}


@dataclass
class _Versions:
    """A table with three versions, a day apart."""

    name: str = "lake.t"
    format: str = "delta"
    versions: Sequence[TableVersion] = tuple(TableVersion(nth, compose(nth * 86_400_000 + 1), ()) for nth in range(3))


def chosen_ids(**options: Any) -> list[int | None]:
    return [version.id for version in chosen_versions(_Versions(), **options).versions]  # type: ignore[arg-type]


def test_one_version_is_a_list_of_one_and_may_be_text() -> None:
    assert chosen_ids(versions=1) == chosen_ids(versions="1") == chosen_ids(versions=["1"]) == [1]
    day = dt.datetime(1970, 1, 3, tzinfo=dt.timezone.utc)
    assert chosen_ids(timestamps=day) == chosen_ids(timestamps=str(tso_of(day))) == [1]
    assert [each.id for each in versions_between(_Versions(), "1", day)] == [1]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "given", "cause"),
    [
        ("versions", "2026-01-07", "'2026-01-07' is not a version"),
        ("versions", None, "None is not a version"),
        ("timestamps", "2026-01-07", "'2026-01-07' is not a time"),
    ],
)
def test_what_is_neither_a_version_nor_a_time(option: str, given: Any, cause: str) -> None:
    with pytest.raises(ConfigError, match=cause) as refused:
        chosen_ids(**{option: [given]})
    assert refused.value.option == option
    with pytest.raises(ConfigError, match="no version 2026"):
        versions_between(_Versions(), "2026", None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="'2026-01-07' is not a version") as bound:
        versions_between(_Versions(), None, "2026-01-07")  # type: ignore[arg-type]
    assert bound.value.option == "end"


def test_a_name_without_a_slash_is_of_the_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sk").mkdir()
    (tmp_path / "sk" / "state.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    read: list[tuple[str, str | None]] = []
    monkeypatch.setattr(table_versions, "_format_in_catalog", lambda spark, table: "delta")
    monkeypatch.setattr(table_versions, "read_source", lambda spark, source, format: read.append((source, format)))
    assert [versioned_table(None, name).format for name in ("sk", "lake.`s.k`")] == ["delta"] * 2  # type: ignore[arg-type]
    assert read == [("`sk`", None), ("`lake`.`s.k`", None)], "which no folder is called"
    with pytest.raises(ConfigError, match="a table of the format json keeps no versions"):
        versioned_table(None, "./sk")  # type: ignore[arg-type]


def test_identities_hold_for_all_versions() -> None:
    """Columns by format's own identity and name: a renamed one, one that comes back, one that was made again."""
    from pyspark.sql.types import IntegerType, StructField

    def columns(**names: str) -> list[TableColumn]:
        return [TableColumn(identity, StructField(name, IntegerType())) for identity, name in names.items()]

    versions = [
        columns(x="id", y="a"),
        columns(x="id", y="b"),  # renamed
        columns(x="id"),
        columns(x="id", y="b"),  # came back
        columns(x2="id", y2="b"),  # the table was replaced
        columns(x2="id", z="b"),  # dropped and added, or replaced
    ]

    def tokens(*, by_name: bool) -> list[list[str]]:
        return [[column.identity for column in each] for each in tracked_columns(versions, by_name=by_name)]

    old = [["c0", "c1"], ["c0", "c1"], ["c0"], ["c0", "c1"]]
    assert tokens(by_name=True) == [*old, ["c0", "c1"], ["c0", "c1"]]
    assert tokens(by_name=False) == [*old, ["c2", "c3"], ["c2", "c4"]]
