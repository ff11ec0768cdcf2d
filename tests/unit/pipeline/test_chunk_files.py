"""Messages that stay in files between tasks of one machine."""

from __future__ import annotations

import pickle
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from ticdc_emit.errors import DeliveryError, TemporaryFileError
from ticdc_emit.pipeline.encode import chunks
from ticdc_emit.pipeline.encode.chunks import (
    CHUNK_SCHEMA,
    ChunkFiles,
    ChunkFolder,
    ChunkKind,
    ChunkStore,
    from_ipc,
    map_and_remove,
    map_file,
)

MESSAGES = pa.record_batch({"key": pa.array([b"k"] * 1_000), "value": pa.array([b"v" * 200] * 1_000)})
SMALL = MESSAGES.slice(0, 10)


def test_messages_come_back_once(tmp_path: Path) -> None:
    folder = ChunkFolder(str(tmp_path), 1 << 30)
    files = ChunkFiles(folder)
    parts = [MESSAGES, MESSAGES.slice(100, 900), MESSAGES]
    paths = [folder.file(files.keep(part) or "") for part in parts]
    assert [from_ipc(map_file(path)) for path in paths] == parts
    assert len(list(tmp_path.iterdir())) == 3 + 1  # and what they count in
    assert [from_ipc(map_and_remove(path)) for path in paths] == parts
    assert len(list(tmp_path.iterdir())) == 1


def test_without_a_folder_nothing_is_written() -> None:
    assert ChunkFiles(None).keep(MESSAGES) is None


def test_few_messages_are_not_worth_a_file(tmp_path: Path) -> None:
    assert ChunkFiles(ChunkFolder(str(tmp_path), 1 << 30)).keep(SMALL) is None
    assert not list(tmp_path.iterdir())


def test_all_tasks_together_keep_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "_TALLY_BYTES", 1)
    monkeypatch.setattr(chunks, "_PLAIN_SHARE", 1)
    folder = ChunkFolder(str(tmp_path), 2 * MESSAGES.nbytes)
    one, other = ChunkFiles(folder), ChunkFiles(folder)
    assert [files.keep(MESSAGES) is None for files in (one, other, one, other)] == [False, False, True, True]


def test_the_first_files_of_all_tasks_are_plain_and_the_others_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_TALLY_BYTES", 1)
    folder = ChunkFolder(str(tmp_path), chunks._PLAIN_SHARE * 2 * MESSAGES.nbytes)
    one, other = ChunkFiles(folder), ChunkFiles(folder)
    paths = [folder.file(files.keep(MESSAGES) or "") for files in (one, other, one, other)]
    assert [Path(path).stat().st_size > MESSAGES.nbytes for path in paths] == [True, True, False, False]
    assert folder.written() == sum(Path(path).stat().st_size for path in paths)
    assert [from_ipc(map_file(path)) for path in paths] == [MESSAGES] * 4


def test_a_disk_that_refuses_is_not_asked_again(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    files = ChunkFiles(ChunkFolder(str(folder), 1 << 30))
    assert files.keep(MESSAGES) is None
    folder.mkdir()
    assert files.keep(MESSAGES) is None


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    folder = ChunkFolder(str(tmp_path), 1 << 30)
    path = folder.file(ChunkFiles(folder).keep(MESSAGES) or "")
    Path(path).unlink()
    with pytest.raises(TemporaryFileError, match="No such file") as caught:
        map_and_remove(path)
    assert caught.value.folder == str(tmp_path)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("name", ["/etc/passwd", "../a-0", "tally", "", "a-0/../../b", ".", "A-0", "a-0\n"])
def test_a_chunk_names_no_file_outside_the_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="not the name of a file of messages"):
        ChunkFolder(str(tmp_path), 1 << 30).file(name)


def test_a_chunk_names_no_file_where_there_are_none() -> None:
    chunk = {"bucket": 0, "kind": ChunkKind.MESSAGES, "topic": "t", "partition": 0, "rows": 1}
    chunk |= {"first": b"a", "last": b"b", "file": "/etc/passwd"}
    with closing(ChunkStore(1000)) as store:
        store.add(pa.RecordBatch.from_pylist([chunk], schema=CHUNK_SCHEMA))
        ((_, (held,)),) = store.chunks()
        with pytest.raises(DeliveryError, match="names a file"):
            store.messages(held)
