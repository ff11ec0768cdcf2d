"""The benchmark measures TiCDC's bytes, and says what it measured."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pytest

from ticdc_emit.bench import BenchError, golden, lines, run_bench
from ticdc_emit.bench.inputs import TABLES, make_rows, make_update
from ticdc_emit.bench.lines import VARIANTS, bench_lines, check_golden
from ticdc_emit.cli.main import main
from ticdc_emit.schema.catalog import catalog_from_sql

SAMPLE = Path(__file__).parents[3] / "schemas" / "bench.sql"
BARRED = [f"{variant}/{table}/{op}" for variant in VARIANTS for table in TABLES for op in ("insert", "update")]


def test_the_recorded_rows_give_the_recorded_bytes() -> None:
    assert check_golden() == BARRED


def test_other_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = golden.golden_value
    monkeypatch.setattr(lines, "golden_value", lambda line: real(line).replace(b"paid", b"pard").replace(b"1", b"2"))
    with pytest.raises(BenchError, match=BARRED[0]):
        check_golden()


def test_the_tables_are_those_that_go_was_measured_on() -> None:
    reference = json.loads((files("ticdc_emit.bench") / "reference.json").read_text(encoding="utf-8"))
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


def test_every_line_gives_as_many_messages_as_rows() -> None:
    for line in bench_lines():
        messages = line.run()
        assert isinstance(messages, pa.RecordBatch)
        assert messages.num_rows == line.rows, line.name


def test_report(capsys: pytest.CaptureFixture[str]) -> None:
    threads = pa.cpu_count()
    with pytest.raises(SystemExit) as end:
        main(["bench", "--quick", "--json", "--no-end-to-end"])
    assert end.value.code == 0
    report = json.loads(capsys.readouterr().out)
    assert report["unit"] > 0
    assert report["end_to_end"] is None
    with_bar = [line for line in report["lines"] if line["ratio_to_go"] is not None]
    assert sorted(line["name"] for line in with_bar) == sorted(BARRED)
    assert len(report["lines"]) > len(with_bar)
    assert all(line["rows_per_cpu_s"] > 0 and line["x_unit"] > 0 for line in report["lines"])
    assert pa.cpu_count() == threads


def test_ratio_is_x_unit_over_go() -> None:
    report = run_bench(quick=True)
    rates = {line.name: line for line in report.lines}
    line = rates["canal-json-ext/orders/insert"]
    assert line.ratio_to_go is not None
    assert line.x_unit / line.ratio_to_go == pytest.approx(0.769)
    assert line.rows_per_cpu_s / report.unit == pytest.approx(line.x_unit, rel=0.5)
