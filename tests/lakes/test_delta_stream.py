"""The change feed of a real Delta table as a stream: what a consumer has at each version, also after a kill."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from documented import blocks_of
from feed_job import MOMENTS, URI, run_until_death, tail_feed
from folded_versions import HeldVersions, check_killed_stream, held_rows, row_values
from pyspark.errors import StreamingQueryException
from random_history import DeltaHistory

from ticdc_emit import table_ddl
from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.files import read_files
from ticdc_emit.schema.catalog import catalog_from_sql

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SEEDS, COMMITS = (2, 24) if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else (1, 8)
"""Histories, and their commits until the kill; half as many come later."""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_version_after_a_kill_and_later_commits(tiny: Any, tmp_path: Path, seed: int) -> None:
    table, folder = f"{tmp_path}/goods", tmp_path / "tail"
    history = DeltaHistory(tiny, table, seed, fixed_columns=True)
    commits = [history.commit() for _ in range(COMMITS)]
    moment = MOMENTS[seed % len(MOMENTS)]
    run_until_death(tiny, "tail", table, folder, random.Random(seed).randint(1, COMMITS // 6), moment)
    before = row_values(read_files(folder / "out"))
    assert len(before) > 0
    tail_feed(tiny, table, folder)
    commits += [history.commit() for _ in range(COMMITS // 2)]
    tail_feed(tiny, table, folder)

    received = list(read_files(folder / "out"))
    schema, _ = table_ddl(tiny, table, "lake.goods", "id")
    check_killed_stream(received, schema, HeldVersions(tiny, table), commits)
    assert len(row_values(received)) > len(set(row_values(received))), "the batch of the kill was not sent again"


def consumed(folder: Path, schema: str) -> dict[Any, Any]:
    consumer = ReferenceConsumer(load_changefeed(f"memory://read?{URI}"), catalog_from_sql(schema))
    for message in read_files(folder / "out"):
        consumer.take(message)
    (rows,) = consumer.tables.values()
    return {key: dict(row) for key, row in rows.items()}


def test_the_program_of_the_page(tiny: Any, tmp_path: Path) -> None:
    table = tmp_path / "goods"
    history = DeltaHistory(tiny, str(table), 3, fixed_columns=True)
    places = {
        "/data/orders": str(table),
        "kafka://127.0.0.1:9092/orders?": f"jsonl://{tmp_path}/out?partition-num=1&",
        "/tmp/tail": str(tmp_path),
        'processingTime="10 seconds"': "availableNow=True",
    }
    (block,) = (each for each in blocks_of("docs/cookbook/tail-delta.md") if each.language == "python")
    code = block.code
    for written, place in places.items():
        assert written in code
        code = code.replace(written, place)
    for _ in range(2):
        for _ in range(3):
            history.commit()
        names: dict[str, Any] = {}
        for start in range(3):
            try:
                exec(compile(code, block.place, "exec"), names)
                break
            except StreamingQueryException as end:  # the page: start it again
                if start == 2 or "DELTA_STREAMING_METADATA_EVOLUTION" not in str(end):
                    raise
        names["sink"].finish()  # the watermark of a heartbeat a minute later
        names["sink"].close()
        assert consumed(tmp_path, names["schema"]) == held_rows(tiny.read.format("delta").load(str(table)), ["id"])
