"""Simple's codec, and the table schemas of releases that no recorded vectors exist for."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
from simple_messages import COMMIT_TS

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.protocols.simple.encoder import make_codec


def test_a_changefeed_makes_the_codec() -> None:
    config = load_changefeed(
        "kafka://127.0.0.1:9092/topic?protocol=simple&encoding-format=avro", time_zone="Asia/Tokyo", integrity=True
    )
    codec = make_codec(config)
    assert (codec.options.encoding_format, codec.location) == ("avro", "Asia/Tokyo")
    assert codec.options.enable_row_checksum
    assert codec.refuses_large_schemas
    assert pickle.loads(pickle.dumps(codec)) == codec


def messages_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [json.loads(row["value"]) for row in batch.to_pylist()]


def test_old_releases_show_the_default_that_a_column_was_added_with() -> None:
    statements = (
        "alter table test.t add x int default 5, add y int not null",
        "alter table test.t alter x drop default",
    )
    for release, shown in (("8.1.2", [None, "5", "0"]), ("8.5.2", [None, None, None])):
        encoder = Encoder("memory://t?protocol=simple", "create table test.t (id int primary key)", release=release)
        ddl = [messages_of(encoder.ddl(text, COMMIT_TS + place))[-1] for place, text in enumerate(statements)]
        bootstrap = messages_of(encoder.bootstrap())[-1]
        assert [column["default"] for column in ddl[1]["tableSchema"]["columns"]] == shown
        assert [column["default"] for column in bootstrap["tableSchema"]["columns"]] == shown


def test_a_ddl_of_partitions_has_no_table_id_in_some_releases() -> None:
    table = "create table test.t (id int primary key) partition by hash (id) partitions 2"
    statements = ("truncate partition p0", "add column x int", "remove partitioning", "add column y int")

    def ids(release: str) -> list[int]:
        encoder = Encoder("memory://t?protocol=simple", table, release=release)
        sent = [
            messages_of(encoder.ddl(f"alter table test.t {text}", COMMIT_TS + n)) for n, text in enumerate(statements)
        ]
        return [messages[0]["tableSchema"]["tableID"] for messages in sent]

    known = ids("next-8.5.6")
    assert 0 not in known
    assert ids("next-8.5.4-release.1") == known
    assert ids("next-8.5.4") == ids("next-8.5.5") == [0, known[1], 0, known[3]]
