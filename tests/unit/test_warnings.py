"""A warning points at the caller's line, whichever way the library was called."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from ticdc_emit import Encoder, TicdcSink, load_changefeed
from ticdc_emit.changes.commit_ts import CommitTsWarning
from ticdc_emit.config import ConfigWarning, LargeMessageHandle, Secret
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.plan.table_plans import KeylessTableWarning
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.spark.datasource import SourceOptions
from ticdc_emit.traffic.history import History

URI = "memory://caller?protocol=canal-json"
ODD = f"{URI}&no-such-option=1"
SCHEMA = "create table s.t (id int primary key)"
FEED = load_changefeed(URI)
KEYLESS = f"{SCHEMA}; create table s.log (a int)"
EARLY = pa.record_batch({"op": ["c"], "commit_ts": pa.array([1_700_000_000], pa.uint64()), "after": [{"id": 1}]})
CLAIMS = LargeMessageHandle("claim-check", claim_check_storage_uri=Secret("s3://b/p?region=x&pretty=1"))


@pytest.mark.parametrize(
    ("call", "category"),
    [
        (lambda: load_changefeed(ODD), ConfigWarning),
        (lambda: Encoder(ODD, SCHEMA), ConfigWarning),
        (lambda: TicdcSink(ODD, SCHEMA), ConfigWarning),
        (lambda: SourceOptions.read({"sinkUri": ODD.replace("memory", "jsonl"), "schema": SCHEMA}), ConfigWarning),
        (lambda: ReferenceConsumer(ODD, SCHEMA), ConfigWarning),
        (lambda: History(SCHEMA).messages(ODD), ConfigWarning),
        (lambda: ClaimStore.of(CLAIMS), ConfigWarning),
        (lambda: Changefeed(FEED, MemorySink("caller"), KEYLESS), KeylessTableWarning),
        (
            lambda: Changefeed(FEED, MemorySink("caller"), SCHEMA).run(ArrowBatch([EARLY]), 0, final=True),
            CommitTsWarning,
        ),
        (lambda: Encoder(URI, SCHEMA).encode(EARLY), CommitTsWarning),
    ],
    ids=["load", "encoder", "sink", "data source", "consumer", "history", "claims", "keyless", "run", "encode"],
)
def test_a_warning_points_at_the_callers_line(call: Callable[[], object], category: type[Warning]) -> None:
    with pytest.warns(category) as warned:
        call()
    places = {(each.filename, each.lineno) for each in warned if each.category is category}
    assert places == {(__file__, call.__code__.co_firstlineno)}
