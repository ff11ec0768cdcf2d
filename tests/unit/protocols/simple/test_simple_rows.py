"""Row messages in both encodings: what depends on other rows of a batch, refusals and limits."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest
from simple_messages import COMMIT_TS, avro_message, codec_of, encoded_rows, row_messages

from tests.conformance.encoded_rows import table_of
from ticdc_emit.errors import InvalidValueError

ENCODINGS = ("json", "avro")
SMALL = "create table test.t (id int primary key, name varchar(10))"


def test_the_wall_clock_is_the_commit_time_where_none_is_given() -> None:
    stamps = [COMMIT_TS + (number << 18) for number in range(3)]
    rows = [{"op": "c", "commit_ts": stamp, "after": {"id": stamp & 7, "name": ""}} for stamp in stamps]
    texts = [json.loads(value) for value in row_messages(SMALL, rows, build_ts=None)]
    natives = [avro_message(value) for value in row_messages(SMALL, rows, build_ts=None, encoding="avro")]
    for read in (texts, natives):
        assert [message["commitTs"] for message in read] == stamps
        assert [message["buildTs"] for message in read] == [stamp >> 18 for stamp in stamps]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_nothing_is_shown_where_no_row_has_a_checksum(encoding: str) -> None:
    none = {"corrupted": True, "current": 0, "previous": 0}
    rows = [{"op": "c", "after": {"id": 1, "name": ""}, "checksum": none}]
    assert row_messages(SMALL, rows, enable_row_checksum=True, encoding=encoding) == row_messages(
        SMALL, rows, encoding=encoding
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_row_without_a_checksum_in_utc_is_refused_where_rows_have_one(encoding: str) -> None:
    rows = [{"op": "c", "after": {"id": 1, "ts": "2024-03-31 02:30:00"}}]
    table = "create table test.t (id int primary key, ts timestamp null)"
    assert row_messages(table, rows, zone="Europe/Berlin", encoding=encoding)
    with pytest.raises(InvalidValueError, match="checksum"):
        encoded_rows(table, rows, zone="Europe/Berlin", encoding=encoding, enable_row_checksum=True)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_overhead_bounds_a_message_of_nothing_but_names(encoding: str) -> None:
    name = "<" * 64
    info = replace(table_of(f"create table `{name}` (`{name}` timestamp(6), k int primary key)"), id=1 << 62)
    image = {name: "2024-01-01 00:00:00.000001", "k": -(1 << 31)}
    zone = "America/Argentina/ComodRivadavia"
    (value,) = row_messages(info, [{"op": "u", "before": image, "after": image}], encoding=encoding, zone=zone)
    assert len(value) < codec_of(encoding, location=zone).rows(info).overhead


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encoders_pickle(encoding: str) -> None:
    encoder = codec_of(encoding).rows(table_of(SMALL))
    assert pickle.loads(pickle.dumps(encoder)) == encoder
    assert encoder.reads_old
