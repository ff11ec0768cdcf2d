"""The count of what two rows cross (``walk.py``) is the same each time, and stays in the rooms of a changefeed."""

from __future__ import annotations

from walk import walk


def test_the_count_is_the_same_each_time() -> None:
    first, second = walk("canal-json"), walk("canal-json")
    assert first == second
    assert {"ticdc_emit.pipeline.run", "ticdc_emit.pipeline.encode.messages"} <= first.modules
    assert {"ticdc_emit.pipeline", "ticdc_emit.delivery"} <= first.packages
    assert not first.packages & {"ticdc_emit.spark", "ticdc_emit.consume", "ticdc_emit.traffic", "ticdc_emit.cli"}
