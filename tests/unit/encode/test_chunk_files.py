"""Messages that stay in files between tasks of one machine."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from ticdc_emit.encode import chunk_files
from ticdc_emit.encode.chunk_files import ChunkFile, ChunkFolder, mapped
from ticdc_emit.encode.chunks import unpacked
from ticdc_emit.errors import TemporaryFileError

MESSAGES = pa.record_batch({"key": pa.array([b"k"] * 1_000), "value": pa.array([b"v" * 100] * 1_000)})
SMALL = MESSAGES.slice(0, 10)


def test_messages_come_back_from_where_they_are(tmp_path: Path) -> None:
    parts = [MESSAGES, MESSAGES.slice(100, 900), MESSAGES]
    with ChunkFile(ChunkFolder(str(tmp_path), 1 << 30)) as file:
        places = [file.place(part) for part in parts]
    assert [unpacked(mapped(place)) for place in places if place is not None] == parts
    assert len(list(tmp_path.iterdir())) == 1
    assert all(place is not None and place.start % 8 == 0 for place in places)  # Arrow copies what is not aligned


def test_without_a_folder_nothing_is_written() -> None:
    with ChunkFile(None) as file:
        assert file.place(MESSAGES) is None


def test_few_messages_are_not_worth_a_file(tmp_path: Path) -> None:
    with ChunkFile(ChunkFolder(str(tmp_path), 1 << 30)) as file:
        assert file.place(SMALL) is None
    assert not list(tmp_path.iterdir())


def test_all_tasks_together_keep_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_files, "_LOOK_BYTES", 1)
    folder = ChunkFolder(str(tmp_path), 2 * MESSAGES.nbytes)
    with ChunkFile(folder) as one, ChunkFile(folder) as other:
        assert [file.place(MESSAGES) is None for file in (one, other, one, other)] == [False, False, True, True]


def test_a_disk_that_refuses_is_not_asked_again(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    with ChunkFile(ChunkFolder(str(folder), 1 << 30)) as file:
        assert file.place(MESSAGES) is None
        folder.mkdir()
        assert file.place(MESSAGES) is None


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with ChunkFile(ChunkFolder(str(tmp_path), 1 << 30)) as file:
        place = file.place(MESSAGES)
    assert place is not None
    Path(place.file).unlink()
    with pytest.raises(TemporaryFileError, match="No such file") as caught:
        mapped(place)
    assert caught.value.folder == str(tmp_path)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
