"""Rows are joined by count, by size and between control messages, whatever the bounds of what is handed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.encoded_rows import encode_rows
from ticdc_emit.changes.codec import Starts
from ticdc_emit.changes.model import MESSAGE_OVERHEAD, Encoded
from ticdc_emit.columnar.packed_fields import framed, joined
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.base import MESSAGE_SCHEMA
from ticdc_emit.errors import MessageTooLargeError
from ticdc_emit.pipeline.encode.message_packing import MessagePacker, packed_messages
from ticdc_emit.pipeline.encode.messages import message_batch
from ticdc_emit.pipeline.plan.table_plans import make_plan
from ticdc_emit.protocols.open_protocol.decoder import OpenProtocolReader
from ticdc_emit.schema.catalog import catalog_from_sql

HEAD = b"!!"


@dataclass(frozen=True)
class Framed:
    max_rows: int
    shared: int = len(HEAD)

    def changed(self, values: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
        raise AssertionError("nothing is compressed")

    def joined(self, keys: pa.Array, values: pa.Array, starts: Starts) -> tuple[pa.Array, pa.Array]:
        return joined(keys, starts, HEAD), joined(values, starts)


def made_of(sizes: list[int]) -> pa.RecordBatch:
    count = len(sizes)
    keys = pa.array([b"%d" % number for number in range(count)], pa.binary())
    values = pa.array([bytes([number % 251]) * size for number, size in enumerate(sizes)], pa.binary())
    encoded = Encoded(framed([values], count), framed([keys], count))
    return message_batch(encoded, "t", 0, pa.array(range(count), pa.uint64()))


def messages_of(batches: list[pa.RecordBatch]) -> list[tuple[bytes, bytes, int]]:
    table = pa.Table.from_batches(batches, MESSAGE_SCHEMA)
    return list(zip(*(table.column(name).to_pylist() for name in ("key", "value", "commit_ts")), strict=True))


def one_by_one(rows: pa.RecordBatch, breaks: set[int], packing: Framed, limit: int) -> list[tuple[bytes, bytes, int]]:
    """What TiCDC's encoder does: each row goes on the last message, unless that has all rows or all bytes it may."""
    made: list[tuple[bytes, bytes, int]] = []
    count = 0
    for place, (key, value, stamp) in enumerate(messages_of([rows])):
        last = made[-1] if made else (b"", b"", 0)
        full = len(last[0]) + len(last[1]) + MESSAGE_OVERHEAD + len(key) + len(value) > limit
        if not made or place in breaks or count >= packing.max_rows or full:
            made.append((HEAD + key, value, stamp))
            count = 1
        else:
            made[-1] = last[0] + key, last[1] + value, stamp
            count += 1
    return made


@settings(max_examples=60)
@given(st.data())
def test_rows_are_joined_as_one_after_the_other(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=40))
    limit = data.draw(st.sampled_from([MESSAGE_OVERHEAD + 60, MESSAGE_OVERHEAD + 150, 10_000]))
    packing = Framed(data.draw(st.integers(1, 7)))
    rows = made_of(sizes)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(sizes)), max_size=5)) | {len(sizes)})
    breaks = sorted(data.draw(st.lists(st.integers(0, len(sizes)), max_size=4)))
    packer, got, placed, start = MessagePacker(packing, limit), [], [], 0
    for end in cuts:
        own = [place - start for place in breaks if start <= place < end or place == end == len(sizes)]
        made, places = packer.add(rows.slice(start, end - start), np.array(own, np.int64))
        before = sum(batch.num_rows for batch in got)
        placed += [(start + place, before + int(at)) for place, at in zip(own, places, strict=True)]
        got.append(made)
        start = end
    rest = packer.rest()
    got += [] if rest is None else [rest]
    expected = one_by_one(rows, set(breaks), packing, limit)
    assert messages_of(got) == expected
    for place, at in placed:  # before the message of the row at the break, behind that of the row before it
        assert at == sum(stamp < place for _, _, stamp in expected)


def test_a_row_beyond_the_limit_is_a_message_of_its_own() -> None:
    packing = Framed(16)
    packer = MessagePacker(packing, MESSAGE_OVERHEAD + 60)
    made, _ = packer.add(made_of([5, 500, 5, 5]), np.array([4]))
    assert [len(HEAD) + 2 * 8 + 1 + 5, len(HEAD) + 2 * 8 + 1 + 500, len(HEAD) + 2 * (2 * 8 + 1 + 5)] == [
        len(key) + len(value) for key, value, _ in messages_of([made])
    ]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_full_messages_are_not_kept(rows: int) -> None:
    packing = Framed(rows)
    packer = MessagePacker(packing, 10_000)
    made, _ = packer.add(made_of([1] * 6))
    assert made.num_rows == 6 // rows
    assert packer.rest() is None


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
