"""Damaged state records: a StateError names the file, the fault and the remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.errors import StateError
from ticdc_emit.pipeline.deliver.bootstrap import BootstrapRules, Bootstraps
from ticdc_emit.pipeline.state import BatchState, record_of, text_of
from ticdc_emit.pipeline.state_store import FsspecStateStore
from ticdc_emit.schema.catalog import catalog_from_sql

SCHEDULE: dict[str, Any] = {
    "start_ms": 0,
    "passed_ms": 5_000,
    "started": True,
    "tables": [
        {
            "key": 7,
            "table": ["s", "t", 7, 1, 2],
            "topic": "t",
            "partitions": 3,
            "last_row_ms": 5,
            "sent_ms": 5,
            "rows": 1,
        }
    ],
}
WHOLE = BatchState(
    0,
    1_700_000_000_000,
    5,
    6,
    ((7, "s", "drop table t"),),
    True,
    8,
    9,
    3,
    SCHEDULE,
    SCHEDULE,
    4,
    4,
    "0" * 32,
    "20240505T000000Z-0a1b2c3d",
)
STALE = SCHEDULE["tables"][0]


def read(content: bytes, batch_id: int) -> BatchState:
    return record_of(content, batch_id, lambda places: ())


def with_table(**changed: Any) -> dict[str, Any]:
    return {**SCHEDULE, "tables": [{**STALE, **changed}]}


def test_a_whole_record_is_read_as_it_was_written() -> None:
    assert record_of(text_of(WHOLE, [[0, 1]]), 0, lambda places: WHOLE.ddl if places == [[0, 1]] else ()) == WHOLE
    assert read(text_of(BatchState(3), []), 3) == BatchState(3)
    assert read(json.dumps(asdict(WHOLE)).encode(), 0) == WHOLE, "of a release that kept all DDL in each record"


def test_the_schedule_of_a_real_run_is_read_as_it_was_written() -> None:
    table = catalog_from_sql("create table s.t (id int primary key)").table("s", "t")
    bootstraps = Bootstraps(BootstrapRules())
    bootstraps.rows(table.id, table, "topic", 3, 1_700_000_000_000)
    state = BatchState(1, bootstraps=bootstraps.state())
    assert read(text_of(state, []), 1) == state


@pytest.mark.parametrize("field", asdict(WHOLE))
@pytest.mark.parametrize(
    "value",
    [5.5, "5", "", [1], {}, {"a": 1}, -2, 2**80, float("nan"), [[1, 2, 3]], [[1, "s"]], [5], "ä"],
    ids=lambda value: repr(value)[:12],
)
def test_no_field_takes_a_value_of_another_kind(field: str, value: object) -> None:
    kept: dict[str, Callable[[Any], bool]] = {
        "build_ts": lambda value: value == -2,  # clock: any number of ms
        "digest": lambda value: value == "",  # of a batch without rows
        "run": lambda value: value == "5",
    }
    if kept.get(field, lambda _: False)(value):
        return
    content = json.dumps({**asdict(WHOLE), field: value}).encode()
    with pytest.raises(StateError, match="cannot be used") as refused:
        read(content, 0)
    assert refused.value.file == "batch-0.json"
    assert "state_uri" in refused.value.remedy
    assert field in str(refused.value)


@pytest.mark.parametrize(
    "changed",
    [
        {"bootstraps": 5},
        {"bootstraps": {**SCHEDULE, "start_ms": "0"}},
        {"bootstraps": {**SCHEDULE, "tables": [5]}},
        {"bootstraps": with_table(partitions=2**40)},
        {"bootstraps": with_table(table=["s", "t", 7, 1])},
        {"end_bootstraps": with_table(sent_ms=None)},
        {"end_sent_until": 2**80},
        {"done": 1},
        {"rows": True},
        {"run": "../../etc/passwd"},
        {"ddl_places": []},
        {"surprise": 1},
        {"batch_id": 7},
    ],
    ids=lambda changed: "-".join(changed),
)
def test_what_cannot_be_right_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(StateError) as refused:
        read(json.dumps({**asdict(WHOLE), **changed}).encode(), 0)
    assert refused.value.file == "batch-0.json"
    assert refused.value.remedy


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff",
        b'{"ddl": []}',
        b'{"batch_id": 0}',
        b"[" * 100_000,
        b'{"a":' * 500 + b"1" + b"}" * 500,
    ],
    ids=lambda content: content[:12].decode("latin1"),
)
def test_what_is_not_a_record_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "batch-0.json").write_bytes(content)
    for read in (FsspecStateStore(str(tmp_path)).newest, lambda: FsspecStateStore(str(tmp_path)).load(0)):
        with pytest.raises(StateError) as refused:
            read()
        assert refused.value.file == "batch-0.json"
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


def places(ddl: object) -> bytes:
    kept = {name: value for name, value in asdict(WHOLE).items() if name != "ddl"}
    return json.dumps({**kept, "ddl_places": ddl}).encode()


@pytest.mark.parametrize(
    "value", [5, None, [5], [[1]], [[1, 1]], [[2, 1]], [[-1, 2]], [[0, 2**80]], [["0", "1"]]], ids=str
)
def test_places_of_ddl_that_cannot_be_right_are_refused(value: object) -> None:
    assert read(places([[0, 1], [3, 9]]), 0).ddl == ()
    with pytest.raises(StateError, match="its field ddl_places"):
        read(places(value), 0)


@pytest.mark.parametrize(
    "content", [None, b"", b"[]", b'{"ddl": 5}', b'{"ddl": [[1, "s"]]}', b'{"ddl": []}', b'{"ddl": [], "more": 1}']
)
def test_a_damaged_history_of_ddl_is_named(content: bytes | None, tmp_path: Path) -> None:
    FsspecStateStore(str(tmp_path)).save(BatchState(0, ddl=((5, "s", "drop table t"),)))
    file = tmp_path / "ddl-0.json"
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(StateError, match="cannot be used") as refused:
        FsspecStateStore(str(tmp_path)).load(0)
    assert refused.value.file == "ddl-0.json"
    assert "state_uri" in refused.value.remedy


def test_no_changed_digit_is_read() -> None:
    """Each other number is one that a record could have, so only the checksum tells."""
    content = text_of(WHOLE, [[0, 1]])
    for place in (place for place, byte in enumerate(content) if chr(byte).isdigit()):
        changed = bytearray(content)
        changed[place] = ord("1") if content[place] != ord("1") else ord("2")
        with pytest.raises(StateError, match="cannot be used") as refused:
            read(bytes(changed), 0)
        assert refused.value.file == "batch-0.json"
