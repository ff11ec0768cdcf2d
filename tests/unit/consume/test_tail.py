"""Lines of messages: what they show of each protocol, and which are asked for."""

from __future__ import annotations

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.config.protocols import parse_protocol_name, spec_of
from ticdc_emit.consume.tail import Tail, TailLine
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ConfigError
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.traffic.history import History
from ticdc_emit.tso import compose

AT = compose(1_750_000_000_000)
SECOND = 1000 << 18
TABLE = "create table shop.orders (id bigint unsigned primary key, state varchar(200), paid timestamp(6) null)"
NEW = {"id": "18446744073709551615", "state": "new", "paid": None}
PAID = {**NEW, "state": "paid", "paid": "2025-06-15 17:00:00.500000"}
BASE = {"schema": "shop", "table": "orders"}
ROWS = [
    {**BASE, "op": "c", "commit_ts": AT, "before": None, "after": NEW},
    {**BASE, "op": "u", "commit_ts": AT + SECOND, "before": NEW, "after": PAID},
    {**BASE, "op": "d", "commit_ts": AT + 2 * SECOND, "before": PAID, "after": None},
]
DDL = ((AT + 3 * SECOND, "alter table shop.orders add column note text"),)
TIMES = [f"2025-06-15 15:06:4{second}.000Z" for second in range(4)]
FEEDS = {
    "canal-json": "protocol=canal-json&enable-tidb-extension=true&content-compatible=true",
    "simple-json": "protocol=simple",
    "simple-avro": "protocol=simple&encoding-format=avro",
    "debezium": "protocol=debezium&enable-tidb-extension=true",
    "debezium-avro": "protocol=debezium-avro&avro-bigint-unsigned-handling-mode=string",
    "avro": "protocol=avro&enable-tidb-extension=true&avro-bigint-unsigned-handling-mode=string"
    "&avro-decimal-handling-mode=string",
}


def lines(feed: str, history: History | None = None, parameters: str = "", **options: object) -> list[TailLine]:
    registry = MemoryRegistry()
    protocol, _ = parse_protocol_name(feed)
    url = "http://127.0.0.1:1" if protocol.spec.registers_schemas else None
    uri = f"kafka://127.0.0.1:9092/orders?partition-num=1&{FEEDS[feed]}{parameters}"
    config = load_changefeed(uri, time_zone="Asia/Shanghai", schema_registry=url, release=protocol.releases[0])
    history = history or History(TABLE, ROWS, DDL, time_zone="Asia/Shanghai")
    messages = history.messages(config, registry=registry)
    tail = Tail(config, schemas={post.id: post.schema for post in registry.posts}, **options)  # type: ignore[arg-type]
    return [line for message in messages for line in tail.lines(message)]


@pytest.mark.parametrize("feed", [name for name in FEEDS if spec_of(name).old_values])
def test_lines_of_protocols_with_old_values(feed: str) -> None:
    found = [str(line).split(" ", 1) for line in lines(feed) if line.op not in ("watermark", "bootstrap")]
    key = "shop.orders id=18446744073709551615"
    changes = ["state: 'new' -> 'paid'", "paid: NULL -> '2025-06-15 17:00:00.500000'"]
    assert {place.split("@")[0] for place, _ in found} == {"orders/0"}
    assert [said for _, said in found[1:]] == [
        f"{TIMES[1]} update {key} {' '.join(changes)}",
        f"{TIMES[2]} delete {key}",
        f"{TIMES[3]} ddl shop.orders ALTER TABLE `shop`.`orders` ADD COLUMN `note` TEXT",
    ][: 3 if spec_of(feed).ddl else 2]
    assert found[0][1].startswith(f"{TIMES[0]} insert {key} ")
    assert {"state='new'", "paid=NULL"} <= set(found[0][1].split(" "))


def test_lines_of_avro_show_what_it_has() -> None:
    key = "shop.orders id=18446744073709551615"
    assert [str(line) for line in lines("avro")] == [
        f"orders/0@0 {TIMES[0]} insert {key} state='new' paid=NULL",
        f"orders/0@1 {TIMES[1]} update {key} state='paid' paid='2025-06-15 17:00:00.500000'",
        f"orders/0@2 - delete {key}",
    ]


def test_control_messages_have_lines() -> None:
    found = [str(line) for line in lines("simple-json", ops=("bootstrap", "watermark"))]
    assert found[0] == "orders/0@0 - bootstrap shop.orders version 1"
    assert found[-1].endswith(f" {TIMES[3]} watermark")
    assert all(each.endswith(" watermark") for each in found[1:])


@pytest.mark.parametrize(
    ("options", "ops"),
    [
        ({"ops": ("update", "delete")}, ["update", "delete"]),
        ({"tables": ("shop.o*",)}, ["insert", "update", "delete", "ddl"]),
        ({"tables": ("shop.people", "*.orders"), "ops": ("ddl",)}, ["ddl"]),
        ({"tables": ("people",)}, []),
    ],
)
def test_only_what_is_asked_for(options: dict[str, object], ops: list[str]) -> None:
    assert [line.op for line in lines("canal-json", **options)] == ops


def test_a_line_for_programs_has_what_is_known() -> None:
    insert, update, delete, *_ = lines("canal-json")
    assert update.to_dict() == {
        "topic": "orders",
        "partition": 0,
        "offset": 1,
        "op": "update",
        "commit_ts": AT + SECOND,
        "time": TIMES[1],
        "table": "shop.orders",
        "key": {"id": "18446744073709551615"},
        "old": {"state": "new", "paid": None},
        "new": {"state": "paid", "paid": "2025-06-15 17:00:00.500000"},
    }
    assert insert.new == {"state": "new", "paid": None}
    assert (delete.old["state"], delete.new) == ("paid", {})


def test_long_values_are_cut_and_statements_are_one_line() -> None:
    row = {**NEW, "state": "x" * 150}
    history = History(
        TABLE, [{**ROWS[0], "after": row}], ((AT + 1, "create table shop.t (id int primary key) comment 'a\n  b'"),)
    )
    config = load_changefeed(f"kafka://127.0.0.1:9092/orders?partition-num=1&{FEEDS['canal-json']}")
    tail = Tail(config)
    shown = [str(line) for message in history.messages(config) for line in tail.lines(message)]
    assert any(line.endswith("CREATE TABLE `shop`.`t` (`id` INT PRIMARY KEY) COMMENT = 'a b'") for line in shown)
    inserted = next(line for line in shown if " insert " in line)
    assert f"state='{'x' * 58}\u2026" in inserted


def test_a_message_that_cannot_be_read_has_a_line() -> None:
    tail = Tail(load_changefeed(f"kafka://127.0.0.1:9092/orders?{FEEDS['canal-json']}"), tables=("other.*",))
    (line,) = tail.lines(Message("orders", 0, 7, b"", b"\xff"))
    assert (line.op, line.offset) == ("unreadable", 7)
    assert "not JSON" in str(line)


def test_rows_before_their_schema_show_wire_values() -> None:
    config = load_changefeed(f"kafka://127.0.0.1:9092/orders?partition-num=1&{FEEDS['simple-json']}")
    messages = [each for each in History(TABLE, ROWS).messages(config) if b"BOOTSTRAP" not in (each.value or b"")]
    (line,) = Tail(config).lines(messages[0])
    assert (line.key, dict(line.new)) == ({}, {"id": "18446744073709551615", "paid": None, "state": "new"})


def test_an_operation_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="watermark"):
        lines("canal-json", ops=("upsert",))
