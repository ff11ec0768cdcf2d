"""Bad rows: a batch is refused with all of them told, or goes out as if they had never been in it."""

from __future__ import annotations

import json
import pickle
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from arrow_feeds import by_target, generic
from fsspec.implementations.local import LocalFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from shuffled_chunks import RULES, in_bucket

from ticdc_emit import Encoder
from ticdc_emit.changes.model import MESSAGE_OVERHEAD
from ticdc_emit.config import Secret, load_changefeed
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.errors import (
    ConfigError,
    CorruptedRowError,
    DeliveryError,
    DuplicateChangeError,
    InvalidValueError,
    LateRowError,
    MessageTooLargeError,
    RowError,
    UnknownTableError,
    UnsupportedTypeError,
)
from ticdc_emit.pipeline.deliver.control_events import ControlSchedule
from ticdc_emit.pipeline.deliver.deliver_task import DeliverTask, read_results
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.encode.chunks import Buckets
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.plan.table_plans import make_plan
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.schema.catalog import catalog_from_sql

SCHEMA = """
create table s.a (id int primary key, u int unique, d date, v varchar(9));
create table s.b (id int primary key, n tinyint not null);
"""
GOOD = {"a": {"u": None, "d": "2024-05-05", "v": "x"}, "b": {"n": "1"}}
BAD = {
    "a": [{"u": "many"}, {"d": "2024-13-01"}, {"v": "much too long"}, {"u": str(1 << 40)}, {"id": "none"}],
    "b": [{"n": None}, {"n": "300"}, {"n": "1.5"}],
}
Row = dict[str, Any]


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    yield
    clear("bad-rows")


def row(table: str, ts: int, key: int, bad: dict[str, Any] | None = None, **told: Any) -> Row:
    """Return an insert, or with ``op`` another change; ``old``: what the before image of an update has else."""
    op = told.pop("op", "c")
    after = {"id": str(key), **GOOD[table], **(bad or {})}
    before = {"id": str(key), **GOOD[table], **told.pop("old", {})}
    return {
        "schema": "s",
        "table": table,
        "op": op,
        "commit_ts": ts << 18,
        "seq": told.pop("seq", None),
        "before": None if op == "c" else before,
        "after": None if op == "d" else after,
        **told,
    }


def sent() -> dict[tuple[str, int], list[tuple[bytes | None, bytes | None]]]:
    found = by_target(messages("bad-rows"))
    clear("bad-rows")
    return found


def feed(protocol: str = "canal-json", query: str = "", **options: Any) -> Changefeed:
    extension = "&enable-tidb-extension=true" if protocol == "canal-json" else ""
    uri = f"memory://bad-rows/rest?protocol={protocol}{extension}&partition-num=3{query}"
    config = load_changefeed(uri, RULES)
    return Changefeed(config, MemorySink("bad-rows"), SCHEMA, options=RunOptions(**options))


def run(rows: list[Row], **options: Any) -> RunReport:
    return feed(**options).run(ArrowBatch(generic(rows)), 0, final=True)


def refusal(parts: list[list[Row]]) -> RowError:
    config = load_changefeed("memory://m/rest?protocol=canal-json&partition-num=3", RULES)
    plan = make_plan(config, catalog_from_sql(SCHEMA).histories(), {"rest": 1, "a": 3})
    encode = EncodeTask(plan, "error", None, Buckets(plan.targets, 2))
    chunks = [chunk for part in parts for chunk in encode(iter(generic(part).to_batches(7)))]
    errors = []
    for bucket in range(2):
        own = in_bucket(chunks, bucket)
        with pytest.raises(RowError) as refused:
            read_results(DeliverTask(plan, ControlSchedule(), None, check_only=True)(iter(own)))
        errors.append(refused.value)
    assert errors[0].bad_rows == errors[1].bad_rows
    return errors[0]


def history(dice: random.Random, count: int, share: float) -> tuple[list[Row], list[Row]]:
    rows, good = [], []
    for number in range(count):
        table = dice.choice("ab")
        bad = dice.choice(BAD[table]) if dice.random() < share else None
        told: dict[str, Any] = {"op": dice.choice("cud")} if table == "a" else {}
        if told.get("op") == "u" and dice.random() < 0.5:
            told["old"] = {"u": str(number)}
        if told.get("op") == "d" and bad:
            told["old"] = bad
        made = row(table, 1 + number // 4, number, bad, **told)
        rows.append(made)
        if bad is None:
            good.append(made)
    dice.shuffle(rows)
    return rows, good


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_a_refused_batch_tells_its_first_bad_rows_and_how_many_there_are(parts: int) -> None:
    rows, good = history(random.Random(parts and 4), 400, 0.1)
    error = refusal([rows[part::parts] for part in range(parts)])
    told = pickle.loads(pickle.dumps(error)).bad_rows
    bad = [each for each in rows if each not in good]
    assert told.count == len(bad) > 20
    assert told.tables == {f"s.{name}": sum(each["table"] == name for each in bad) for name in "ab"}
    assert [each.commit_ts for each in told.first] == sorted(each["commit_ts"] for each in bad)[:10]
    assert [each.order for each in told.first] == sorted(each.order for each in told.first)
    assert (error.message, error.table) == (told.first[0].reason, f"s.{told.first[0].table}")
    assert f"{len(bad)} rows are bad (s.a: {told.tables['s.a']}, s.b: {told.tables['s.b']})" in str(error)
    assert str(error).count("\n") == 11
    assert told == refusal([good, bad]).bad_rows


def test_one_bad_row_is_told_as_ever() -> None:
    rows = [row("a", 1, 1), row("b", 2, 7, {"n": "300"}), row("b", 3, 8)]
    with pytest.raises(InvalidValueError) as refused:
        run(rows)
    assert sent() == {}
    assert str(refused.value) == (
        "Column `n` is TINYINT: 300 is outside -128..127 "
        "[table='s.b', column='n', row={'id': '7', 'position': 1}]. Give a whole number in -128..127"
    )
    (only,) = refused.value.bad_rows.first
    assert (only.schema, only.table, only.op, only.commit_ts, only.key, only.column, only.error) == (
        ("s", "b", "c", 2 << 18, {"id": "7"}, "n", "InvalidValueError")
    )


def test_each_row_has_its_own_cause() -> None:
    rows = [row("a", ts, ts, bad) for ts, bad in enumerate(BAD["a"], 1)]
    rows += [row("a", 9, 9, op="q"), row("b", 10, 10, op="u") | {"before": None}]
    rows += [row("b", 11, 11) | {"after": {"id": 11}}, row("b", 12, 12) | {"after": {"id": 1, "z": 1}}]
    rows += [row("b", 13, 13) | {"commit_ts": None}]
    told = refusal([rows]).bad_rows
    assert [each.reason for each in told.first] == [
        "a commit_ts is null",
        "Column `u` is INT: 'many' is not a whole number",
        "Column `d` is DATE: '2024-13-01': no such day",
        "Column `v` is VARCHAR(9): the value has 13 characters, more than 9",
        "Column `u` is INT: 1099511627776 is outside -2147483648..2147483647",
        "Column `id` is INT: 'none' is not a whole number",
        "'q' is not an operation",
        "an update without its before image",
        "a row's image lacks a column of the table, or has it twice",
        "an image has a column that the table never had",
    ]
    assert [each.commit_ts for each in told.first] == [None, *(ts << 18 for ts in (1, 2, 3, 4, 5, 9, 10, 11, 12))]


def test_what_is_wrong_with_a_whole_batch_is_told_alone() -> None:
    bad = row("b", 1, 1, {"n": "300"})
    with pytest.raises(UnknownTableError):
        refusal([[bad], [row("b", 2, 2) | {"table": "nowhere"}]])
    for how in ("refuse", "skip"):
        with pytest.raises(UnknownTableError):
            run([bad, row("b", 2, 2) | {"table": "nowhere"}], bad_rows=how)
        with pytest.raises(DuplicateChangeError):
            run([*([bad] if how == "skip" else []), row("a", 2, 2), row("a", 2, 2, op="d")], bad_rows=how)
        late = feed(bad_rows=how)
        late.run(ArrowBatch(generic([row("b", 9, 9)])), 0, final=True)
        with pytest.raises(LateRowError):
            late.run(ArrowBatch(generic([row("b", 10, 1, {"n": "300"}), row("b", 2, 2)])), 1, final=True)
        images = pa.array([{"id": 1, "n": b"1"}], pa.struct([("id", pa.int32()), ("n", pa.binary())]))
        typed = pa.record_batch({"op": ["c"], "commit_ts": [1 << 18], "after": images})
        with pytest.raises(UnsupportedTypeError):
            feed(bad_rows=how).run(ArrowBatch([typed], "s.b"), 0, final=True)
        clear("bad-rows")


@pytest.mark.parametrize("protocol", ["canal-json", "simple", "debezium"])
@given(seed=st.integers(0, 1 << 32), share=st.sampled_from([0.02, 0.3, 1.0]))
@settings(max_examples=examples(24), deadline=None)
def test_what_goes_out_is_what_goes_out_without_the_bad_rows(protocol: str, seed: int, share: float) -> None:
    rows, good = history(random.Random(seed), 60, share)
    report = run(rows, protocol=protocol, bad_rows="skip")
    found = sent()
    if not good:
        assert (report.rows, report.skipped_rows) == (0, len(rows))
        return
    plain = run(good, protocol=protocol)
    assert found == sent()
    assert (report.rows, report.watermark) == (plain.rows, plain.watermark)
    assert report.skipped_rows == len(rows) - len(good)
    assert report.to_dict()["skipped"] == dict(report.skipped)


def test_a_split_update_is_skipped_whole() -> None:
    split = row("a", 3, 2, {"v": "far too long"}, op="u", old={"id": "1"}, seq=2)
    others = [row("a", 3, 5, seq=1), row("a", 3, 6, op="d", seq=3), row("a", 4, 7)]
    report = run([*others, split], bad_rows="skip")
    assert (report.rows, dict(report.skipped)) == (3, {"s.a": 1})
    found = sent()
    run(others)
    assert found == sent()


def test_skipped_rows_are_written_in_order_and_a_replay_writes_the_same(tmp_path: Path) -> None:
    path = tmp_path / "bad"
    rows = [row("b", 5, 5, {"n": "300"}), row("a", 4, 4), row("a", 3, 3, {"d": "x"}, op="u"), row("b", 2, 2)]
    with pytest.raises(ConfigError, match="bad_rows_path"):
        RunOptions(bad_rows_path=Secret(str(path)))
    options = {"bad_rows": "skip", "bad_rows_path": Secret(str(path))}
    running = feed(**options)
    report = running.run(ArrowBatch(generic(rows)), 7, final=True)
    assert dict(report.skipped) == {"s.a": 1, "s.b": 1}
    (file,) = path.iterdir()
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}-batch-00000007\.jsonl", file.name)
    first, second = map(json.loads, file.read_text().splitlines())
    assert first == {
        "schema": "s",
        "table": "a",
        "commit_ts": 3 << 18,
        "op": "u",
        "key": {"id": "3"},
        "column": "d",
        "error": "InvalidValueError",
        "reason": "Column `d` is DATE: 'x': not a date such as 2024-05-05",
    }
    assert (second["table"], second["reason"]) == ("b", "Column `n` is TINYINT: 300 is outside -128..127")
    before = file.read_bytes()
    random.Random(1).shuffle(rows)
    running.run(ArrowBatch(generic(rows)), 7, final=True)
    assert [each.read_bytes() for each in path.iterdir()] == [before]
    running.run(ArrowBatch(generic([row("b", 2, 2), row("a", 4, 4)])), 7, final=True)
    assert list(path.iterdir()) == []


@pytest.mark.parametrize("is_kept", [False, True])
def test_files_of_an_earlier_run_and_of_another_changefeed_stay(is_kept: bool, tmp_path: Path) -> None:
    """Without a state every run begins with batch 0, and so does a run whose state was deleted."""

    def night(*rows: Row) -> Changefeed:
        state = Secret(f"{tmp_path}/state") if is_kept else None
        path = Secret(f"{tmp_path}/bad")
        running = feed(bad_rows="skip", bad_rows_path=path, state_uri=state)
        running.run(ArrowBatch(generic(list(rows))), running.next_batch_id(), final=False)
        return running

    def names() -> list[str]:
        return sorted(each.name for each in (tmp_path / "bad").iterdir())

    night(row("b", 1, 1, {"n": "300"})).close()
    (first,) = names()
    content = (tmp_path / "bad" / first).read_bytes()
    if is_kept:
        shutil.rmtree(tmp_path / "state")
    night(row("b", 1, 2)).close()
    assert names() == [first]
    if is_kept:
        night(row("b", 3, 3, {"n": "300"})).close()
        later = night(row("b", 5, 5, {"n": "300"}))
        same_run = [name.rpartition("-batch-")[::2] for name in names() if name != first]
        assert [number for _, number in same_run] == ["00000001.jsonl", "00000002.jsonl"]
        assert len({run for run, _ in same_run}) == 1, "a state that goes on is one run"
        later.run(ArrowBatch(generic([row("b", 5, 5, {"n": "300"})])), 2, final=False)
    else:
        night(row("b", 3, 3, {"n": "300"}))
        assert len(names()) == 2
        assert all(name.endswith("-batch-00000000.jsonl") for name in names())
    assert len(names()) == (3 if is_kept else 2)
    assert (tmp_path / "bad" / first).read_bytes() == content


def test_nothing_is_sent_where_skipped_rows_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    options = {"bad_rows": "skip", "bad_rows_path": Secret(str(tmp_path / "file"))}
    with pytest.raises(DeliveryError, match="skipped rows cannot be"):
        run([row("b", 1, 1), row("b", 5, 5, {"n": "300"})], **options)
    assert sent() == {}


def test_a_list_that_may_be_there_still_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Refusing(LocalFileSystem):  # type: ignore[misc]
        def exists(self, path: str, **options: Any) -> bool:
            return False  # as fsspec answers where the storage refuses to

        def rm_file(self, path: str) -> None:
            raise PermissionError("denied")

    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda uri: (Refusing(), uri))
    with pytest.raises(DeliveryError, match="skipped rows cannot be removed"):
        run([row("b", 1, 1)], bad_rows="skip", bad_rows_path=Secret(str(tmp_path)))
    assert sent() == {}


def test_a_corrupted_row_is_the_business_of_its_own_option() -> None:
    toml = "[integrity]\nintegrity-check-level = 'correctness'\ncorruption-handle-level = 'error'\n"
    image = {"id": 1, "n": 1}
    rows = [
        {"op": "c", "commit_ts": 1 << 18, "after": image, "checksum": {"corrupted": True}},
        {"op": "c", "commit_ts": 2 << 18, "after": image | {"id": 2}, "checksum": {"current": 5}},
    ]
    for how in ("refuse", "skip"):
        encoder = Encoder("memory://m/?protocol=simple", SCHEMA, changefeed=toml, bad_rows=how)
        with pytest.raises(CorruptedRowError):
            encoder.encode(rows, "s.b")
    assert len(encoder.encode(rows[1:], "s.b")) == 0
    assert [each.column for each in encoder.skipped] == ["checksum"]


@pytest.mark.parametrize("form", ["rows", "table", "batch"])
def test_the_encoder_tells_and_skips_too(form: str) -> None:
    images = [{"id": key, "n": 300 if key in (2, 5) else 1} for key in range(8)]
    changes: Any = [{"op": "c", "commit_ts": (9 - image["id"]) << 18, "after": image} for image in images]
    good = [change for change in changes if change["after"]["n"] == 1]
    if form != "rows":
        changes = pa.Table.from_pylist(changes)
        changes = changes if form == "table" else changes.to_batches()[0]
    uri = "memory://m/?protocol=canal-json"
    with pytest.raises(InvalidValueError, match="300 is outside") as refused:
        Encoder(uri, SCHEMA).encode(changes, "s.b")
    assert [each.position for each in refused.value.bad_rows.first] == [5, 2]
    assert "row 5, s.b (id=5), commit_ts=1048576" in str(refused.value)
    encoder = Encoder(uri, SCHEMA, bad_rows="skip")
    assert encoder.encode(changes, "s.b").equals(Encoder(uri, SCHEMA).encode(good, "s.b"))
    assert [(each.position, each.key) for each in encoder.skipped] == [(5, {"id": 5}), (2, {"id": 2})]
    assert len(encoder.encode(good, "s.b")) == 6
    assert encoder.skipped == []
    with pytest.raises(ConfigError, match="bad_rows='maybe'"):
        Encoder(uri, SCHEMA, bad_rows="maybe")  # type: ignore[arg-type]


def test_messages_that_are_too_large_are_bad_rows() -> None:
    rows = [row("a", ts, ts, {"v": "x" * (9 if ts in (2, 4) else 1)}) for ts in range(1, 6)]
    run(rows[:1])
    limit = MESSAGE_OVERHEAD + max(len(value or b"") for made in sent().values() for _, value in made) + 5
    with pytest.raises(MessageTooLargeError) as refused:
        run(rows, query=f"&max-message-bytes={limit}")
    assert refused.value.bad_rows.tables == {"s.a": 2}
    assert run(rows, query=f"&max-message-bytes={limit}", bad_rows="skip").rows == 3


def test_a_batch_of_bad_rows_alone_takes_no_longer_than_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []
    usual = EncodeTask._encoded
    monkeypatch.setattr(EncodeTask, "_encoded", lambda task, batches: (tries.append(1), usual(task, batches))[1])
    rows = [row("b", 1, key, {"n": "many" if key % 2 else "300"}) for key in range(5_000)]
    assert refusal([rows]).bad_rows.count == 5_000
    assert len(tries) < 3 * (5_000 // 1_000 + 1)
