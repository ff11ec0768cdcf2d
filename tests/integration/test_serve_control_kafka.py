"""``serve --control --broker kafka``: a test drives a changefeed into a real broker, and a consumer sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from controlled_server import SCHEMA, ControlledServer, Reader


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.usefixtures("kafka_parts")
def test_a_test_drives_a_changefeed_into_a_real_broker(tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(SCHEMA)
    server = ControlledServer("--broker", "kafka", "--schema", str(tmp_path / "shop.sql"))
    try:
        for _ in range(2):
            reader = Reader(server, server.post("/reset")["partitions"])
            sent = server.post(
                "/sql", {"sql": "INSERT INTO shop.orders VALUES (1, 'a'); ALTER TABLE shop.orders ADD c INT"}
            )
            assert {kind for kind, _ in reader.changes(sent)} == {"INSERT", "DDL"}
            assert reader.changes(server.post("/redeliver", {"last": 9}))
            for partition in range(3):
                server.post("/hold", {"topic": "shop_orders", "partition": partition})
            assert reader.changes(server.post("/sql", {"sql": "UPDATE shop.orders SET c = 2"})) == []
            assert reader.changes(server.post("/release")) == [("UPDATE", {"id": "1", "note": "a", "c": "2"})]
            sent_to = server.ask("/messages?last=1")["partitions"]
            assert {(p["topic"], p["partition"]): p["end_offset"] for p in sent_to} == reader.position
            reader.close()
        uri = f"kafka://{server.settings['bootstrap']}/mine?protocol=open-protocol&partition-num=5"
        server.post("/api/v2/changefeeds", {"changefeed_id": "mine", "sink_uri": uri})
        assert len(server.ask("/messages?changefeed=mine")["partitions"]) == 5
    finally:
        server.stop()
