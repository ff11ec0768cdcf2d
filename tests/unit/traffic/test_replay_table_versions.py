"""Versions of Delta and Iceberg tables: how they are chosen, and the identities of columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.errors import ConfigError
from ticdc_emit.traffic.replay import table_versions
from ticdc_emit.traffic.replay.table_versions import (
    TableColumn,
    TableVersion,
    tracked_columns,
    versioned_table,
    versions_between,
)
from ticdc_emit.tso import compose


@dataclass
class _Versions:
    """A table with three versions, a day apart."""

    name: str = "lake.t"
    format: str = "delta"
    versions: Sequence[TableVersion] = tuple(TableVersion(nth, compose(nth * 86_400_000 + 1), ()) for nth in range(3))


def chosen_ids(start: Any = None, end: Any = None) -> list[int | None]:
    return [each.id for each in versions_between(_Versions(), start, end)]  # type: ignore[arg-type]


def test_versions_between_numbers_and_times() -> None:
    day = dt.datetime(1970, 1, 3, tzinfo=dt.timezone.utc)
    assert chosen_ids() == [0, 1, 2]
    assert chosen_ids(1, 1) == chosen_ids("1", day) == [1]
    assert chosen_ids(day) == [2]


@pytest.mark.parametrize(
    ("option", "given", "cause"),
    [
        ("start", "2026", "no version 2026"),
        ("end", "2026-01-07", "'2026-01-07' is not a version"),
        ("start", dt.datetime(2030, 1, 1, tzinfo=dt.timezone.utc), "no version 2030-01-01"),
    ],
)
def test_what_is_no_version(option: str, given: Any, cause: str) -> None:
    with pytest.raises(ConfigError, match=cause) as refused:
        chosen_ids(**{option: given})
    assert refused.value.option == option


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
