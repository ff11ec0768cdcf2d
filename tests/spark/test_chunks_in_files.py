"""Messages of a local session stay in files on their way to the tasks that deliver them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from spark_history import SCHEMA
from spark_session import ON_CONNECT

from ticdc_emit.delivery.files import read_files
from ticdc_emit.pipeline.encode.chunks import ChunkFolder
from ticdc_emit.spark import TicdcSink, batch

pytestmark = pytest.mark.spark

URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=3"


@pytest.mark.skipif(ON_CONNECT, reason="over Spark Connect messages are shuffled")
def test_they_are_the_same_and_leave_no_file(
    spark: Any, tmp_path: Path, changes: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = changes(2_000).repartition(2)
    given, used = batch.chunk_folder, []

    @contextmanager
    def watched(session: Any, *, read_once: bool) -> Iterator[ChunkFolder | None]:
        with given(session) as folder:
            path = Path(folder.path)
            before = path.stat().st_mtime_ns
            yield replace(folder, read_once=read_once)
            assert path.stat().st_mtime_ns > before  # files were made in it
            assert (len(list(path.iterdir())) > 1) != read_once  # one is what tasks count in
            used.append(path)

    @contextmanager
    def none(_: Any) -> Iterator[None]:
        yield None

    ways = {"kept": partial(watched, read_once=False), "removed": partial(watched, read_once=True), "shuffled": none}
    for name, way in ways.items():
        monkeypatch.setattr(batch, "chunk_folder", way)
        TicdcSink(f"jsonl://{tmp_path / name}?{URI}", SCHEMA).write(rows)
    kept, removed, shuffled = (list(read_files(tmp_path / name)) for name in ways)
    assert kept == removed == shuffled
    assert len(kept) > 4_000
    assert len(used) == 2
    assert not any(folder.exists() for folder in used)
