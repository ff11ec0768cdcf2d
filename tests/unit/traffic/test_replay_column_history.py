"""The DDL between two sets of columns, and that of a table which no longer has all versions."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.config import Secret
from ticdc_emit.errors import ConfigError, StateError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.source_schemas.source_table import SourceColumn, SourceTable
from ticdc_emit.traffic.replay.column_history import TableDdl, TrackedTable, alterations, ddl_of_versions
from ticdc_emit.traffic.replay.table_versions import TableColumn, TableVersion
from ticdc_emit.tso import compose


def table_of(**columns: str) -> TrackedTable:
    """A table of columns by their identities: ``c1="name type"``."""
    parts = {identity: text.partition(" ") for identity, text in columns.items()}
    own = [SourceColumn(name, kind, nullable=identity != "c0") for identity, (name, _, kind) in parts.items()]
    table = SourceTable.of("shop", "orders", own, [own[0].name])
    return TrackedTable(table, dict(zip(columns, table.columns, strict=True)))


CHANGES = {
    "added at the end": (table_of(c0="id INT"), table_of(c0="id INT", c1="a INT")),
    "added in the middle": (table_of(c0="id INT", c1="a INT"), table_of(c0="id INT", c2="b JSON", c1="a INT")),
    "dropped": (table_of(c0="id INT", c1="a INT"), table_of(c0="id INT")),
    "dropped and added again": (table_of(c0="id INT", c1="a INT"), table_of(c0="id INT", c2="a LONGTEXT")),
    "widened": (table_of(c0="id INT", c1="a INT"), table_of(c0="id BIGINT", c1="a BIGINT")),
    "renamed with its key": (table_of(c0="id INT", c1="a INT"), table_of(c0="key INT", c1="b INT")),
    "renamed and widened": (table_of(c0="id INT", c1="a FLOAT"), table_of(c0="id INT", c1="b DOUBLE")),
    "exchanged": (table_of(c0="id INT", c1="a INT", c2="b INT"), table_of(c0="id INT", c1="b INT", c2="a INT")),
    "in a chain": (table_of(c0="id INT", c1="a INT", c2="b INT"), table_of(c0="id INT", c1="b INT", c2="c INT")),
    "in a ring": (
        table_of(c0="id INT", c1="a INT", c2="b INT", c3="renamed_0 INT"),
        table_of(c0="id INT", c1="b INT", c2="renamed_0 INT", c3="a INT"),
    ),
    "in another case": (table_of(c0="id INT", c1="a INT"), table_of(c0="id INT", c1="A INT")),
    "a name freed": (table_of(c0="id INT", c1="a INT", c2="b INT"), table_of(c0="id INT", c2="a INT")),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_ddl_makes_the_columns_of_the_next_version(kind: str) -> None:
    before, after = CHANGES[kind]
    catalog = Catalog()
    catalog.ensure_database("shop")
    catalog.apply(before.table.create_table())
    statements = list(alterations(before, after, "`shop`.`orders`"))
    assert statements
    for statement in statements:
        catalog.apply(statement)
    expected = Catalog()
    expected.ensure_database("shop")
    expected.apply(after.table.create_table())

    def columns(of: Catalog) -> list[tuple[object, ...]]:
        return [(each.name, each.type, each.flen, each.nullable) for each in of.table("shop", "orders").row_columns]

    assert columns(catalog) == columns(expected)


def test_columns_that_stay_need_no_ddl() -> None:
    table = table_of(c0="id INT", c1="a INT")
    assert list(alterations(table, table, "t")) == []


@dataclass(frozen=True)
class _Table:
    """A table that keeps some versions, each with its id, its second, and its columns by identity."""

    versions: Sequence[TableVersion]
    name: str = "lake.goods"
    format: str = "delta"

    def before(self, version: int) -> int | None:
        return version - 1 if version else None

    def kept(self, first: int, end: int) -> _Table:
        return replace(self, versions=self.versions[first:end])


def versions_of(*columns: str) -> _Table:
    """Return a table whose versions have these columns: ``c0=id c1=a``."""
    from pyspark.sql.types import LongType, StructField

    def column(text: str) -> TableColumn:
        identity, _, name = text.partition("=")
        return TableColumn(identity, StructField(name, LongType()))

    return _Table(
        [
            TableVersion(nth, compose(1000 * nth + 1000), tuple(map(column, text.split())))
            for nth, text in enumerate(columns)
        ]
    )


def told(table: _Table, state: Path | None, keys: str = "id") -> TableDdl:
    return ddl_of_versions(table, "shop.goods", keys, state_uri=None if state is None else Secret(str(state)))


def random_versions(draw: random.Random) -> list[str]:
    columns, result = {"c0": "id"}, []
    for nth in range(1, 30):
        kind = draw.choice(["add", "drop", "rename", "", "", "", ""])
        if kind == "add":
            columns[f"c{nth}"] = f"n{draw.randrange(5)}_{nth}"
        elif len(columns) > 1 and kind:
            chosen = draw.choice([identity for identity in columns if identity != "c0"])
            if kind == "drop":
                del columns[chosen]
            else:
                columns[chosen] = f"m{nth}"
        result.append(" ".join(f"{identity}={name}" for identity, name in columns.items()))
    return result


@pytest.mark.parametrize("seed", range(20))
def test_versions_that_are_gone_are_known_from_earlier_calls(seed: int, tmp_path: Path) -> None:
    """A call sees the last version of the call before it, or one with the same columns."""
    draw = random.Random(seed)
    columns = random_versions(draw)
    table, end, calls = versions_of(*columns), 0, 0
    while end < len(columns):
        last = max(0, end - 1)
        latest = next((nth for nth in range(last, len(columns)) if columns[nth] != columns[last]), len(columns)) - 1
        end = draw.randrange(end, min(len(columns), end + 8)) + 1
        first = draw.randint(0, min(latest, end - 1)) if calls else 0
        assert told(table.kept(first, end), tmp_path) == told(table.kept(0, end), None)
        calls += 1
    assert calls > 2


ONE, TWO = "c0=id c1=a", "c0=id c1=b"


def test_columns_that_changed_in_versions_that_nobody_saw(tmp_path: Path) -> None:
    table = versions_of(ONE, ONE, TWO, TWO)
    told(table.kept(0, 2), tmp_path)
    with pytest.raises(
        ConfigError, match="changed between version 1 and 2, and it no longer has the versions"
    ) as refused:
        told(table.kept(2, 4), tmp_path)
    assert (refused.value.option, refused.value.table) == ("table", "lake.goods")
    assert len(told(table.kept(1, 4), tmp_path).ddl) == 1


def test_a_table_that_is_another_one_now_is_described_anew(tmp_path: Path) -> None:
    table = versions_of(ONE, TWO, TWO)
    told(table, tmp_path)
    back = table.kept(0, 1)  # rolled back
    assert told(back, tmp_path) == told(back, None)
    told(table, tmp_path)
    assert told(table, tmp_path, keys="b") == told(table, None, keys="b")
    away = versions_of(TWO, TWO)  # made again
    assert told(away, tmp_path) == told(away, None)


def test_what_came_after_the_last_snapshot_is_not_kept(tmp_path: Path) -> None:
    table = versions_of(ONE, ONE, TWO)
    open_end = _Table([*table.versions[:2], table.versions[2]._replace(id=None)])
    assert len(told(open_end, tmp_path).ddl) == 1
    later = versions_of(ONE, ONE, ONE, TWO)
    assert told(later.kept(1, 4), tmp_path).ddl == told(later, None).ddl


def test_each_table_of_a_state_has_its_record(tmp_path: Path) -> None:
    for name in ("shop.a", "shop.b"):
        ddl_of_versions(versions_of(ONE, TWO), name, "id", state_uri=Secret(str(tmp_path / "state")))
    assert list(json.loads((tmp_path / "state" / "columns.json").read_bytes())) == ["shop.a", "shop.b"]


RECORD = {"first_version": 0, "create_table": "x", "ddl": [], "version": 0, "commit_ts": 5, "last_create_table": "x"}


@pytest.mark.parametrize("own", [5, {}, {**RECORD, "ddl": [[1]]}, {**RECORD, "create_table": 5}, {**RECORD, "more": 1}])
def test_a_damaged_record_is_a_state_error(own: Any, tmp_path: Path) -> None:
    damage = json.dumps({"shop.goods": own})
    (tmp_path / "columns.json").write_text(damage)
    with pytest.raises(StateError) as refused:
        told(versions_of(ONE), tmp_path)
    assert refused.value.file == "columns.json"
    assert (tmp_path / "columns.json").read_text() == damage


def test_a_folder_that_cannot_be_used_is_a_state_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match=r"the record columns\.json cannot be used"):
        told(versions_of(ONE), tmp_path / "file" / "state")
