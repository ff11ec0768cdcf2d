"""The history is what the faults' verdict relies on."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from .history import History, key_columns, table_name


def test_every_key_lives_a_life_in_commit_order() -> None:
    state: dict[tuple[str, ...], dict[str, str | None] | None] = {}
    deleted: set[tuple[str, ...]] = set()
    stamps: set[tuple[tuple[str, ...], int]] = set()
    last, shared = 0, 0
    for row in History(5_000, 20, 1).table().to_pylist():
        images = {name: None if row[name] is None else dict(row[name]) for name in ("before", "after")}
        image = images["after"] or images["before"] or {}
        key = (row["table"], *(image[name] for name in key_columns(row["table"])))
        assert images["before"] == state.get(key)
        assert row["op"] == ("c" if images["before"] is None else "u" if images["after"] else "d")
        assert row["commit_ts"] >= last
        assert (key, row["commit_ts"]) not in stamps
        if row["op"] == "d":
            assert key not in deleted
            deleted.add(key)
        shared += row["commit_ts"] == last
        stamps.add((key, row["commit_ts"]))
        state[key], last = images["after"], row["commit_ts"]
    assert {key[0] for key in state} == {table_name(n) for n in range(20)}
    assert len(deleted) > 100
    assert any(state[key] for key in deleted), "no key has a second life"
    assert shared > 500


def test_the_same_arguments_give_the_same_files_in_order(tmp_path: Path) -> None:
    first, second = (History(1_000, 5, 3).write(tmp_path / name) for name in "ab")
    assert first.equals(second)
    assert not first.equals(History(1_000, 5, 3, seed=8).table())
    files = sorted((tmp_path / "a").iterdir(), key=lambda file: file.stat().st_mtime)
    assert [file.name for file in files] == ["00000.parquet", "00001.parquet", "00002.parquet"]
    assert [row for file in files for row in pq.read_table(file).to_pylist()] == first.to_pylist()
