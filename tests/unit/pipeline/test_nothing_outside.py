"""What can be checked is checked before anything outside is touched: no topic, no subject, no record, no folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.config import Secret, load_changefeed
from ticdc_emit.delivery.base import MessageWriter
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.errors import (
    DdlError,
    DeliveryError,
    InvalidValueError,
    MissingColumnError,
    SchemaError,
    StateError,
    TicdcEmitError,
    UnknownTableError,
    UnsupportedTypeError,
)
from ticdc_emit.pipeline.deliver.deliver_task import RESULT_SCHEMA, TaskResult, read_results, result_batch
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.encode.error_json import error_as_json
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.tso import compose

SCHEMA = "create table s.t (id int primary key, amount decimal(6, 2) not null)"
NOW = compose(1_700_000_000_000)


@dataclass
class WatchedSink:
    calls: list[str] = field(default_factory=list)
    to: MemorySink = field(default_factory=lambda: MemorySink("nothing-outside"))

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        self.calls += topics
        return self.to.prepare(topics)

    def message_limit(self, topics: Iterable[str]) -> int:
        return self.to.message_limit(topics)

    def open(self, message_limit: int | None = None) -> MessageWriter:
        return self.to.open(message_limit)


class Stage:
    def __init__(self, folder: Path, protocol: str = "avro", schema: str = SCHEMA, **options: Any) -> None:
        self.sink, self.registry, self.state = WatchedSink(), MemoryRegistry(), folder / "state"
        if options.pop("keeps_state", True):
            options["state_uri"] = Secret(str(self.state))
        self.feed = Changefeed(
            load_changefeed(f"memory://x/t?protocol={protocol}&schema-registry=http://nowhere.invalid"),
            self.sink,
            schema,
            ddl=options.pop("ddl", ()),
            options=RunOptions(**options),
            registry=self.registry,
        )

    @property
    def is_untouched(self) -> bool:
        return not (self.sink.calls or self.registry.posts or self.state.exists())


def image(**types: pa.DataType) -> pa.StructType:
    return pa.struct(list(types.items()))


WHOLE = image(id=pa.int64(), amount=pa.decimal128(6, 2))
ROW = {"op": "c", "commit_ts": NOW, "after": {"id": 1, "amount": 1}}


def typed(after: pa.DataType = WHOLE, **columns: pa.DataType) -> pa.Table:
    types = {"op": pa.string(), "commit_ts": pa.int64(), "after": after, **columns}
    kept = {name: kind for name, kind in types.items() if kind is not None}
    return pa.table({name: pa.nulls(1, kind) for name, kind in kept.items()})


def generic(table: str) -> pa.Table:
    text = pa.map_(pa.string(), pa.string())
    types = {"schema": pa.string(), "table": pa.string(), "op": pa.string(), "commit_ts": pa.int64(), "after": text}
    row = {**ROW, "schema": "s", "table": table, "after": [("id", "1"), ("amount", "1.00")]}
    return pa.Table.from_pylist([row], pa.schema(list(types.items())))


def test_construction_reaches_out_to_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    assert stage.feed.outline.tables
    assert stage.feed.next_batch_id() == 0
    assert stage.is_untouched


REFUSED: dict[str, tuple[pa.Table, type[TicdcEmitError]]] = {
    "a date for DECIMAL": (typed(image(id=pa.int64(), amount=pa.date32())), UnsupportedTypeError),
    "a list for INT": (typed(image(id=pa.list_(pa.int64()), amount=pa.string())), UnsupportedTypeError),
    "an image that is a number": (typed(pa.int64()), UnsupportedTypeError),
    "an unknown column": (typed(image(id=pa.int64(), amount=pa.string(), x=pa.int64())), InvalidValueError),
    "a missing column": (typed(image(id=pa.int64())), MissingColumnError),
    "no op": (typed(op=None), MissingColumnError),  # type: ignore[arg-type]
    "no commit_ts": (typed(commit_ts=None), MissingColumnError),  # type: ignore[arg-type]
    "a text for commit_ts": (typed(commit_ts=pa.string()), UnsupportedTypeError),
    "a text for seq": (typed(seq=pa.string()), UnsupportedTypeError),
    "an unknown table": (generic("u"), UnknownTableError),
}


@pytest.mark.parametrize("protocol", ["avro", "canal-json"])
@pytest.mark.parametrize(("rows", "error"), REFUSED.values(), ids=REFUSED)
def test_rows_that_cannot_be_right(rows: pa.Table, error: type[TicdcEmitError], protocol: str, tmp_path: Path) -> None:
    stage = Stage(tmp_path, protocol)
    with pytest.raises(error) as refused:
        stage.feed.run(ArrowBatch(rows), 0, final=True)
    assert stage.is_untouched, refused.value


@pytest.mark.parametrize("keeps_state", [True, False])
def test_a_ddl_that_does_not_apply(keeps_state: bool, tmp_path: Path) -> None:
    stage = Stage(tmp_path, keeps_state=keeps_state)
    row = {"op": "ddl", "commit_ts": NOW, "query": "alter table s.t drop column nothing", "after": None}
    types = [("op", pa.string()), ("commit_ts", pa.int64()), ("query", pa.string()), ("after", WHOLE)]
    with pytest.raises((DdlError, SchemaError)):
        stage.feed.run(ArrowBatch(pa.Table.from_pylist([row], pa.schema(types))), 0, final=True)
    assert stage.is_untouched


def test_another_writers_state_keeps_topics_and_subjects_untouched(tmp_path: Path) -> None:
    first, second = Stage(tmp_path), Stage(tmp_path)
    types = pa.schema([("op", pa.string()), ("commit_ts", pa.int64()), ("after", WHOLE)])
    rows = pa.Table.from_pylist([ROW], types)
    first.feed.run(ArrowBatch(rows), 0, final=True)
    second.feed.run(ArrowBatch(rows), 0, final=True)
    touched = [*first.sink.calls, *first.registry.posts]
    with pytest.raises(StateError, match="has taken over"):
        first.feed.run(ArrowBatch(rows), 1, final=True)
    assert [*first.sink.calls, *first.registry.posts] == touched


def test_a_type_that_one_version_takes_is_left_to_its_rows(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ddl=[(NOW, "alter table s.t modify amount double not null")])
    after = image(id=pa.int64(), amount=pa.float64())
    types = pa.schema([("op", pa.string()), ("commit_ts", pa.int64()), ("after", after)])
    rows = pa.Table.from_pylist([{**ROW, "commit_ts": NOW + 1}], types)
    assert stage.feed.run(ArrowBatch(rows), 0, final=True).rows == 1


def test_columns_of_one_version_are_enough(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ddl=[(NOW, "alter table s.t add column more int")])
    types = pa.schema([("op", pa.string()), ("commit_ts", pa.int64()), ("after", WHOLE)])
    assert stage.feed.run(ArrowBatch(pa.Table.from_pylist([ROW], types)), 0, final=True).rows == 1


@dataclass
class Diary:
    entries: list[str] = field(default_factory=list)

    def begin(self) -> None:
        self.entries.append("begin")

    def undo(self) -> None:
        self.entries.append("undo")


def inserts(*amounts: int | None) -> ArrowBatch:
    types = pa.schema([("op", pa.string()), ("commit_ts", pa.int64()), ("after", WHOLE)])
    rows = [{**ROW, "after": {"id": id_, "amount": amount}} for id_, amount in enumerate(amounts)]
    return ArrowBatch(pa.Table.from_pylist(rows, types))


def test_refused_values_leave_no_record_where_hooks_are_given(tmp_path: Path) -> None:
    stage, diary = Stage(tmp_path), Diary()
    with pytest.raises(InvalidValueError):
        stage.feed.run(inserts(1, None), 0, final=True, hooks=diary)
    assert diary.entries == ["begin", "undo"]
    assert not list(stage.state.glob("batch-*"))
    assert stage.feed.run(inserts(1, 2), 0, final=True, hooks=diary).rows == 2
    assert diary.entries == ["begin", "undo", "begin"]


def test_a_record_stays_where_messages_may_have_arrived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, diary = Stage(tmp_path), Diary()

    def refuse(*_: object) -> MessageWriter:
        raise DeliveryError("the connection was lost")

    monkeypatch.setattr(stage.sink, "open", refuse)
    with pytest.raises(DeliveryError):
        stage.feed.run(inserts(1), 0, final=True, hooks=diary)
    assert diary.entries == ["begin"]
    assert [path.name for path in stage.state.glob("batch-*")] == ["batch-0.json"]


def test_an_error_behind_sent_messages_says_how_many_there_were() -> None:
    (delivered,) = result_batch({("t", 0): TaskResult(rows=2, messages=2)}).to_pylist()
    failed = {"error": error_as_json(InvalidValueError("no")), "messages": 3}
    with pytest.raises(InvalidValueError) as refused:
        read_results(pa.Table.from_pylist([delivered, failed], RESULT_SCHEMA))
    assert refused.value.messages_sent == 5
    with pytest.raises(InvalidValueError) as refused:
        read_results(pa.Table.from_pylist([{**failed, "messages": 0}], RESULT_SCHEMA))
    assert refused.value.context == {}
