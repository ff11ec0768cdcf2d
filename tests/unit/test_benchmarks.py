"""The benchmark measures TiCDC's bytes, and says what it measured."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from benchmarks import BenchError, inputs, lines, run
from benchmarks.__main__ import main
from benchmarks.inputs import TABLES, make_rows, make_update
from benchmarks.lines import VARIANTS, Line, bench_lines, check_golden
from ticdc_emit.schema.catalog import catalog_from_sql

SAMPLE = Path(__file__).parents[2] / "schemas" / "bench.sql"
BARRED = [f"{variant}/{table}/{op}" for variant in VARIANTS for table in TABLES for op in ("insert", "update")]


@pytest.fixture(scope="module")
def short_lines() -> list[Line]:
    """All lines, with batches of a few rows and few tables: what is asked here is not how fast they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK", 500)
        patch.setattr(lines, "_GROUP_ROWS", 500)
        patch.setattr(lines, "_GROUPS", 4)
        return bench_lines()


def test_the_recorded_rows_give_the_recorded_bytes() -> None:
    assert check_golden() == BARRED


def test_other_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = inputs.golden_value
    monkeypatch.setattr(lines, "golden_value", lambda line: real(line).replace(b"paid", b"pard").replace(b"1", b"2"))
    with pytest.raises(BenchError, match=BARRED[0]):
        check_golden()


def test_the_tables_are_those_that_go_was_measured_on() -> None:
    reference = json.loads((SAMPLE.parents[1] / "benchmarks" / "reference.json").read_text(encoding="utf-8"))
    sample = catalog_from_sql(SAMPLE.read_text(encoding="utf-8"))
    for name in TABLES:
        info = make_rows(name, 1).info
        measured = catalog_from_sql(reference["tables"][name]).table("test", name)
        shown = sample.table("test", name)
        assert measured == info
        assert replace(shown, id=info.id, version=info.version, update_ts=info.update_ts) == info


def test_an_update_changes_few_columns_or_all() -> None:
    table = make_rows("orders", 1_000)
    same = [name for name, old in make_update(table).items() if old.equals(table.columns[name])]
    assert set(table.columns) - set(same) == {"qty", "note", "updated"}
    everything = make_update(table, all_changed=True)
    assert not [name for name, old in everything.items() if old.equals(table.columns[name])]


def test_one_value_in_ten_of_a_nullable_column_is_null() -> None:
    table = make_rows("orders", 5_000)
    for column in table.info.columns:
        share = table.columns[column.name].null_count / 5_000
        assert (0.07 < share < 0.13) if column.nullable else share == 0, column.name


def test_every_line_gives_messages_of_all_rows(short_lines: list[Line]) -> None:
    for line in short_lines:
        messages = line.run()
        if isinstance(messages, pa.RecordBatch):
            together = 16 if line.name.startswith("open-protocol") else 1
            assert messages.num_rows == -(-line.rows // together), line.name
        else:
            assert pc.sum(pa.Table.from_batches(messages).column("rows")).as_py() == line.rows, line.name


def test_report(short_lines: list[Line], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run, "bench_lines", lambda: short_lines)
    monkeypatch.setattr(run, "measure_unit", lambda: 200_000.0)
    threads = pa.cpu_count()
    with pytest.raises(SystemExit) as end:
        main(["--quick", "--json", "--no-end-to-end"])
    assert end.value.code == 0
    report = json.loads(capsys.readouterr().out)
    assert report["unit"] == 200_000
    assert report["end_to_end"] is None
    with_bar = [line for line in report["lines"] if line["ratio_to_go"] is not None]
    kinds = ("4 tables mixed", "4 tables of other columns mixed")
    mixed = [f"{variant}/orders/insert, {kind}" for variant in VARIANTS for kind in kinds]
    assert sorted(line["name"] for line in with_bar) == sorted(BARRED + mixed)
    assert {line["name"]: line["bar"] for line in with_bar} == dict.fromkeys(BARRED, 2.0) | dict.fromkeys(mixed, 0.7)
    assert len(report["lines"]) > len(with_bar)
    for line in report["lines"]:
        assert line["rows_per_cpu_s"] > 0
        assert line["x_unit"] == pytest.approx(line["rows_per_cpu_s"] / 200_000, abs=1e-3)
    assert pa.cpu_count() == threads
    orders = next(line for line in with_bar if line["name"] == "canal-json-ext/orders/insert")
    assert orders["ratio_to_go"] == pytest.approx(orders["x_unit"] / 0.769, abs=1e-2)
    assert set(report["median_ratio_to_go"]) == set(VARIANTS)  # over one table's lines: the mixed ones have another bar
    canal = [line["ratio_to_go"] for line in with_bar if line["name"] in BARRED and line["name"].startswith("canal")]
    assert report["median_ratio_to_go"]["canal-json-ext"] == pytest.approx(statistics.median(canal), abs=2e-2)


def test_the_unit_is_rows_per_cpu_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 10.5, 20.0, 20.25])
    monkeypatch.setattr(run.time, "process_time", lambda: next(clock))
    assert run.measure_unit(rounds=2, rows=100) == 400.0
