"""Every variant and route of every vector file loads, or is refused with the text that TiCDC gave."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest
from vector_files import load_vector, vector_names

from ticdc_emit.config import ChangefeedConfig, ConfigWarning, load_changefeed
from ticdc_emit.errors import ConfigError

# What the event router, not the config, refuses.
ROUTER_CODES = (
    *("[CDC:ErrFilterRuleInvalid]", "[CDC:ErrKafkaTopicExprInvalid]", "[CDC:ErrDispatcherFailed]"),
    "[CDC:ErrKafkaInvalidConfig]invalid topic expression",
)
CASES = [(lineage, name) for lineage in ("classic", "next") for name in vector_names(lineage)]


def load(case: dict[str, Any], sink: dict[str, Any], release: str) -> ChangefeedConfig:
    # The recorder gave its registry's address to the variants of Avro, outside the recorded URI.
    named = "protocol=avro", "protocol=debezium-avro"
    registry = "http://127.0.0.1:8081" if any(name in sink["sink_uri"] for name in named) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return load_changefeed(
            sink["sink_uri"],
            sink.get("changefeed"),
            release=release,
            time_zone=case["timezone"],
            cluster_id=case.get("cluster_id", "default"),
            integrity=case.get("integrity"),
            force_replicate=case.get("force_replicate"),
            strict=False,  # the recorder read the file itself, not by cdc cli
            schema_registry=registry,
        )


@pytest.mark.parametrize(("lineage", "name"), CASES)
def test_variants_and_routes(lineage: str, name: str) -> None:
    case = load_vector(name, lineage)
    for sink in [*(case["variants"] or []), *(case.get("routes") or [])]:
        expected = sink.get("config_error")
        if expected and not expected.startswith(ROUTER_CODES):
            with pytest.raises(ConfigError) as refusal:
                load(case, sink, lineage)
            assert refusal.value.message == expected, sink["id"]
            assert refusal.value.code == expected[1 : expected.index("]")]
        else:
            config = load(case, sink, lineage)
            assert pickle.loads(pickle.dumps(config)) == config
            assert config.time_zone == case["timezone"]


def test_the_vectors_hold_refusals() -> None:
    cases = (load_vector(name, lineage) for lineage, name in CASES)
    sinks = [sink for case in cases for kind in ("variants", "routes") for sink in case.get(kind) or ()]
    assert sum("config_error" in sink for sink in sinks) >= 50
