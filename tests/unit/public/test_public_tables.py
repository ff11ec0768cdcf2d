"""What people publish: column types, generated columns, partitions and renames of change scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticdc_emit import Encoder
from ticdc_emit.database.session import Session
from ticdc_emit.database.tables import Database
from ticdc_emit.errors import DdlError, StatementError
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.schema.row_versions import Row

_INPUTS = Path(__file__).parent / "inputs"


def _session(name: str, sql_mode: str | None = None) -> Session:
    mode = {} if sql_mode is None else {"sql_mode": sql_mode}
    session = Session(Database(Catalog(), "UTC"), schema="test", **mode)
    session.execute((_INPUTS / name).read_text())
    return session


def _rows(session: Session, table: str) -> list[Row]:
    return sorted(session.database.tables["test", table].values(), key=lambda row: str(row["id"]))


@pytest.mark.parametrize(
    ("name", "table", "column", "values"),
    [
        ("05-float-m-d.sql", "boats", "draught", ["1.5", "123.457", "2.25", "7"]),
        ("06-year.sql", "boats", "built", ["2018"]),
        ("08-add-column-now.sql", "boats", "added", ["2024-01-01 00:00:02"] * 2),
        ("09-range-no-maxvalue.sql", "trips", "km", ["13"]),
        ("10-exchange-partition.sql", "trips", "km", ["10", "41"]),
        ("10-exchange-partition.sql", "trips_in", "km", ["20"]),
        ("11-subpartitions.sql", "trips", "km", []),
        ("13-json-generated.sql", "boats", "crew", ["5"]),
    ],
)
def test_a_script_leaves_the_rows_of_tidb(name: str, table: str, column: str, values: list[str]) -> None:
    assert [row[column] for row in _rows(_session(name), table)] == values


def test_a_schema_with_subpartitions_has_the_partitions() -> None:
    info = catalog_from_sql((_INPUTS / "11-subpartitions.sql").read_text()).table("test", "trips")
    assert [partition.name for partition in info.partitions] == ["p0", "p1"]


def test_a_zero_default_is_refused_in_strict_mode_only() -> None:
    with pytest.raises(StatementError) as caught:
        _session("12-zero-default.sql")
    assert caught.value.number == 1067
    assert _rows(_session("12-zero-default.sql", sql_mode=""), "boats") == []
    finished = Encoder("kafka://unused/orders?protocol=canal-json")
    finished.execute("create table made_the_session (id int primary key)")
    assert finished.ddl((_INPUTS / "12-zero-default.sql").read_text(), 460_000_000_000_000_000).num_rows


def test_classic_names_the_table_that_moves_twice() -> None:
    script = (_INPUTS / "14-rename-swap.sql").read_text()
    with pytest.raises(DdlError, match="moves one table twice") as caught:
        Encoder("kafka://unused/orders?protocol=canal-json", release="classic").execute(script)
    assert "two RENAME" in caught.value.remedy
    assert Encoder("kafka://unused/orders?protocol=canal-json", release="next").execute(script).num_rows
