"""What is left out follows from the configuration."""

from __future__ import annotations

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.conformance.scope import variant_left_out

BASE = "kafka://127.0.0.1:9092/t?protocol=canal-json&enable-tidb-extension=true"
AVRO = "kafka://127.0.0.1:9092/t?protocol=avro"
LARGE = "[sink.kafka-config.large-message-handle]\n"


@pytest.mark.parametrize(
    ("uri", "changefeed", "profile", "reason"),
    [
        (BASE, None, "classic", None),
        (BASE + "&only-output-updated-columns=true&max-message-bytes=700", None, "classic", None),
        (BASE, LARGE + 'large-message-handle-option = "handle-key-only"', "classic", None),
        (BASE, "[sink]\ncolumn-selectors = [{matcher=['t.*'], columns=['a']}]", "classic", None),
        (BASE, "[sink]\ndispatchers = [{matcher=['t.*'], partition='ts'}]", "classic", None),
        (AVRO + "&avro-include-before-value=true", None, "next", "avro-include-before-value"),
        (AVRO + "&avro-include-before-value=true", None, "classic", None),
        (BASE + "&output-row-key=true", None, "next", "output-row-key"),
        (BASE + "&output-row-key=true", None, "classic", None),
    ],
)
@pytest.mark.filterwarnings("ignore::ticdc_emit.config.ConfigWarning")
def test_variants(uri: str, changefeed: str | None, profile: str, reason: str | None) -> None:
    left_out = variant_left_out(
        load_changefeed(uri, changefeed, profile=profile, schema_registry="http://127.0.0.1:8081")
    )
    assert (left_out or "").startswith(reason or "")
    assert (left_out is None) == (reason is None)
