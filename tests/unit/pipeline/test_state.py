"""The state store on files: what its storage raises becomes one masked error, and a damaged record is named."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import fsspec
import pytest

from ticdc_emit.errors import StateError
from ticdc_emit.pipeline.deliver.bootstrap import BootstrapRules, Bootstraps
from ticdc_emit.pipeline.state import BatchState, record_of, sealed, text_of
from ticdc_emit.pipeline.state_store import DdlHistory, FsspecStateStore, MemoryStateStore, StateStore
from ticdc_emit.schema.catalog import catalog_from_sql

ACTIONS: list[Any] = [
    pytest.param(lambda store: store.load(0), id="load"),
    pytest.param(lambda store: store.save(BatchState(1)), id="save"),
    pytest.param(lambda store: store.latest_before(5), id="latest_before"),
    pytest.param(lambda store: store.newest(), id="newest"),
]


class ClientError(Exception):
    """Cloud clients raise types of their own, which are no OSError."""


@pytest.mark.parametrize("act", ACTIONS)
def test_what_a_storage_raises_is_masked(act: Callable[[StateStore], Any], tmp_path: Path) -> None:
    store = FsspecStateStore(str(tmp_path))
    store.save(BatchState(0))

    def fail(*_: Any, **__: Any) -> Any:
        raise ClientError("GET https://me:hunter2@host/state?token=hunter3 failed, secret_key=hunter4")

    class Broken:
        def __getattr__(self, name: str) -> Callable[..., Any]:
            return fail

    store._located = Broken(), str(tmp_path)
    with pytest.raises(StateError, match="ClientError") as raised:
        act(store)
    assert "hunter" not in str(raised.value)
    assert raised.value.remedy
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("act", ACTIONS[1:])
def test_a_folder_that_is_gone_is_a_state_error(act: Callable[[StateStore], Any], tmp_path: Path) -> None:
    store = FsspecStateStore(str(tmp_path / "state"))
    store.save(BatchState(0))
    shutil.rmtree(tmp_path / "state")
    with pytest.raises(StateError, match=r"FileNotFoundError|folder was removed") as raised:
        act(store)
    assert "state_uri" in raised.value.remedy


@pytest.mark.parametrize("act", [ACTIONS[0], *ACTIONS[2:]])
def test_reading_makes_no_folder(act: Callable[[StateStore], Any], tmp_path: Path) -> None:
    assert act(FsspecStateStore(str(tmp_path / "state"))) is None
    assert not (tmp_path / "state").exists()


def test_an_unknown_storage_is_refused_at_once() -> None:
    for uri in ("nothing://host/state", "simplecache::nothing://host/state", "nothing::file:///state"):
        with pytest.raises(StateError, match="nothing") as raised:
            FsspecStateStore(uri)
        assert "state_uri" in raised.value.remedy


@pytest.mark.parametrize("is_kept", [True, False])
def test_no_record_is_removed_by_its_own_save(is_kept: bool, tmp_path: Path) -> None:
    store: StateStore = FsspecStateStore(str(tmp_path)) if is_kept else MemoryStateStore()
    for number in range(100, 210):
        store.save(BatchState(number))
    store.save(BatchState(3))
    store.save(BatchState(4))
    assert [number for number in range(210) if store.load(number)] == [4, *range(110, 210)]
    with pytest.raises(StateError, match="batch 209 has one"):
        store.latest_before(208)


def statements(*numbers: int) -> tuple[tuple[int, str, str], ...]:
    return tuple((number, "s", f"alter table t comment = '{number}'") for number in numbers)


def test_ddl_is_kept_once_and_each_record_has_its_own(tmp_path: Path) -> None:
    store = FsspecStateStore(str(tmp_path))
    states = []
    for number in range(60):  # more than fit into two files
        before = states[-1] if states else BatchState(-1)
        states.append(before.next(number, None).with_ddl(statements(*range(1000 - 10 * number, 1010 - 10 * number))))
        store.save(states[-1])
    files = sorted(tmp_path.glob("ddl-*.json"))
    assert [file.name for file in files] == ["ddl-0.json", "ddl-1.json", "ddl-2.json"]
    assert sum(file.read_text().count("comment") for file in files) == 600
    assert max(file.stat().st_size for file in tmp_path.glob("batch-*.json")) < 500
    for reader in (store, FsspecStateStore(str(tmp_path))):
        assert [reader.load(number) for number in range(60)] == states


def test_a_batch_without_ddl_writes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FsspecStateStore(str(tmp_path))
    state = BatchState(0).with_ddl(statements(*range(300)))
    store.save(state)
    written: list[int] = []
    usual = DdlHistory._write
    monkeypatch.setattr(DdlHistory, "_write", lambda own, number: (written.append(number), usual(own, number))[1])
    for number in range(1, 9):
        loaded = store.load(number - 1)
        state = loaded.next(number, None).with_ddl(statements(*range(300)))
        assert state.ddl is loaded.ddl, "nothing is compared by its content"
        store.save(state)
    assert written == []
    store.save(state.next(9, None).with_ddl(statements(400)))
    assert written == [1]


def test_ddl_of_a_refused_batch_is_in_no_record(tmp_path: Path) -> None:
    store = FsspecStateStore(str(tmp_path))
    first = BatchState(0).with_ddl(statements(5, 6))
    store.save(first)
    store.save(first.next(1, None).with_ddl(statements(8)))
    store.forget(1)
    second = first.next(1, None).with_ddl(statements(7, 9))
    store.save(second)
    for reader in (store, FsspecStateStore(str(tmp_path))):
        assert reader.load(0) == first
        assert reader.load(1) == second


def test_another_writer_of_the_same_history(tmp_path: Path) -> None:
    one, other = FsspecStateStore(str(tmp_path)), FsspecStateStore(str(tmp_path))
    first = BatchState(0).with_ddl(statements(5))
    one.save(first)
    second = first.next(1, None).with_ddl(statements(6))
    other.save(second)
    other.release()
    third = second.next(2, None).with_ddl(statements(4, 7))
    one.release()
    one.save(third)
    for reader in (one, other, FsspecStateStore(str(tmp_path))):
        assert [reader.load(number) for number in range(3)] == [first, second, third]


@pytest.fixture(params=["file", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path) if request.param == "file" else f"memory://{tmp_path.name}"
    fsspec.filesystem("memory").store.clear()


@pytest.mark.parametrize("leaves", ["running", "released", "copied", "damaged"])
def test_the_last_writer_counts_and_the_one_before_is_refused(root: str, leaves: str) -> None:
    first, second = FsspecStateStore(root), FsspecStateStore(root)
    first.save(BatchState(0))
    if leaves == "copied":
        second = pickle.loads(pickle.dumps(first))
    assert second.claim()
    if leaves == "released":
        second.release()
    if leaves == "damaged":
        second._fs.pipe_file(f"{second._root}/writer.json", b"[" * 9_999)
    for refused in (first.claim, lambda: first.save(BatchState(1)), lambda: first.forget(0)):
        with pytest.raises(StateError, match="another writer has taken over") as raised:
            refused()
        if leaves != "damaged":
            assert raised.value.pid == os.getpid()
            assert 0 <= raised.value.held_seconds < 100
        assert "one writer per state_uri" in raised.value.remedy
    assert second.load(1) is None
    if leaves != "damaged":
        second.save(BatchState(1))
        assert second.load(1) == BatchState(1)
    assert FsspecStateStore(root).claim()


DDL = ((7, "s", "drop table t"),)
WHOLE = BatchState(0, 1_700_000_000_000, 5, 6, DDL, True, 8, 9, 3, None, None, 4, 4, "0" * 32, "20240505T000000Z-0a1b")


def read(content: bytes, batch_id: int) -> BatchState:
    return record_of(content, batch_id, lambda places: WHOLE.ddl if places == [[0, 1]] else ())


def test_a_whole_record_is_read_as_it_was_written() -> None:
    table = catalog_from_sql("create table s.t (id int primary key)").table("s", "t")
    bootstraps = Bootstraps(BootstrapRules())
    bootstraps.rows(table.id, table, "topic", 3, 1_700_000_000_000)
    assert read(text_of(WHOLE, [[0, 1]]), 0) == WHOLE
    for state in (BatchState(3), BatchState(3, bootstraps=bootstraps.state())):
        assert read(text_of(state, []), 3) == state


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"null", b"[]", b"\xff", b"[" * 100_000, b'{"a":' * 500 + b"1" + b"}" * 500),
        json.dumps({**asdict(WHOLE), "ddl_places": []}).encode(),
        sealed({"batch_id": 0}),
        sealed({**asdict(BatchState(7)), "ddl_places": []}),
        sealed({"batch_id": 0, "ddl_places": [], "surprise": 1}),
        text_of(BatchState(7), []),
    ],
    ids=range(12),
)
def test_what_is_not_a_record_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "batch-0.json").write_bytes(content)
    for read in (FsspecStateStore(str(tmp_path)).newest, lambda: FsspecStateStore(str(tmp_path)).load(0)):
        with pytest.raises(StateError, match="cannot be used") as refused:
            read()
        assert refused.value.file == "batch-0.json"
        assert "state_uri" in refused.value.remedy
        assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    "name", ["batch-x.json", "batch-.json", "batch-01.json", "batch--1.json", f"batch-{10**40}.json"]
)
def test_a_file_that_only_looks_like_a_record_is_named(name: str, tmp_path: Path) -> None:
    store = FsspecStateStore(str(tmp_path))
    store.save(BatchState(0))
    (tmp_path / name).write_text("{}")
    with pytest.raises(StateError, match="not a batch's record") as refused:
        store.newest()
    assert refused.value.file == name
    assert refused.value.remedy


def test_other_files_beside_the_records_are_nobodys_concern(tmp_path: Path) -> None:
    for name in ("batch-3.json.tmp", "replay.json", "notes.txt"):
        (tmp_path / name).write_text("{")
    assert FsspecStateStore(str(tmp_path)).newest() is None


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"ddl": []}', sealed({"ddl": []})])
def test_a_damaged_history_of_ddl_is_named(content: bytes | None, tmp_path: Path) -> None:
    FsspecStateStore(str(tmp_path)).save(BatchState(0, ddl=DDL))
    file = tmp_path / "ddl-0.json"
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(StateError, match="cannot be used") as refused:
        FsspecStateStore(str(tmp_path)).load(0)
    assert refused.value.file == "ddl-0.json"
    assert "state_uri" in refused.value.remedy


def test_no_changed_digit_is_read() -> None:
    content = text_of(WHOLE, [[0, 1]])
    for place in (place for place, byte in enumerate(content) if chr(byte).isdigit()):
        changed = bytearray(content)
        changed[place] = ord("1") if content[place] != ord("1") else ord("2")
        with pytest.raises(StateError, match="cannot be used") as refused:
            read(bytes(changed), 0)
        assert refused.value.file == "batch-0.json"
