"""The DDL between two sets of columns, and that of a table which no longer has all versions."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.errors import ConfigError, StateError
from ticdc_emit.pipeline.state import BatchState
from ticdc_emit.pipeline.state_store import FsspecStateStore
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.frames.source_table import SourceColumn, SourceTable
from ticdc_emit.spark.change_feed import rising
from ticdc_emit.traffic.replay import column_history
from ticdc_emit.traffic.replay.column_history import TableDdl, alterations, continued_ddl, table_ddl
from ticdc_emit.traffic.replay.record import ColumnRecord
from ticdc_emit.traffic.replay.table_versions import TableColumn, TableVersion
from ticdc_emit.tso import compose


def table_of(**columns: str) -> tuple[SourceTable, dict[str, SourceColumn]]:
    """A table, and its columns by their identities: ``c1="name type"``."""
    parts = {identity: text.partition(" ") for identity, text in columns.items()}
    own = [SourceColumn(name, kind, nullable=identity != "c0") for identity, (name, _, kind) in parts.items()]
    table = SourceTable.of("shop", "orders", own, [own[0].name])
    return table, dict(zip(columns, table.columns, strict=True))


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
    (before, old), (after, new) = CHANGES[kind]
    catalog = Catalog()
    catalog.ensure_database("shop")
    catalog.apply(before.create_table())
    statements = list(alterations(old, new, "`shop`.`orders`"))
    assert statements
    for statement in statements:
        catalog.apply(statement)
    expected = Catalog()
    expected.ensure_database("shop")
    expected.apply(after.create_table())

    def columns(of: Catalog) -> list[tuple[object, ...]]:
        return [(each.name, each.type, each.flen, each.nullable) for each in of.table("shop", "orders").row_columns]

    assert columns(catalog) == columns(expected)


def test_columns_that_stay_need_no_ddl() -> None:
    _, columns = table_of(c0="id INT", c1="a INT")
    assert list(alterations(columns, columns, "t")) == []


@dataclass(frozen=True)
class _Table:
    """A table that keeps some versions, each with its id, its second, and its columns by identity."""

    versions: Sequence[TableVersion]
    name: str = "lake.goods"
    format: str = "delta"

    def before(self, version: int) -> int | None:
        return version - 1 if version else None

    def kept(self, first: int, end: int) -> _Table:
        kept = self.versions[first:end]
        times = rising(each.commit_ts for each in kept)  # as a table tells them that does not know the others
        return replace(self, versions=[each._replace(commit_ts=at) for each, at in zip(kept, times, strict=True)])


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


def told(table: _Table, state: Path | None, keys: str = "id", **options: Any) -> TableDdl:
    """Return what ``table_ddl`` returns for the table; then the changefeed of the state begins a batch."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(column_history, "versioned_table", lambda spark, name, format: table)
        found = table_ddl(None, table.name, "shop.goods", keys, state_uri=state, **options)  # type: ignore[arg-type]
    if state is not None:
        store = FsspecStateStore(str(state))
        store.save(BatchState(0))
        store.release()
    return found


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


ONE, TWO, THREE = "c0=id c1=a", "c0=id c1=b", "c0=id c1=c"
NO_FIT = "knows the table up to version .*does not fit"


def test_columns_that_changed_in_versions_that_nobody_saw(tmp_path: Path) -> None:
    table = versions_of(ONE, ONE, TWO, TWO)
    told(table.kept(0, 2), tmp_path)
    with pytest.raises(ConfigError, match=NO_FIT) as refused:
        told(table.kept(2, 4), tmp_path)
    assert (refused.value.option, refused.value.table) == ("table", "lake.goods")
    assert len(told(table.kept(1, 4), tmp_path).ddl) == 1


def test_nothing_is_known_before_a_batch_was_begun(tmp_path: Path) -> None:
    table = versions_of(ONE, TWO, THREE)
    told(table, tmp_path, keys="c")
    (tmp_path / "batch-0.json").unlink()
    assert told(table.kept(1, 3), tmp_path) == told(table.kept(1, 3), None)


def test_a_complete_table_that_is_another_one_now_is_described_anew(tmp_path: Path) -> None:
    table = versions_of(ONE, TWO, TWO)
    told(table, tmp_path)
    back = table.kept(0, 1)  # rolled back
    assert told(back, tmp_path) == told(back, None)
    told(table, tmp_path)
    assert told(table, tmp_path, keys="b") == told(table, None, keys="b")


def test_what_does_not_fit_leaves_the_record_as_it_is(tmp_path: Path) -> None:
    table = versions_of(ONE, TWO, THREE, THREE)
    told(table, tmp_path)
    for wrong, options in (
        (table.kept(2, 4), {"keys": "c"}),
        (table.kept(1, 3), {}),  # rolled back, and the first one expired
        (table, {"start": 1, "end": 2}),
        (versions_of(*[ONE] * 9).kept(8, 9), {}),  # another table
    ):
        with pytest.raises(ConfigError, match=NO_FIT):
            told(wrong, tmp_path, **options)  # type: ignore[arg-type]
    assert told(table.kept(3, 4), tmp_path) == told(table, None)


def test_versions_before_the_known_ones_are_not_judged(tmp_path: Path) -> None:
    """The key was added, as in a table that is sent from one of its versions on."""
    table = versions_of("c1=a", "c0=id c1=a", "c0=id c1=b", "c0=id c1=c")
    assert told(table.kept(0, 3), tmp_path, start=1, end=1).ddl == ()
    found = told(table, tmp_path)
    assert (found.create_table.count("`a`"), len(found.ddl)) == (1, 2)


def test_times_after_an_expired_version_are_those_that_it_gave(tmp_path: Path) -> None:
    """The clock of a writer went back, and the version before is gone since: the next ones keep their order."""
    versions = list(versions_of(ONE, ONE, TWO, THREE).versions)
    for nth, second in enumerate((100.0, 99.5, 99.7, 99.9)):
        versions[nth] = versions[nth]._replace(commit_ts=compose(int(second * 1000)))
    table = _Table(versions)
    assert told(table.kept(0, 2), tmp_path).ddl == ()
    later = told(table.kept(1, 4), tmp_path)
    assert [at > table.kept(0, 2).versions[1].commit_ts for at, _ in later.ddl] == [True, True]
    assert told(table.kept(3, 4), tmp_path) == later


def test_what_came_after_the_last_snapshot_is_not_kept(tmp_path: Path) -> None:
    table = versions_of(ONE, ONE, TWO)
    open_end = _Table([*table.versions[:2], table.versions[2]._replace(id=None)])
    assert len(told(open_end, tmp_path).ddl) == 1
    later = versions_of(ONE, ONE, ONE, TWO)
    assert told(later.kept(1, 4), tmp_path).ddl == told(later, None).ddl


def test_a_table_without_a_snapshot_leaves_the_record_as_it_is(tmp_path: Path) -> None:
    """It was made again, with the columns that it had."""
    table = versions_of(ONE, TWO, TWO, TWO)
    assert len(told(table.kept(0, 3), tmp_path).ddl) == 1
    empty = _Table([table.versions[3]._replace(id=None)])
    assert len(told(empty, tmp_path).ddl) == 1
    assert told(table.kept(2, 4), tmp_path) == told(table, None)


def test_each_table_of_a_state_has_its_record(tmp_path: Path) -> None:
    store = FsspecStateStore(str(tmp_path / "state"))
    for name in ("shop.a", "shop.b"):
        table = versions_of(ONE, TWO)
        history = continued_ddl(table, table.versions, name, "id", store, None)  # type: ignore[arg-type]
        assert (record := ColumnRecord.find(store, name)) is not None
        assert (record.create_table, record.ddl, record.version) == (*history, 1)
    assert list(json.loads((tmp_path / "state" / "columns.json").read_bytes())) == ["shop.a", "shop.b", "crc32"]


def test_a_damaged_record_is_a_state_error(tmp_path: Path) -> None:
    told(versions_of(ONE), tmp_path)
    FsspecStateStore(str(tmp_path)).write("columns.json", {"shop.goods": {"more": 1}})
    with pytest.raises(StateError, match="others: a newer release"):
        told(versions_of(ONE), tmp_path)
    (tmp_path / "columns.json").write_text('{"shop.goods": 5}')
    with pytest.raises(StateError) as refused:
        told(versions_of(ONE), tmp_path)
    assert refused.value.file == "columns.json"
    assert (tmp_path / "columns.json").read_text() == '{"shop.goods": 5}'


def test_a_folder_that_cannot_be_used_is_a_state_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError):
        told(versions_of(ONE), tmp_path / "file" / "state")
    with pytest.raises(StateError, match="the state store cannot be"):
        ColumnRecord.find(FsspecStateStore(str(tmp_path / "file" / "state")), "shop.goods")
