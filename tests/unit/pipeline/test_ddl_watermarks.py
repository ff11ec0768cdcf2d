"""A watermark follows each DDL at once, on every partition, in TiCDC's classic lineage."""

from __future__ import annotations

import json

import pyarrow as pa

from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.tso import compose

URI = "memory://marks?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
START = compose(1_700_000_000_000)


def run(release: str) -> dict[int, list[str]]:
    clear("marks")
    config = load_changefeed(URI, release=release)
    stamps = [START + 1, START + 10, START + 20]
    ddl = [(START + 5, "alter table test.t add column c int")]
    options = RunOptions(watermark_interval=0)
    schema = "create table test.t (id int primary key)"
    feed = Changefeed(config, MemorySink("marks"), schema, ddl=ddl, options=options)
    image = pa.struct([("id", pa.int64()), ("c", pa.int64())])
    rows = pa.table(
        {
            "op": ["c"] * 3,
            "commit_ts": stamps,
            "after": pa.array([{"id": number, "c": None} for number in range(3)], image),
        }
    )
    feed.run(ArrowBatch(rows, "test.t"), 0, final=True)
    found: dict[int, list[str]] = {0: [], 1: []}
    for message in messages("marks"):
        content = json.loads(message.value or b"")
        if content["type"] == "TIDB_WATERMARK":
            what = f"watermark {content['_tidb']['watermarkTs'] - START}"
        else:
            what = "ddl" if content["isDdl"] else f"row {content['data'][0]['id']}"
        found[message.partition].append(what)
    return found


def test_a_watermark_follows_the_ddl_at_once_on_every_partition() -> None:
    first, second = sorted(run("classic").values(), key=len, reverse=True)
    rows = {what for what in (*first, *second) if what.startswith("row")}
    assert rows == {"row 0", "row 1", "row 2"}
    for received in (first, second):
        assert [what for what in received if what.startswith("watermark")] == ["watermark 5", "watermark 20"]
    found = run("classic")[0]
    assert found[found.index("ddl") + 1] == "watermark 5"


def test_the_new_architecture_forces_none() -> None:
    for received in run("next").values():
        assert [what for what in received if what.startswith("watermark")] == ["watermark 20"]
