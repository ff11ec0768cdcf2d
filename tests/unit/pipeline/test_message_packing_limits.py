"""What bounds a row's message and what bounds a message of several rows, in both lineages."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import MessageTooLargeError
from ticdc_emit.pipeline.encode.message_packing import packed_messages
from ticdc_emit.pipeline.encode.messages import encode_rows
from ticdc_emit.pipeline.plan.table_plans import make_plan
from ticdc_emit.protocols.open_protocol.decoder import OpenProtocolReader
from ticdc_emit.schema.catalog import catalog_from_sql

TABLE = "create table s.t (id int primary key, v text)"
STAMPS = pa.array(range(450_000_000_262_144_000, 450_000_000_262_144_004), pa.uint64())


def rows_of_messages(release: str, topic_takes: int) -> list[int]:
    """How many rows each message has that ``max-message-bytes=600`` and a topic let through."""
    config = load_changefeed("memory://m/t?protocol=open-protocol&max-message-bytes=600", release=release)
    history = catalog_from_sql(TABLE).histories()
    plan = make_plan(config, history, {config.kafka.topic: 1}, message_limit=topic_takes)
    values = pa.array(["short", "short", "long" * 200, "short"])
    after = pa.StructArray.from_arrays([pa.array(range(4), pa.int32()), values], ["id", "v"])
    batch = pa.record_batch({"op": pa.array(["c"] * 4), "commit_ts": STAMPS, "after": after})
    made = encode_rows(batch, plan.table("s", "t"), plan).encoded
    messages = packed_messages(made, "t", 0, STAMPS, plan).select(["key", "value"]).to_pylist()
    return [len(OpenProtocolReader().read_all(message["key"], message["value"])) for message in messages]


def test_in_next_a_row_may_have_what_the_topic_takes() -> None:
    assert rows_of_messages("next", 3000) == [2, 1, 1]
    with pytest.raises(MessageTooLargeError, match=r"Raise the topic's max\.message\.bytes"):
        rows_of_messages("next", 900)
    with pytest.raises(MessageTooLargeError, match="Raise max-message-bytes"):
        rows_of_messages("classic", 3000)


def test_a_topic_that_takes_less_bounds_both() -> None:
    with pytest.raises(MessageTooLargeError):
        rows_of_messages("next", 400)
