"""Which format a source has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticdc_emit.traffic.replay.sources import format_of


def test_formats_by_name() -> None:
    names = ["a/b.parquet", "x.CSV.gz", "rows.ndjson", "jdbc:mysql://h/db", "shop.orders", "folder/"]
    assert [format_of(name) for name in names] == ["parquet", "csv", "json", "jdbc", None, None]


def test_a_folder_has_the_format_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, expected in (
        ("snap/dt=2026-01-02/part-0.snappy.parquet", "parquet"),
        ("daily/dt=2026-01-02/part-0.csv.gz", "csv"),
        ("delta/_delta_log/0.json", "delta"),
        ("ice/metadata/v1.metadata.json", "iceberg"),
        ("other/metadata/rows.orc", "orc"),
        ("none/_SUCCESS", None),
        ("a folder/_temporary.csv", None),
        ("shop.orders/x.json", "json"),
    ):
        file, folder = tmp_path / name, name.partition("/")[0]
        file.parent.mkdir(parents=True)
        file.write_text("")
        (file.parent / ".x.parquet.crc").write_text("")
        if expected == "delta":
            (tmp_path / folder / "x.parquet").write_text("")
        sources = [folder, f"{folder}/", f"{tmp_path}/{folder}", f"file://{tmp_path}/{folder}".replace(" ", "%20")]
        assert {format_of(source) for source in sources} == {expected}, name
    assert format_of("snap/dt=2026-01-02") == "parquet"
    assert format_of("no/such") is None
