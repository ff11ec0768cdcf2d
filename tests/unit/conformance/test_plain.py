"""Compressed messages are compared by what was compressed, and everything around it byte for byte."""

from __future__ import annotations

import base64

import cramjam
import pytest

from ticdc_emit.conformance.plain import plain_outcome
from ticdc_emit.conformance.vectors import Outcome, Record
from ticdc_emit.pipeline.large_messages import LargeMessages


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
