"""A commit_ts that looks like seconds, milliseconds or microseconds is taken, with one warning."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.changefeed import ArrowBatch, Changefeed
from ticdc_emit.changes.commits import CommitTsWarning
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory_sink import MemorySink, clear
from ticdc_emit.tso import compose

URI = "memory://early?protocol=canal-json"
SCHEMA = "create table s.t (id int primary key)"


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    clear("early")


def inserts(*stamps: int) -> pa.RecordBatch:
    after = [{"id": place} for place in range(len(stamps))]
    return pa.record_batch({"op": ["c"] * len(stamps), "commit_ts": pa.array(stamps, pa.uint64()), "after": after})


def run(encoder: bool, *batches: pa.RecordBatch) -> None:
    if encoder:
        one = Encoder(URI, SCHEMA)
        for batch in batches:
            one.encode(batch)
    else:
        feed = Changefeed(load_changefeed(URI), MemorySink("early"), SCHEMA)
        for number, batch in enumerate(batches):
            feed.run(ArrowBatch([batch]), number, final=False)


@pytest.mark.parametrize("encoder", [True, False])
@pytest.mark.parametrize(
    ("stamp", "unit", "remedy"),
    [
        (1_700_000_000, "seconds", "tso.compose(seconds * 1000)"),
        (1_700_000_000_000, "milliseconds", "tso.compose(milliseconds)"),
        (1_700_000_000_000_000, "microseconds", "tso.tso_from_micros(microseconds)"),
        (compose(1_200_000_000_000), "a count", "tso.tso_from_datetime(moment)"),
    ],
)
def test_one_warning(encoder: bool, stamp: int, unit: str, remedy: str) -> None:
    with pytest.warns(CommitTsWarning) as warned:
        run(encoder, inserts(stamp, stamp + 1), inserts(stamp + 5))
    (told,) = [str(each.message) for each in warned if each.category is CommitTsWarning]
    assert unit in told
    assert remedy in told
    assert "commit_time" in told


@pytest.mark.parametrize("encoder", [True, False])
@pytest.mark.parametrize("stamp", [1, 999, compose(1_262_304_000_000), 450_000_000_262_144_000])
def test_no_warning(encoder: bool, stamp: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", CommitTsWarning)
        run(encoder, inserts(stamp, stamp + 1))
