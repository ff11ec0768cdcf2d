"""Random histories through the files of a storage sink and back: the reference consumer's tables are the source's."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit.config import ChangefeedConfig, ConfigWarning, load_changefeed
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.storage_folder import FolderReader
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.pipeline.batch import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.storage import Folder, MemoryFolder
from ticdc_emit.strategies import histories
from ticdc_emit.traffic import History


@dataclass(frozen=True)
class InMemory(StorageSink):
    """The sink, with a folder in memory."""

    kept: MemoryFolder = field(default_factory=MemoryFolder)

    def folder(self) -> Folder:
        return self.kept


def csv_options() -> st.SearchStrategy[dict[str, Any]]:
    forms = st.sampled_from(
        [{}, {"quote": "'", "delimiter": "|", "null": "NULL"}, {"delimiter": "\t"}, {"delimiter": "|+|", "quote": '"'}]
    )
    switches = st.fixed_dictionaries(
        {name: st.booleans() for name in ("output-old-value", "output-field-header")}
        | {"include-commit-ts": st.just(True), "binary-encoding-method": st.sampled_from(["base64", "hex"])}
    )
    return st.builds(lambda form, more: form | more, forms, switches)


@st.composite
def configs(draw: st.DrawFn, protocol: str, release: str, time_zone: str) -> ChangefeedConfig:
    sink = {
        "date-separator": draw(st.sampled_from(["none", "day", "month"])),
        "terminator": draw(st.sampled_from(["\r\n", "\n"])),
        "file-index-digit": draw(st.sampled_from([6, 20])),
        "csv": draw(csv_options()),
    }
    more = "&enable-tidb-extension=true" if protocol == "canal-json" else ""
    own = {"ticdc-emit": {"ddl_text": "as-given", "release": release}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return load_changefeed(f"file:///x?protocol={protocol}{more}", {"sink": sink, **own}, time_zone=time_zone)


def sent(history: History, config: ChangefeedConfig, *, batches: int, again: bool) -> MemoryFolder:
    """The folder after the history, sent in batches; ``again``: the last one runs twice, as after a failure."""
    made = sink_for(config)
    assert isinstance(made, StorageSink)
    sink = InMemory(made.uri, made.rules)
    feed = Changefeed(config, sink, history.schema, ddl=history.ddl)
    rows = history.to_arrow().sort_by("commit_ts")
    stamps = rows.column("commit_ts").to_pylist()
    cuts = [0, *(place for place in range(1, len(stamps)) if stamps[place] != stamps[place - 1])][:batches]
    for number, (start, end) in enumerate(zip(cuts, [*cuts[1:], len(stamps)], strict=True)):
        feed.run(ArrowBatch(rows.slice(start, end - start)), number, final=False)
        if again and end == len(stamps):
            feed.run(ArrowBatch(rows.slice(start, end - start)), number, final=False)
    feed.finish()
    return sink.kept


@pytest.mark.parametrize("release", ["classic", "next"])
@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
@settings(max_examples=examples(320))
@given(data=st.data())
def test_tables_come_back(protocol: str, release: str, data: st.DataObject) -> None:
    zone = data.draw(st.sampled_from(["UTC", "America/New_York"]))
    history = data.draw(histories(time_zone=zone, allow_backslashes=True, max_commits=6, max_columns=5))
    config = data.draw(configs(protocol, release, zone))
    folder = sent(history, config, batches=data.draw(st.integers(1, 3)), again=data.draw(st.booleans()))
    consumer = ReferenceConsumer(config, history.catalog(config=config))
    reader = FolderReader(config, folder, reader_for(config))
    consumer.take_all(reader.read())
    consumer.finish()
    assert consumer.skipped == 0
    assert consumer.tables == history.tables()
    assert list(reader.read()) == []
