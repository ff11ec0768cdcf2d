"""``tail`` and ``verify`` on the folder of a storage sink, as a user runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from child import Cli

from ticdc_emit.cli import topics
from ticdc_emit.cli.options import TopicOptions
from ticdc_emit.cli.topics import open_source
from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.tail import Tail
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed

TS, SECOND = 450000000262144000, 1000 << 18
SCHEMA = "create table shop.orders (id int primary key, n int); create table shop.stock (id int primary key, n int)"
VERSION = TS - 1

Write = Callable[..., None]


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return f"file://{tmp_path}/lake?protocol=csv&flush-interval=2s"


@pytest.fixture
def place(uri: str, tmp_path: Path) -> list[str]:
    path = tmp_path / "changefeed.toml"
    path.write_text("[sink.csv]\ninclude-commit-ts = true\n", encoding="utf-8")
    return ["--sink-uri", uri, "--config", str(path)]


@pytest.fixture
def write(uri: str) -> Write:
    """A function that writes changes of shop.orders at these seconds, then the checkpoint."""
    config = load_changefeed(uri, {"sink": {"csv": {"include-commit-ts": True}}})
    ddl = [(TS + 3 * SECOND, "alter table shop.orders add column x int")]
    feed = Changefeed(config, sink_for(config), SCHEMA, ddl=ddl)

    def rows(batch_id: int, *seconds: int, table: str = "orders", final: bool = False) -> None:
        rows = [
            {"op": "c", "commit_ts": TS + each * SECOND, "after": {"id": each, "n": 7} | ({"x": 8} if each > 3 else {})}
            for each in seconds
        ]
        feed.run(ArrowBatch(pa.Table.from_pylist(rows[::-1]), f"shop.{table}"), batch_id, final=final)

    return rows


def test_tail_shows_rows_statements_and_checkpoints(write: Write, place: list[str], cli: Cli) -> None:
    write(0, 0, 1, 2)
    write(1, 4, 5, final=True)
    lines = [line.split(" ", 1) for line in cli("tail", *place, "--from", "beginning").out.splitlines()]
    rows = f"shop/orders/{VERSION}/2024-05-25"
    assert [line[0] for line in lines[1:4]] == [
        f"{rows}/CDC00000000000000000001.csv@0",
        f"{rows}/CDC00000000000000000001.csv@1",
        f"{rows}/CDC00000000000000000002.csv@0",
    ]
    assert lines[0][0].startswith(f"shop/orders/meta/schema_{VERSION}_")
    assert [line[1].partition("Z ")[2] or line[1] for line in lines] == [
        f"- bootstrap shop.orders version {VERSION}",
        *(f"insert shop.orders id={number} n='7'" for number in range(3)),
        "ddl shop.orders ALTER TABLE `shop`.`orders` ADD COLUMN `x` INT",
        *(f"insert shop.orders id={number} n='7' x='8'" for number in (4, 5)),
        "watermark",
    ]
    assert lines[-1][0] == "metadata"


def test_tail_of_the_newest_rows_names_their_columns(write: Write, place: list[str], tmp_path: Path, cli: Cli) -> None:
    write(0, 0, 1, 2, 4, 5, final=True)
    for source in (place, [f"{tmp_path}/lake", *place[2:], "--protocol", "csv"]):
        row, checkpoint = map(json.loads, cli("tail", *source, "--last", "1", "--json").out.splitlines())
        assert (row["key"], row["new"], row["op"]) == ({"id": "5"}, {"n": "7", "x": "8"}, "insert")
        assert row["stored_at"].endswith("/CDC00000000000000000001.csv@1")
        assert (row["topic"], row["partition"]) == ("shop/orders", 0)
        assert (checkpoint["op"], checkpoint["stored_at"]) == ("watermark", "metadata")
    assert "no message in shop/orders matches" in cli("tail", *place, "--table", "shop.stock").err
    assert "Did you mean shop/orders?" in cli("tail", *place, "--topic", "shop/order", code=2).err


def test_tail_follows_a_folder_that_grows(write: Write, place: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [(1, 2), (4, 5)]

    def pause(_: float) -> None:
        if not batches:
            raise KeyboardInterrupt
        write(0, *batches.pop(0))

    monkeypatch.setattr(topics.time, "sleep", pause)
    source = open_source(TopicOptions(sink_uri=place[1], config=Path(place[-1])))
    tail, shown = Tail(source.config), []
    with suppress(KeyboardInterrupt):
        for message in source.messages(newest=10, follow=True):
            shown += [f"{line.op} {line.key.get('id', '')}".strip() for line in tail.lines(message)]
    assert shown == ["bootstrap", "insert 1", "insert 2", "watermark", "ddl", "insert 4", "insert 5", "watermark"]


def test_verify_finds_damaged_and_missing_files(write: Write, place: list[str], tmp_path: Path, cli: Cli) -> None:
    write(0, 0, 1, 2)
    write(1, 4, 5, 8, final=True)
    told = cli("verify", *place, "--json").json
    assert told["found"] == {}
    assert told["messages"] == {"bootstrap": 1, "row": 6, "ddl": 1, "watermark": 1}
    assert told["partitions"] == {"shop/orders": 1}
    first, *_, last = sorted((tmp_path / "lake").rglob("CDC0*.csv"))
    first.unlink()
    last.write_bytes(last.read_bytes()[:-1])
    told = cli("verify", *place, "--json", code=1).json
    assert told["found"] == {"file-numbers": 1, "readable": 1}
    assert {finding["stored_at"] for finding in told["findings"]} == {
        str(last.relative_to(tmp_path / "lake")),
        f"shop/orders/{VERSION}/2024-05-25/meta/CDC.index",
    }
    shown = cli("verify", *place, code=1).out
    assert (
        f"{first.parent.relative_to(tmp_path / 'lake')}/meta/CDC.index 1 file below the newest one is missing" in shown
    )
    assert "Checked 1 BOOTSTRAP message, 3 rows, 1 DDL message, 1 unreadable message" in shown


def test_verify_finds_rows_that_come_back_older(write: Write, place: list[str], tmp_path: Path, cli: Cli) -> None:
    write(0, 0, 2, final=True)
    first, last = sorted((tmp_path / "lake").rglob("CDC0*.csv"))
    again = last.with_name("CDC00000000000000000003.csv")
    again.write_bytes(b'"D","orders","shop",%d,2,1\r\n' % (TS + SECOND))  # older than what the last file has
    (first.parent / "meta" / "CDC.index").write_text(f"{again.name}\n")
    told = cli("verify", *place, "--json", code=1).json
    assert told["found"] == {"key-order": 1}
    (finding,) = told["findings"]
    assert finding["key"] == "id=2"
    assert finding["text"].endswith(f"comes after {TS + 2 * SECOND} ({last.relative_to(tmp_path / 'lake')}@0)")


def test_what_is_newer_than_the_checkpoint_is_no_fault(
    write: Write, place: list[str], tmp_path: Path, cli: Cli
) -> None:
    write(0, 0, 1, 2, 4, final=True)
    (tmp_path / "lake" / "metadata").write_text(f'{{"checkpoint-ts":{TS + SECOND}}}')
    told = cli("verify", *place, "--json").json
    assert told["found"] == {}
    members = ("checkpoint", "rows_after_checkpoint", "files_after_checkpoint")
    assert [told[each] for each in members] == [TS + SECOND, 1, 2]
    shown = cli("verify", *place)
    assert shown.out.splitlines()[0] == "Checked 1 BOOTSTRAP message, 3 rows, 1 watermark: no problems found"
    newer = "newer than the checkpoint: 1 row may come again and 2 schema or index files were not read\n"
    assert shown.err.endswith(newer)


def test_a_folder_without_files(uri: str, tmp_path: Path, cli: Cli) -> None:
    for command in ("tail", "verify"):
        assert (
            f"the folder has no files of a storage sink [path='file://{tmp_path}/lake']"
            in cli(command, "--sink-uri", uri, code=2).err
        )


def test_a_wrong_protocol_is_told(write: Write, uri: str, tmp_path: Path, cli: Cli) -> None:
    write(0, 0, 1, final=True)
    assert (
        "'CDC00000000000000000001.csv', which is not a file with rows of canal-json"
        in cli("verify", str(tmp_path / "lake"), "--protocol", "canal-json", code=1).out
    )
