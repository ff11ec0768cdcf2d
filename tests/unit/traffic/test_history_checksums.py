"""A history's rows may bring the checksum that TiCDC read, as the documents say."""

from __future__ import annotations

import json

from ticdc_emit.traffic import History

TS = 450_000_000_262_144_000
ROW = {"schema": "s", "table": "t", "op": "c", "before": None, "after": {"id": "1"}}
URI = "kafka://127.0.0.1:9092/orders?partition-num=1&protocol=simple"


def test_a_history_takes_checksums() -> None:
    given = {"corrupted": True, "current": 7, "previous": 0, "version": 1}
    rows = [ROW | {"commit_ts": TS, "checksum": given}, ROW | {"commit_ts": TS + 1, "after": {"id": "2"}}]
    history = History("create table s.t (id int primary key)", rows)
    contents = [json.loads(message.value or b"") for message in history.messages(URI, integrity=True)]
    shown = [content["checksum"] for content in contents if content["type"] == "INSERT"]
    assert (shown[0]["corrupted"], shown[0]["current"], shown[0]["version"]) == (True, 7, 1)
    assert not shown[1]["corrupted"]
