"""The page about Iceberg, as a reader copies it: docs/cookbook.md#replay-iceberg."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from documented import blocks_of

import ticdc_emit
from ticdc_emit.delivery.memory import clear

pytestmark = pytest.mark.spark

PAGE = "docs/cookbook.md#replay-iceberg"


def test_the_page(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clear("iceberg")
    clear("tail")
    started: dict[str, str] = {}

    def session(**settings: str) -> Any:
        started.update(settings)
        return spark

    monkeypatch.setattr(ticdc_emit, "local_session", session, raising=False)
    names: dict[str, Any] = {}
    for block in blocks_of(PAGE):
        capsys.readouterr()
        code = block.code.replace("lake.shop", "ice.shop").replace("lake.system", "ice.system")
        exec(code.replace("/tmp/tail-iceberg", f"{tmp_path}/state"), names)
        if block.printed is not None:
            assert capsys.readouterr().out == block.printed
    settings = {name.replace("_", "."): value.replace("/tmp/lake", "") for name, value in started.items()}
    package = settings.pop("spark.jars.packages")
    assert package in Path(__file__).with_name("lakes.lock.toml").read_text(), (
        "the page's release is not the tested one"
    )
    for name, value in settings.items():
        assert value in spark.conf.get(name.replace("catalog.lake", "catalog.ice")), name
    spark.sql("DROP TABLE ice.shop.orders")
