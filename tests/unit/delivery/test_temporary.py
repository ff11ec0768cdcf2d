"""A temporary folder without space: one error that names the folder and the remedy, wherever something is spilled."""

from __future__ import annotations

import errno
import pickle
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.delivery import files
from ticdc_emit.delivery.files import FileSink
from ticdc_emit.delivery.temporary import writing_temporary_files
from ticdc_emit.errors import TemporaryFileError
from ticdc_emit.pipeline.encode.chunks import ChunkKind, ChunkStore, side_chunk
from ticdc_emit.pipeline.encode.external_sort import SortedRuns

KEYS = pa.array([number.to_bytes(40, "big") for number in range(5_000, 0, -1)], pa.binary())
ROWS = pa.record_batch({"order_key": KEYS})


def sorted_runs(folder: Path) -> None:
    with SortedRuns(1000) as runs:
        runs.add(ROWS)
        list(runs.windows())


def chunk_store(folder: Path) -> None:
    with closing(ChunkStore(1000)) as store:
        store.add(side_chunk(ChunkKind.CLAIMS, 0, ("t", 0), b"x" * 50_000))
        store.add(side_chunk(ChunkKind.CLAIMS, 0, ("t", 0), b"x" * 50_000))


def file_sink(folder: Path) -> None:
    sink = FileSink(str(folder))
    sink.prepare({"t": 1})
    values = pa.array([b"x" * 5000] * 3, pa.binary())
    topics = pa.array(["t"] * 3)
    partitions = pa.array([0] * 3, pa.int32())
    with sink.open() as writer:
        writer.write(pa.record_batch({"topic": topics, "partition": partitions, "key": values, "value": values}))


SPILLING = (sorted_runs, chunk_store, file_sink)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device that is always full is Linux's")
@pytest.mark.parametrize("spill", SPILLING)
def test_a_full_folder(spill: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_SPOOL_BYTES", 1000)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda *_, **__: open("/dev/full", "w+b", buffering=0))  # noqa: PTH123, SIM115
    _is_named(spill, tmp_path, "No space left on device")


@pytest.mark.parametrize("spill", SPILLING)
def test_a_folder_where_no_file_can_be_made(
    spill: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(files, "_SPOOL_BYTES", 1000)
    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    _is_named(spill, tmp_path, "Read-only file system")


def _is_named(spill: Callable[[Path], None], folder: Path, cause: str) -> None:
    with pytest.raises(TemporaryFileError, match=f"{cause}.*Free space in that folder, or set TMPDIR") as caught:
        spill(folder)
    assert caught.value.folder == tempfile.gettempdir()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_no_folder_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    with pytest.raises(TemporaryFileError, match="No usable temporary directory"), writing_temporary_files():
        tempfile.gettempdir()
