"""Differences name the place; compressed messages are compared by what was compressed, all around it byte for byte."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import cramjam
import pytest

from ticdc_emit.config import CLASSIC, NEXT
from ticdc_emit.pipeline.plan.large_messages import LargeMessages
from ticdc_emit.protocols.open_protocol.encoder import OpenPacking
from ticdc_emit.protocols.open_protocol.schema import frame

from .compare import byte_diff, compare_outcomes, compare_targets, first_difference, free_runs, plain_outcome
from .vectors import Outcome, Record, Target, left_out_of


def test_byte_diff_points_at_the_byte() -> None:
    left, right = b"x" * 100 + b"A" + b"y" * 100, b"x" * 100 + b"\x00" + b"y" * 100
    title, expected, got, caret = byte_diff(left, right, "value").splitlines()
    assert title == "value differs at byte 100 (expected 201 bytes, got 201)"
    assert expected.startswith("  expected  …xxx")
    assert expected[caret.index("^")] == "A"
    assert got[caret.index("^") :].startswith("\\x00yyy")
    assert expected.endswith("y…")


def test_null_is_not_empty() -> None:
    assert byte_diff(None, b"", "value").splitlines()[1:] == ["  expected  null", "  got       (zero bytes)"]


def test_a_null_key_of_a_row_is_one_of_zero_length() -> None:
    recorded = Outcome((Record(None, b"v"),))
    assert compare_outcomes(recorded, Outcome((Record(b"", b"v"),)), dml=True) is None
    assert "key differs" in (compare_outcomes(recorded, Outcome((Record(None, b"v"),)), dml=True) or "")
    assert "key differs" in (compare_outcomes(recorded, Outcome((Record(b"", b"v"),)), dml=False) or "")


def test_a_crash_is_that_of_any_row() -> None:
    partly = Outcome((Record(b"k", b"v"), Record(None, None, error="a DELETE crashes")))
    assert compare_outcomes(Outcome(error="nil pointer", crashed=True), partly, dml=True) is None
    assert compare_outcomes(Outcome(error="[CDC:ErrX] no"), partly, dml=True) is not None
    assert compare_outcomes(Outcome(error="nil pointer", crashed=True), Outcome(partly.records[:1]), dml=True)


def test_a_refusal_must_be_typed_and_silent() -> None:
    refused = Outcome(error="[CDC:ErrX] no")
    assert compare_outcomes(refused, Outcome(error="our own words"), dml=True) is None
    crashed = Outcome(error="KeyError: 'x'", crashed=True)
    assert compare_outcomes(refused, crashed, dml=True) == "the library crashed: KeyError: 'x'"
    assert compare_outcomes(Outcome(), crashed, dml=True) == "the library crashed: KeyError: 'x'"
    assert "the library gave 1 message" in (compare_outcomes(refused, Outcome((Record(b"", b"v"),)), dml=True) or "")


def test_several_messages_are_numbered() -> None:
    one, two = Record(b"", b"1"), Record(b"", b"2")
    difference = compare_outcomes(Outcome((one, two)), Outcome((one, one)), dml=True)
    assert (difference or "").startswith("message 1: value differs at byte 0")
    assert compare_outcomes(Outcome((one, two)), Outcome((one,)), dml=True) == (
        "TiCDC gives 2 messages, the library 1 message"
    )


def test_a_refused_row_of_a_transaction_matches_any_refusal_in_its_place() -> None:
    sent, refused = Record(b"", b"1"), Record(None, None, error="[CDC:ErrX] no")
    ours = refused._replace(error="our own words")
    assert compare_outcomes(Outcome((sent, refused)), Outcome((sent, ours)), dml=True) is None
    assert compare_outcomes(Outcome((sent, refused)), Outcome((sent, sent)), dml=True) == (
        "message 1: TiCDC refuses this ([CDC:ErrX] no), the library gave a message"
    )
    assert compare_outcomes(Outcome((sent, sent)), Outcome((sent, ours)), dml=True) == (
        "message 1: the library refuses this: our own words"
    )


def test_a_stored_object_is_compared_where_one_is_recorded() -> None:
    with_object, without = Record(b"", b"v", b"object"), Record(b"", b"v")
    assert compare_outcomes(Outcome((without,)), Outcome((with_object,)), dml=True) is None
    assert "claim differs" in (compare_outcomes(Outcome((with_object,)), Outcome((without,)), dml=True) or "")
    other = with_object._replace(claim=b"Object")
    assert "claim differs at byte 0" in (compare_outcomes(Outcome((with_object,)), Outcome((other,)), dml=True) or "")


def test_in_a_free_run_the_order_does_not_matter_and_everything_else_does() -> None:
    a, b, c, d = (Record(b"", value) for value in (b"a", b"b", b"c", b"d"))
    recorded = Outcome((a, b, c, c))
    assert compare_outcomes(recorded, Outcome((b, a, c, c)), dml=True, runs=(2, 2)) is None
    assert compare_outcomes(recorded, Outcome((b, a, c, c)), dml=True) is not None
    for got in ((a, c, b, c), (a, a, c, c), (a, b, c, d), (a, b, c)):
        assert compare_outcomes(recorded, Outcome(got), dml=True, runs=(2, 2)) is not None
    keyless = Outcome((a._replace(key=None), b._replace(key=None)))
    assert compare_outcomes(keyless, Outcome((b, a)), dml=True, runs=(2,)) is None


def test_free_runs_are_those_of_a_long_transaction_with_a_split_update() -> None:
    def event(rows: int, ops: str) -> dict[str, object]:
        return {"rows": [{}] * rows, "emitted": [{"op": op} for op in ops]}

    assert free_runs(event(8, "dddddduiiiiii"), CLASSIC) == (6, 1, 6)
    assert free_runs(event(6, "ddddddiiiiii"), CLASSIC) == ()  # up to 12 Go's sort is stable
    assert free_runs(event(13, "dddddduuiiiii"), CLASSIC) == ()  # nothing was split, so nothing sorted
    assert free_runs(event(8, "dddddduiiiiii"), NEXT) == ()
    assert free_runs({"kind": "row"}, CLASSIC) == ()


@pytest.mark.parametrize(
    ("expected", "got", "difference"),
    [
        ([Target("t", 1)], [Target("t", 1)], None),
        ([Target("t")], [Target("t")], None),
        ([Target("t", 1)], [Target("t", 2)], "partition: got 2, expected 1"),
        ([Target("t", 1), Target("u", 0)], [Target("t", 1), Target("t", 0)], "target 1: topic: got 't', expected 'u'"),
        ([Target("t", error="[X]a")], [Target("t", error="[X]b")], "error: got '[X]b', expected '[X]a'"),
        ([Target("t", error="index out of range", panic=True)], [Target("t", error="typed")], None),
        ([Target("t", error="boom", panic=True)], [Target("t", 0)], "partition: got 0, expected None"),
        ([Target("t", 1)], [], "TiCDC gives 1 targets, the library 0"),
    ],
)
def test_targets(expected: list[Target], got: list[Target], difference: str | None) -> None:
    assert compare_targets(expected, got) == difference


@pytest.mark.parametrize(
    ("got", "expected", "difference"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, None),
        ({"a": 1}, {"a": 2}, "a: got 1, expected 2"),
        ({"a": True}, {"a": 1}, "a: got True, expected 1"),
        ({"a": {"b": [1]}}, {"a": {"b": [1, 2]}}, "a.b: 1 entries, expected 2"),
        ({"a": {"b": [1, 3]}}, {"a": {"b": [1, 2]}}, "a.b[1]: got 3, expected 2"),
        ({}, {"a": 0}, "a: missing here: 0"),
        ({"a": 0}, {}, "a: only here: 0"),
    ],
)
def test_first_difference(got: object, expected: object, difference: str | None) -> None:
    assert first_difference(got, expected) == difference


def packed(compression: str, data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data) if compression == "snappy" else cramjam.lz4.compress(data))


def large(compression: str, *parts: str, raw_value: bool = False) -> LargeMessages:
    return LargeMessages(compression=compression, compressed_parts=parts, raw_value=raw_value)


@pytest.mark.parametrize("compression", ["snappy", "lz4"])
def test_only_what_is_compressed_is_decompressed(compression: str) -> None:
    sent = Outcome((Record(packed(compression, b"k"), packed(compression, b"v")),))
    assert plain_outcome(sent, large(compression, "key", "value")) == Outcome((Record(b"k", b"v"),))
    (record,) = plain_outcome(sent, large(compression, "value")).records
    assert record == Record(sent.records[0].key, b"v")
    assert plain_outcome(sent, large("none")) is sent


@pytest.mark.parametrize("compression", ["snappy", "lz4"])
def test_what_does_not_decompress_stays(compression: str) -> None:
    sent = Outcome((Record(None, b'{"not": "compressed"}'), Record(None, None, error="refused")))
    assert plain_outcome(sent, large(compression, "value")) == sent


@pytest.mark.parametrize("compression", ["snappy", "lz4"])
def test_a_stored_object(compression: str) -> None:
    value = packed(compression, b"v")
    shown = base64.b64encode(value)
    sent = Outcome((Record(b"", value, b'{"key":null, "value":"%s"}' % shown),))
    (record,) = plain_outcome(sent, large(compression, "value")).records
    assert record == Record(b"", b"v", b'{"key":null, "value":"dg=="}')
    (record,) = plain_outcome(
        Outcome((Record(b"", value, value),)), large(compression, "value", raw_value=True)
    ).records
    assert record == Record(b"", b"v", b"v")
    (record,) = plain_outcome(Outcome((Record(b"", value, b"no JSON"),)), large(compression, "value")).records
    assert record.claim == b"no JSON"


@pytest.mark.parametrize("compression", ["snappy", "lz4"])
def test_rows_of_one_message_are_decompressed_one_by_one(compression: str) -> None:
    several = replace(large(compression, "value"), packing=OpenPacking(4))
    value = frame(packed(compression, b"v")) + frame(packed(compression, b"w")) + frame(b"")
    shown = base64.b64encode(value)
    sent = Outcome((Record(b"k", value, b'{"key":null, "value":"%s"}' % shown),))
    (record,) = plain_outcome(sent, several).records
    plain = frame(b"v") + frame(b"w") + frame(b"")
    assert record == Record(b"k", plain, b'{"key":null, "value":"%s"}' % base64.b64encode(plain))
    broken = Outcome((Record(b"k", value[:-9]), Record(b"k", None)))
    assert plain_outcome(broken, several) == broken


def test_slots_are_left_out_by_folder_case_and_type_of_column() -> None:
    info = {"columns": [{"sql_type": "int(11)"}, {"sql_type": "time(3)"}]}
    other = {"columns": [{"sql_type": "time"}]}
    events = (
        {"kind": "ddl", "schema": "test", "table": "t", "table_info": info},
        {"kind": "ddl", "schema": "test", "table": "u", "table_info": other},
        {"kind": "row", "schema": "test", "table": "t"},
        {"kind": "row", "schema": "test", "table": "u"},
    )
    (slots,) = left_out_of(Path("any/next-v8.5.5/extra/rel_any.json.gz"), events)
    assert [event for event in range(4) if slots.covers("canal-json", event)] == [2]
    assert left_out_of(Path("any/next-v8.5.6/extra/rel_any.json.gz"), events) == ()
    (slots,) = left_out_of(Path("next-v8.5.6/codec/txn_raw.json"), events)
    assert slots.covers("debezium-avro-ext", 2)
    assert not slots.covers("debezium", 2)
    assert not slots.covers("catalog", 0)
