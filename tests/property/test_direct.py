"""Rows that are held and rows that go as chunks are sent as the same bytes: every protocol, random histories."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from round_trip import kinds_of, round_trips

from ticdc_emit.config import RELEASES
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.delivery.storage_files import MemoryFilesSink
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.registry.base import MemoryRegistry

KINDS = sorted({kind for release in RELEASES for kind in kinds_of(release)})


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(10_000 // len(KINDS), share=160), deadline=None)
@given(data=st.data())
def test_both_paths_send_the_same_bytes(kind: str, data: st.DataObject) -> None:
    release = data.draw(st.sampled_from([name for name in RELEASES if kind in kinds_of(name)]), label="release")
    trip = data.draw(round_trips(kind, release, max_commits=6, max_columns=5), label="trip")
    interval = data.draw(st.sampled_from([None, 1.0]), label="watermark_interval")
    config, history, options = trip.config(), trip.history, RunOptions(watermark_interval=interval)

    def sent(direct: bool) -> object:
        store = f"direct-{uuid4()}"
        is_stored = bool(config.sink_uri.stored)
        sink = MemoryFilesSink.of(config) if is_stored else MemorySink(store, config.codec.max_message_bytes)
        registry = MemoryRegistry()
        try:
            feed = Changefeed(config, sink, history.catalog(), ddl=history.ddl, registry=registry, options=options)
            batch = ArrowBatch(history.to_arrow(), **({} if direct else {"memory_limit": 1}))
            feed.run(batch, 0, final=True)
            return sink.kept.writes if is_stored else messages(store)
        except TicdcEmitError as error:
            return type(error), str(error)
        finally:
            clear(store)

    assert sent(direct=True) == sent(direct=False)
