"""Row messages beyond max-message-bytes: refused, reduced, or stored, each in its row's place."""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import pytest
from encode_large_messages import CANAL, FIRST, REDUCING, SIMPLE, SIMPLE_AVRO, encode, handling, insert, plan_of, values
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.encoded_rows import encode_rows
from ticdc_emit.errors import MessageTooLargeError
from ticdc_emit.pipeline.arrange.python_rows import rows_to_batch
from ticdc_emit.pipeline.plan.large_messages import SeededNames
from ticdc_emit.protocols.simple.decoder import SimpleReader

MIXED = [
    insert(1, 5),
    insert(2, 900),
    {"op": "u", "before": {"id": 2, "v": "x" * 900, "w": "w"}, "after": {"id": 2, "v": "y", "w": "w"}},
    {"op": "d", "before": {"id": 2, "v": "y", "w": "w"}},
    {"op": "u", "before": {"id": 1, "v": "z" * 900, "w": "w"}, "after": {"id": 3, "v": "z" * 900, "w": "w"}},
    {"op": "d", "before": {"id": 3, "v": "z" * 900, "w": "w"}},
    insert(4, 6),
]
LARGE = [1, 2, 4, 5]


@pytest.mark.parametrize("uri", REDUCING)
def test_a_message_may_have_exactly_max_message_bytes(uri: str) -> None:
    (value,) = values(plan_of(uri), [insert(7, 300)])
    limit = len(value) + 36
    assert values(plan_of(uri, limit=limit), [insert(7, 300)]) == [value]
    beside_larger = values(plan_of(uri, handling("handle-key-only"), limit=limit), [insert(7, 300), insert(8, 301)])
    assert beside_larger[0] == value
    assert len(beside_larger[1]) < len(value)
    plan = plan_of(uri, limit=limit - 1)
    (table,) = plan.tables.values()
    batch = rows_to_batch([{"commit_ts": FIRST, **row} for row in (insert(6, 3), insert(7, 300))], table.newest)
    with pytest.raises(MessageTooLargeError, match=f"{limit} bytes, max-message-bytes is {limit - 1}") as caught:
        encode_rows(batch, table, plan)
    assert (caught.value.table, caught.value.row, caught.value.length) == ("test.t", {"id": 7}, limit)
    assert caught.value.code == "CDC:ErrMessageTooLarge"
    assert "large-message-handle-option" in caught.value.remedy


def test_names_follow_from_the_seed_and_the_message_alone() -> None:
    def locations(changes: list[dict[str, Any]], seed: bytes = b"") -> list[str]:
        plan = plan_of(SIMPLE, handling("claim-check"), limit=750, names=SeededNames(seed))
        return [claim.location for _, claim in encode(plan, changes).claims]

    stamped = [{"commit_ts": FIRST + place, **row} for place, row in enumerate(MIXED)]
    whole = locations(stamped)
    assert sorted(whole) == sorted(name for row in stamped for name in locations([row]))
    assert len(set(whole)) == len(LARGE)
    assert locations(stamped) == whole
    assert not set(locations(stamped, b"another")) & set(whole)
    moved = [{**row, "commit_ts": row["commit_ts"] + 1} for row in stamped]
    assert not set(locations(moved)) & set(whole)


@pytest.mark.parametrize("uri", REDUCING)
@pytest.mark.parametrize("option", ["handle-key-only", "claim-check"])
def test_a_reduced_message_can_be_too_large_itself(uri: str, option: str) -> None:
    table = "create table test.t (id varchar(800) primary key, v text, w varchar(20))"
    rows = [{"op": "c", "after": {"id": "k" * size, "v": "x" * 900, "w": "w"}} for size in (3, 700, 5)]
    plan = plan_of(uri, handling(option), limit=700, table=table)
    (planned,) = plan.tables.values()
    batch = rows_to_batch([{"commit_ts": FIRST + place, **row} for place, row in enumerate(rows)], planned.newest)
    with pytest.raises(MessageTooLargeError) as caught:
        encode_rows(batch, planned, plan)
    assert caught.value.row["id"] == "k" * 700
    assert "handle key alone" in caught.value.remedy
    assert len(values(plan, rows[::2])) == 2


def test_a_row_without_key_is_named_by_its_place() -> None:
    plan = plan_of(SIMPLE, limit=20_000, table="create table test.t (id int, v longtext, w varchar(20))")
    rows = [insert(0, 1), {"op": "d", "before": {"id": 1, "v": "x", "w": "w"}}, insert(2, 1), insert(3, 30_000)]
    with pytest.raises(MessageTooLargeError) as caught:
        encode(plan, rows)
    assert caught.value.row == {"position": 3}


def test_a_table_without_handle_key_shows_no_column() -> None:
    table = "create table test.t (id int, v text, w varchar(20))"
    found = {}
    for uri in REDUCING:
        plan = plan_of(uri, handling("handle-key-only"), limit=750, table=table)
        found[uri] = values(plan, MIXED)[4]
    canal = json.loads(found[CANAL])
    assert (canal["sqlType"], canal["mysqlType"], canal["old"], canal["data"]) == (None, {}, [{}], [{}])
    simple = json.loads(found[SIMPLE])
    assert simple["handleKeyOnly"]
    assert not {"data", "old"} & set(simple)
    row: Any = SimpleReader("avro").read(None, found[SIMPLE_AVRO])
    assert (row.handle_key_only, row.after, row.before) == (True, {}, {})


def test_an_option_that_ticdc_does_not_know_is_treated_as_it_does() -> None:
    plain = values(plan_of(CANAL), MIXED)
    assert values(plan_of(CANAL, handling("split"), limit=750), MIXED) == plain  # which the producer refuses
    reduced = values(plan_of(SIMPLE, handling("handle-key-only"), limit=750), MIXED)
    assert values(plan_of(SIMPLE, handling("split"), limit=750), MIXED) == reduced
    assert b"handleKeyOnly" in reduced[1]


def test_a_reduced_row_has_the_checksum_of_the_whole_one() -> None:
    for uri in (SIMPLE, SIMPLE_AVRO):
        reader: Any = SimpleReader("avro" if uri == SIMPLE_AVRO else "json")
        whole = [reader.read(None, value) for value in values(plan_of(uri, integrity=True), MIXED)]
        plan = plan_of(uri, handling("handle-key-only"), limit=850, integrity=True)
        reduced = [reader.read(None, value) for value in values(plan, MIXED)]
        assert [row.message["checksum"] for row in reduced] == [row.message["checksum"] for row in whole]
        assert [row.handle_key_only for row in reduced] == [index in LARGE for index in range(len(MIXED))]


def test_the_rows_of_a_partition_keep_its_id() -> None:
    row = {**insert(1, 900), "physical_table_id": 77}
    (value,) = values(plan_of(SIMPLE, handling("handle-key-only"), limit=750), [row])
    assert json.loads(value)["tableID"] == 77


def test_what_is_resolved_travels_and_shows_no_secret() -> None:
    changefeed = handling("claim-check", "lz4", uri="s3://bucket/p/?access-key=AKIA123&secret-access-key=hush/1+2")
    large = plan_of(CANAL, changefeed).large
    assert pickle.loads(pickle.dumps(large)) == large
    assert large.storage == "s3://bucket/p"
    assert b"hush" not in pickle.dumps(large)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 800), min_size=1, max_size=8),
    limit=st.integers(600, 1100),
    uri=st.sampled_from(REDUCING),
    compression=st.sampled_from(["none", "snappy", "lz4"]),
)
def test_a_row_s_message_does_not_depend_on_its_batch(sizes: list[int], limit: int, uri: str, compression: str) -> None:
    changes = [{"commit_ts": FIRST + place, **insert(place, size)} for place, size in enumerate(sizes)]
    plan = plan_of(uri, handling("claim-check", compression), limit=limit)
    together = encode(plan, changes)
    alone = [encode(plan, [change]) for change in changes]
    assert together.values.to_pylist() == [value for each in alone for value in each.values.to_pylist()]
    assert together.claims == tuple((place, claim) for place, each in enumerate(alone) for _, claim in each.claims)
    assert max(map(len, together.values.to_pylist())) + 36 <= limit


def test_feeds_with_other_options_store_one_message_under_other_names() -> None:
    text = random.Random(1).randbytes(2000).hex()  # that no compression makes small
    rows = [{"op": "c", "after": {"id": 1, "v": text, "w": "w"}}]
    ways = [
        handling("claim-check", compression, raw=raw) for compression in ("none", "snappy") for raw in (False, True)
    ]
    stored = [encode(plan_of(SIMPLE, way, limit=400), rows).claims[0][1] for way in ways]
    again = [encode(plan_of(SIMPLE, way, limit=400), rows).claims[0][1] for way in ways]
    assert stored == again
    assert len({claim.location for claim in stored}) == len({claim.content for claim in stored}) == 4
