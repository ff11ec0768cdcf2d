"""A codec travels to Spark's workers as a pickle."""

from __future__ import annotations

import pickle

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.protocols import codec_for

SECRET = "hunter2"
REGISTRY = f"http://user:{SECRET}@127.0.0.1:8081"
STORAGE = f"""
    [sink.kafka-config.large-message-handle]
    large-message-handle-option = "claim-check"
    claim-check-storage-uri = "s3://bucket/claims?secret-access-key={SECRET}"
"""


@pytest.mark.parametrize("protocol", ["canal-json&enable-tidb-extension=true", "open-protocol", "simple"])
def test_a_codec_does_not_hold_the_claim_check_storage(protocol: str) -> None:
    changefeed = load_changefeed(f"kafka://127.0.0.1:9092/t?protocol={protocol}", STORAGE)
    assert SECRET.encode() in pickle.dumps(changefeed.codec)
    assert SECRET.encode() not in pickle.dumps(codec_for(changefeed))


@pytest.mark.parametrize("protocol", ["avro", "debezium-avro"])
def test_a_codec_does_not_hold_the_registry(protocol: str) -> None:
    changefeed = load_changefeed(
        f"kafka://127.0.0.1:9092/t?protocol={protocol}", schema_registry=REGISTRY, release="next"
    )
    assert SECRET.encode() in pickle.dumps(changefeed.codec)
    assert SECRET.encode() not in pickle.dumps(codec_for(changefeed))
