"""Damaged state records: a StateError names the file, the fault and the remedy."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from ticdc_emit.errors import StateError
from ticdc_emit.pipeline.deliver.bootstrap import BootstrapRules, Bootstraps
from ticdc_emit.pipeline.state import BatchState, record_of, sealed, text_of
from ticdc_emit.pipeline.state_store import FsspecStateStore
from ticdc_emit.schema.catalog import catalog_from_sql

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
