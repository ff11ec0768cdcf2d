"""A watermark follows each DDL at once, on every partition, in TiCDC's classic lineage."""

from __future__ import annotations

import json

from ticdc_emit.traffic.history import History
from ticdc_emit.tso import compose

URI = "memory://marks?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
START = compose(1_700_000_000_000)


def run(release: str) -> dict[int, list[str]]:
    rows = [
        {"schema": "test", "table": "t", "op": "c", "commit_ts": START + stamp, "after": {"id": number, "c": None}}
        for number, stamp in enumerate((1, 10, 20))
    ]
    ddl = ((START + 5, "alter table test.t add column c int"),)
    found: dict[int, list[str]] = {0: [], 1: []}
    for message in History("create table test.t (id int primary key)", rows, ddl).messages(URI, release=release):
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
