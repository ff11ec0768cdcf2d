"""The state store on files: what its storage raises becomes one masked error of this library."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.changefeed.state import BatchState
from ticdc_emit.changefeed.state_store import FsspecStateStore, MemoryStateStore, StateStore
from ticdc_emit.errors import StateError

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
    with pytest.raises(StateError, match=r"FileNotFoundError|lease .* is gone") as raised:
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


def test_a_batch_that_has_no_record_is_no_error(tmp_path: Path) -> None:
    store = FsspecStateStore(str(tmp_path))
    assert store.load(3) is None
    assert store.newest() is None


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


def test_the_greatest_commit_ts_goes_on_to_the_next_batch(tmp_path: Path) -> None:
    stores: list[StateStore] = [MemoryStateStore(), FsspecStateStore(str(tmp_path))]
    for store in stores:
        done = BatchState(0).completed(watermark=None, sent_until=-1, rows=1, max_commit_ts=20)
        store.save(done.next(1, None).completed(watermark=None, sent_until=-1, rows=1, max_commit_ts=16))
        record = store.newest()
        assert record is not None
        assert (record.max_commit_ts, record.end_max_commit_ts) == (20, 20)
        assert record.completed(watermark=None, sent_until=-1, rows=1, max_commit_ts=-1) == record
