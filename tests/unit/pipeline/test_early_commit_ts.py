"""A commit_ts that looks like a count since 1970 is taken, with one warning; a changefeed refuses one after 2099."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.changes.commit_ts import CommitTsWarning
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.errors import ConfigError, InvalidValueError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
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


FAR = [(compose(4_102_444_800_000), ""), (1_700_000_000_000_000_000, "nanoseconds since 1970"), (2**63 - 1, "")]


@pytest.mark.parametrize(("stamp", "looks"), FAR)
def test_the_encoder_warns_of_the_far_future(stamp: int, looks: str) -> None:
    with pytest.warns(CommitTsWarning, match=f"commit_ts={stamp} is a TSO of .*{looks}") as warned:
        run(True, inserts(5, stamp), inserts(stamp))
    assert len([each for each in warned if each.category is CommitTsWarning]) == 1


@pytest.mark.parametrize(("stamp", "looks"), FAR)
def test_no_row_of_the_far_future_raises_the_watermark_of_a_changefeed(stamp: int, looks: str) -> None:
    """One such row would make every later row late, for ever where the state is kept."""
    skipping, marked = RunOptions(bad_rows="skip"), f"{URI}&enable-tidb-extension=true"
    ordinary = 450_000_000_262_144_000
    for options in (RunOptions(), skipping):
        feed = Changefeed(load_changefeed(marked), MemorySink("early"), SCHEMA, options=options)
        mixed = ArrowBatch([inserts(ordinary, stamp, ordinary + 1)])
        if options is skipping:
            report = feed.run(mixed, 0, final=True)
            assert (report.rows, report.skipped_rows, report.watermark) == (2, 1, ordinary + 1)
        else:
            with pytest.raises(InvalidValueError, match=f"is a TSO of .*{looks}: its watermark") as refused:
                feed.run(mixed, 0, final=True)
            assert refused.value.row == {"position": 1}
            assert refused.value.bad_rows.count == 1
            assert messages("early") == []
            feed.run(ArrowBatch([inserts(ordinary)]), 0, final=True)
        assert feed.run(ArrowBatch([inserts(ordinary + 5)]), 1, final=True).rows == 1


def test_no_ddl_of_the_far_future_raises_it() -> None:
    statement = (2**63 - 1, "alter table s.t add column v int")
    feed = Changefeed(load_changefeed(URI), MemorySink("early"), SCHEMA, ddl=[statement])
    with pytest.raises(ConfigError, match="after 2099"):
        feed.run(ArrowBatch([inserts(5)]), 0, final=True)


@pytest.mark.parametrize("kind", [pa.uint64(), pa.int64(), pa.decimal128(20), pa.timestamp("us", tz="UTC")])
def test_a_commit_ts_of_zero_is_a_bad_row(kind: pa.DataType) -> None:
    name = "commit_time" if pa.types.is_timestamp(kind) else "commit_ts"
    stamps = pa.array([5_000_000, 0, 6_000_000, 0], pa.int64()).cast(kind)
    batch = pa.record_batch({"op": ["c"] * 4, name: stamps, "after": [{"id": place} for place in range(4)]})
    with pytest.raises(InvalidValueError, match="0 is not the TSO of a commit") as refused:
        Encoder(URI, SCHEMA).encode(batch)
    assert (refused.value.column, refused.value.row) == (name, {"position": 1})
    assert refused.value.bad_rows.count == 2
    encoder = Encoder(URI, SCHEMA, bad_rows="skip")
    assert encoder.encode(batch).num_rows == 2
    assert [each.position for each in encoder.skipped] == [1, 3]
    feed = Changefeed(load_changefeed(URI), MemorySink("early"), SCHEMA, options=RunOptions(bad_rows="skip"))
    report = feed.run(ArrowBatch([batch]), 0, final=True)
    assert (report.rows, report.skipped_rows) == (2, 2)
