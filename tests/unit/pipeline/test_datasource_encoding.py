"""``format("ticdc")``: what is refused before a row is staged, executors encode, the driver's commit merges."""

from __future__ import annotations

import json
import os
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark import TaskContext
from pyspark.sql.types import DataType, DateType, LongType, MapType, StringType, StructType

from ticdc_emit.config import Secret, load_changefeed
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import (
    BrokerUnreachableError,
    ConfigError,
    DeliveryError,
    InvalidValueError,
    LateRowError,
    SchemaError,
    StateError,
    TemporaryFileError,
    UnknownTableError,
    UnsupportedTypeError,
)
from ticdc_emit.pipeline.deliver.deliver_task import RESULT_SCHEMA, read_results
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.encode.chunks import CHUNK_SCHEMA, ChunkKind
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.spark.datasource import TicdcDataSource
from ticdc_emit.tso import compose

START = 1_700_000_000_000
TABLES = "create table s.t (id int primary key, v varchar(9)); create table s.u (id int primary key)"
BY_VALUE = "[sink]\ndispatchers = [{ matcher = ['*.*'], partition = 'index-value' }]\n"
OFTEN = BY_VALUE + "send-bootstrap-interval-in-sec = 1\nsend-bootstrap-in-msg-count = 5\n"
CANAL = "protocol=canal-json&enable-tidb-extension=true&partition-num=3"
SIMPLE = "protocol=simple&partition-num=3"
TYPED = pa.schema(
    [("op", "string"), ("commit_ts", "int64"), ("after", pa.struct([("id", pa.int64()), ("v", pa.string())]))]
)
GENERIC = pa.schema(
    [
        ("schema", "string"),
        ("table", "string"),
        ("op", "string"),
        ("commit_ts", "int64"),
        ("after", pa.map_(pa.string(), pa.string())),
    ]
)
TEXT, LONG = StringType(), LongType()
AFTER = {TYPED: StructType().add("id", LONG).add("v", TEXT), GENERIC: MapType(TEXT, TEXT)}


def rows(kind: pa.Schema, *ids: int) -> list[pa.RecordBatch]:
    made: list[dict[str, Any]] = []
    for number in ids:
        after = {"id": number, "v": f"v{number}"} if kind is TYPED else [("id", str(number))]
        named = {} if kind is TYPED else {"schema": "s", "table": "u"}
        made.append({**named, "op": "c", "commit_ts": compose(START + 100 * number), "after": after})
    return [pa.RecordBatch.from_pylist(part, schema=kind) for part in (made[1::2], made[::2])]


def source(folder: Path, uri: str, changefeed: str = BY_VALUE, **options: str) -> TicdcDataSource:
    given = {"sinkUri": f"jsonl://{folder}/out?{uri}", "schema": TABLES, "changefeed": changefeed, "table": "s.t"}
    given |= {"stateUri": f"{folder}/state", **options}
    return TicdcDataSource({name: value for name, value in given.items() if value})


def columns(kind: pa.Schema, *more: str) -> StructType:
    found = StructType()
    for name in (*(["schema", "table"] if kind is GENERIC else []), *more, "op"):
        found.add(name, TEXT)
    return found.add("commit_ts", LONG).add("after", AFTER[kind])


def on_executors(writer: Any, *parts: list[pa.RecordBatch]) -> list[Any]:
    sent = pickle.dumps(writer)
    return [pickle.loads(pickle.dumps(pickle.loads(sent).write(iter(part)))) for part in parts]


@pytest.fixture
def batch_id(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    told: list[str | None] = ["0"]
    context = SimpleNamespace(getLocalProperty=lambda name: told[0] if name == "streaming.sql.batchId" else None)
    monkeypatch.setattr(TaskContext, "get", lambda: context)
    return told


def micro_batch(given: TicdcDataSource, kind: pa.Schema, number: int, *parts: list[pa.RecordBatch]) -> list[Any]:
    staged = on_executors(given.streamWriter(columns(kind), False), *parts)
    given.streamWriter(columns(kind), False).commit(staged, number)
    return staged


def expected(folder: Path, uri: str, changefeed: str, final: bool, *batches: ArrowBatch, **options: Any) -> list[Any]:
    config = load_changefeed(f"jsonl://{folder}/plain?{uri}", changefeed)
    feed = Changefeed(config, sink_for(config), TABLES, table="s.t", options=RunOptions(**options))
    for number, batch in enumerate(batches):
        feed.run(batch, number, final=final)
    return list(read_files(folder / "plain"))


@pytest.mark.parametrize(("uri", "changefeed"), [(CANAL, BY_VALUE), (SIMPLE, OFTEN)], ids=["canal-json", "simple"])
@pytest.mark.parametrize("kind", [TYPED, GENERIC], ids=["typed", "generic"])
def test_a_batch_write_encodes_on_executors(tmp_path: Path, kind: pa.Schema, uri: str, changefeed: str) -> None:
    writer = source(tmp_path, uri, changefeed).writer(columns(kind), False)
    parts = rows(kind, *range(20)), rows(kind, *range(20, 31)), []
    staged = on_executors(writer, *parts)
    assert all(message.encoding is not None for message in staged)
    assert not list(read_files(tmp_path / "out"))
    writer.commit(staged)
    plain = expected(tmp_path, uri, changefeed, True, ArrowBatch([*parts[0], *parts[1]], "s.t"))
    assert list(read_files(tmp_path / "out")) == plain
    assert not list((tmp_path / "state" / "staging").iterdir())


def test_batches_of_a_stream_and_one_that_comes_again(tmp_path: Path, batch_id: list[str | None]) -> None:
    given = source(tmp_path, SIMPLE, OFTEN)
    for number in range(3):
        batch_id[0] = str(number)
        (staged,) = micro_batch(given, TYPED, number, rows(TYPED, *range(10 * number, 10 * number + 10)))
        assert staged.encoding[0].batch_id == number
    batches = [ArrowBatch(rows(TYPED, *range(10 * n, 10 * n + 10)), "s.t") for n in range(3)]
    before = list(read_files(tmp_path / "out"))
    assert before == expected(tmp_path, SIMPLE, OFTEN, False, *batches)
    (staged,) = micro_batch(given, TYPED, 2, rows(TYPED, *range(20, 30)))  # its commit was lost
    assert staged.encoding[0].done
    with pytest.raises(StateError, match="as many rows"):
        micro_batch(given, TYPED, 2, rows(TYPED, *range(21, 31)))


@pytest.mark.parametrize("told", ["7", None])
def test_rows_of_a_batch_that_was_not_foreseen_are_staged(
    tmp_path: Path, batch_id: list[str | None], told: str | None
) -> None:
    batch_id[0] = told
    (staged,) = micro_batch(source(tmp_path, CANAL), TYPED, 7, rows(TYPED, *range(10)))
    assert staged.encoding is None
    plain = expected(tmp_path, CANAL, BY_VALUE, False, ArrowBatch(rows(TYPED, *range(10)), "s.t"))
    assert list(read_files(tmp_path / "out")) == plain


def test_the_clock_is_that_of_the_encoding(
    tmp_path: Path, batch_id: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [START + 5_000]
    monkeypatch.setattr(time, "time_ns", lambda: now[0] * 1_000_000)
    given = source(tmp_path, CANAL, clock="wall")
    staged = on_executors(given.streamWriter(columns(TYPED), False), rows(TYPED, 1, 2))
    now[0] += 60_000
    given.streamWriter(columns(TYPED), False).commit(staged, 0)
    sent = [json.loads(message.value or b"") for message in read_files(tmp_path / "out")]
    assert {each["ts"] for each in sent if each["type"] == "INSERT"} == {START + 5_000}
    assert json.loads((tmp_path / "state" / "batch-0.json").read_bytes())["build_ts"] == START + 5_000


def test_chunks_of_another_state_are_refused(tmp_path: Path, batch_id: list[str | None]) -> None:
    given = source(tmp_path, CANAL)
    micro_batch(given, TYPED, 0, rows(TYPED, 1))
    batch_id[0] = "1"
    early = on_executors(given.streamWriter(columns(TYPED), False), rows(TYPED, 50))
    config = load_changefeed(f"jsonl://{tmp_path}/out?{CANAL}", BY_VALUE)
    state = Secret(f"{tmp_path}/state")
    other = Changefeed(config, sink_for(config), TABLES, table="s.t", options=RunOptions(state_uri=state))
    other.finish()  # raises the watermark behind which batch 1 begins
    other.close()
    with pytest.raises(StateError, match="another batch was sent while"):
        given.streamWriter(columns(TYPED), False).commit(early, 1)


def test_late_and_bad_rows_are_told_by_the_commit(tmp_path: Path, batch_id: list[str | None]) -> None:
    given = source(tmp_path, CANAL)
    micro_batch(given, TYPED, 0, rows(TYPED, *range(10)))
    before = list(read_files(tmp_path / "out"))
    batch_id[0] = "1"
    with pytest.raises(LateRowError):
        micro_batch(given, TYPED, 1, rows(TYPED, 3, 20))
    bad = rows(TYPED, 30)[1].set_column(2, "after", pa.array([{"id": 1 << 40, "v": "x"}], TYPED.field("after").type))
    with pytest.raises(InvalidValueError):
        micro_batch(given, TYPED, 1, rows(TYPED, 21), [bad])
    assert list(read_files(tmp_path / "out")) == before
    assert micro_batch(given, TYPED, 1, rows(TYPED, 22))[0].encoding is not None


def test_rows_that_may_hold_ddl_are_staged_as_they_are(tmp_path: Path) -> None:
    writer = source(tmp_path, CANAL).writer(columns(TYPED, "query"), False)
    parts = [part.append_column("query", pa.nulls(part.num_rows, pa.string())) for part in rows(TYPED, 1, 2, 3)]
    (staged,) = on_executors(writer, parts)
    assert staged.encoding is None
    writer.commit([staged])
    plain = expected(tmp_path, CANAL, BY_VALUE, True, ArrowBatch(rows(TYPED, 1, 2, 3), "s.t"))
    assert list(read_files(tmp_path / "out")) == plain


def test_what_goes_wrong_before_the_rows_keeps_its_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> Any:
        raise BrokerUnreachableError("no broker answers", remedy="Start one")

    writer = source(tmp_path, CANAL).writer(columns(TYPED), False)
    monkeypatch.setattr(Changefeed, "encoding", away)
    for_executors = pickle.loads(pickle.dumps(writer))
    with pytest.raises(BrokerUnreachableError, match="no broker answers"):
        for_executors.write(iter(rows(TYPED, 1)))


def in_temporary_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Path]:
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    options = {"sinkUri": f"jsonl://{folder}/out?{CANAL}", "schema": TABLES, "table": "s.t", "changefeed": BY_VALUE}
    writer = TicdcDataSource(options).writer(columns(TYPED), False)
    return writer, Path(writer._staging.folder.reveal())


def test_staged_rows_are_for_their_user_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    umask = os.umask(0)
    try:
        writer, folder = in_temporary_folder(tmp_path, monkeypatch)
        staged = on_executors(writer, rows(TYPED, 1, 2), rows(TYPED, 3))
        assert [folder.parent] == [tmp_path / "tmp"], "nothing between it and the temporary folder is shared"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
        beside = on_executors(source(tmp_path, CANAL).writer(columns(TYPED), False), rows(TYPED, 1))
        (given,) = (tmp_path / "state" / "staging").iterdir()
        assert (given.stat().st_mode & 0o777, next(given.iterdir()).stat().st_mode & 0o777) == (0o700, 0o600)
    finally:
        os.umask(umask)
    assert beside
    writer.commit(staged)
    assert not list((tmp_path / "tmp").iterdir())
    assert len(list(read_files(tmp_path / "out"))) > 3


def test_no_name_in_the_temporary_folder_can_be_foreseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {in_temporary_folder(tmp_path, monkeypatch)[1] for _ in range(9)}
    assert len(names) == 9
    assert all(len(name.name) > 32 for name in names)


PLANTED: dict[str, Callable[[Path], object]] = {
    "open to all": lambda folder: (folder.mkdir(), folder.chmod(0o777)),
    "readable": lambda folder: folder.mkdir(mode=0o755),
    "a link": lambda folder: ((folder.parent / "elsewhere").mkdir(mode=0o700), folder.symlink_to("elsewhere")),
    "a link to nothing": lambda folder: folder.symlink_to(folder.parent / "elsewhere"),
    "a file": lambda folder: folder.write_text(""),
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_a_planted_folder_is_refused(
    plant: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before rows are staged, and before the commit, in the place of the folder that has them."""
    for staged_before in (False, True):
        writer, folder = in_temporary_folder(tmp_path / str(staged_before), monkeypatch)
        staged = on_executors(writer, rows(TYPED, 1)) if staged_before else []
        if staged:
            folder.rename(tmp_path / "away")
        plant(folder)
        with pytest.raises(TemporaryFileError, match="not for this user only") as refused:
            writer.commit(staged) if staged else on_executors(writer, rows(TYPED, 1))
        assert (refused.value.folder, "stagingUri" in refused.value.remedy) == (str(folder), True)
        assert folder.exists() or folder.is_symlink(), "what is another's is left alone"
        assert not (folder.parent / "elsewhere").exists() or not list((folder.parent / "elsewhere").iterdir())
        assert not list(read_files(tmp_path / str(staged_before) / "out"))


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, folder = in_temporary_folder(tmp_path, monkeypatch)
    folder.mkdir(mode=0o700)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.raises(TemporaryFileError, match=f"belongs to the user {own}, and this is the user {own + 1}"):
        on_executors(writer, rows(TYPED, 1))


class _Runs:
    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._marker),)


@pytest.mark.parametrize("kind", [ChunkKind.FAILURE, ChunkKind.TRANSACTIONS, ChunkKind.COUNTS, ChunkKind.CLAIMS])
def test_nothing_of_a_planted_file_is_run(kind: ChunkKind, tmp_path: Path) -> None:
    """Whoever may write to a stateUri or a stagingUri can put other content in the place of what was staged."""
    marker = tmp_path / "pwned"
    pickle.loads(pickle.dumps(_Runs(marker)))
    marker.rmdir()  # so the payload works
    writer = source(tmp_path, CANAL).writer(columns(TYPED), False)
    staged = on_executors(writer, rows(TYPED, 1))
    (name,) = (tmp_path / "state" / "staging").glob("*/*.arrow")
    chunk = {"bucket": 0, "kind": kind, "topic": "t", "partition": 0, "rows": 1}
    chunk["body"] = pickle.dumps(_Runs(marker))  # type: ignore[assignment]
    name.unlink()
    with pa.ipc.new_file(name, CHUNK_SCHEMA) as planted:
        planted.write(pa.RecordBatch.from_pylist([chunk], schema=CHUNK_SCHEMA))
    if kind in (ChunkKind.FAILURE, ChunkKind.TRANSACTIONS):
        with pytest.raises(DeliveryError, match="what an encoding task handed on cannot be read"):
            writer.commit(staged)
    else:  # nothing asks for it
        writer.commit(staged)
    assert not marker.exists()


def test_a_planted_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    for content in (pa.schema([("a", pa.int64())]), None):
        writer = source(tmp_path, CANAL).writer(columns(TYPED), False)
        staged = on_executors(writer, rows(TYPED, 1))
        (name,) = (tmp_path / "state" / "staging").glob("*/*.arrow")
        if content is None:
            name.write_bytes(pickle.dumps(_Runs(tmp_path / "pwned")))
        else:
            with pa.ipc.new_file(name, content) as planted:
                planted.write(pa.RecordBatch.from_pylist([{"a": 1}], schema=content))
        with pytest.raises(DeliveryError):
            writer.commit(staged)
        assert not (tmp_path / "pwned").exists()


def test_a_planted_result_is_not_run(tmp_path: Path) -> None:
    planted = {"error": pickle.dumps(_Runs(tmp_path / "pwned")), "messages": 0}
    with pytest.raises(DeliveryError, match="cannot be read"):
        read_results(pa.Table.from_pylist([planted], RESULT_SCHEMA))
    assert not (tmp_path / "pwned").exists()


def plain_rows(**more: DataType) -> StructType:
    found = StructType().add("op", TEXT).add("commit_ts", LONG)
    for name, kind in more.items():
        found.add(name, kind)
    return found


def image(of_id: DataType) -> StructType:
    return StructType().add("id", of_id).add("v", TEXT)


WHOLE = plain_rows(after=image(LONG))
REFUSED: dict[str, tuple[StructType, dict[str, str], type[Exception]]] = {
    "a type": (plain_rows(after=image(DateType())), {}, UnsupportedTypeError),
    "a column": (plain_rows(after=image(LONG).add("more", LONG)), {}, InvalidValueError),
    "an image": (plain_rows(after=TEXT), {}, UnsupportedTypeError),
    "a table": (WHOLE, {"table": "s.w"}, UnknownTableError),
    "an option": (WHOLE, {"late": "never"}, ConfigError),
    "which table": (WHOLE, {"table": ""}, SchemaError),
}


@pytest.mark.parametrize(("schema", "options", "error"), REFUSED.values(), ids=REFUSED)
def test_a_batch_write(schema: StructType, options: dict[str, str], error: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(error):
        source(tmp_path, CANAL, **options).writer(schema, False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "schema",
    [
        WHOLE,
        plain_rows(before=image(TEXT), after=image(LONG)),
        plain_rows(query=TEXT, after=image(DateType())),
        plain_rows(schema=TEXT, table=TEXT, after=AFTER[GENERIC]),
    ],
    ids=["typed", "texts", "with DDL", "generic"],
)
def test_rows_that_may_be_right(schema: StructType, tmp_path: Path) -> None:
    source(tmp_path, CANAL).writer(schema, False)
    assert list(tmp_path.iterdir()) == [], "nothing is touched before the rows are there"
