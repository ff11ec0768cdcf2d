"""A history that has what consumers stumble over, and the ways in which its messages may arrive."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.delivery_order import interleave

_START = 450000000262144000
_SECOND = 1000 << 18
ZONE = "America/New_York"

SCHEMA = """
create table test.t (
  id bigint unsigned primary key, tiny tinyint, small smallint unsigned, medium mediumint, num int, big bigint,
  y year, bits bit(10), flag bit(1), f float, d double, dec_ decimal(12,3), day date, dt datetime(6), ms datetime(3),
  stamp timestamp(2) null, clock time(3), name varchar(40), text_ text, raw varbinary(20), fixed binary(4), blob_ blob,
  e enum('a','b,c','d''e'), s set('x','y','z'), doc json
);
create table test.pair (a varchar(20), b int, v varchar(20), primary key (a, b));
create table test.uniq (k varchar(20) not null, v int, unique key (k));
create table test.other (id int primary key, v int);
"""

FULL = {
    "id": "18446744073709551615", "tiny": "-128", "small": "65535", "medium": "-8388608", "num": "-2147483648",
    "big": "-9223372036854775808", "y": "1901", "bits": "1023", "flag": "1", "f": "0.1", "d": "-1.5",
    "dec_": "-123456789.125", "day": "9999-12-31", "dt": "1969-12-31 23:59:59.999999", "ms": "2024-05-05 12:34:56.789",
    "stamp": "2024-11-03 01:30:00.25", "clock": "-838:59:59.000", "name": "null", "text_": "\U0001f600 \"q\" \\ \n",
    "raw": "AP/+", "fixed": "YQAAAA==", "blob_": "", "e": "b,c", "s": "x,z", "doc": '{"a": [1, 2.5, null]}',
}  # fmt: skip
PLAIN = {
    "id": "1", "tiny": "1", "small": "2", "medium": "3", "num": "4", "big": "5", "y": "2024", "bits": "0", "flag": "0",
    "f": "16777216", "d": "0.000001", "dec_": "0.000", "day": "1970-01-01", "dt": "2000-01-01 00:00:00.000000",
    "ms": "2000-02-29 00:00:00.000", "stamp": "2038-01-18 22:14:07.00", "clock": "00:00:00.001", "name": "",
    "text_": "x", "raw": "", "fixed": "AAAAAA==", "blob_": "AAEC", "e": "a", "s": "", "doc": "[]",
}  # fmt: skip
EMPTY = {**dict.fromkeys(FULL), "id": "2"}


def ts(second: float) -> int:
    """Return the TSO of a second of the history."""
    return _START + int(second * _SECOND)


class _Rows(list[dict[str, Any]]):
    def change(self, second: float, table: str, before: Any, after: Any) -> None:
        op = "c" if before is None else "d" if after is None else "u"
        place = {"schema": "test", "table": table, "op": op, "commit_ts": ts(second)}
        self.append({**place, "before": before, "after": after})


def _rows() -> _Rows:
    rows = _Rows()
    change = rows.change
    for row in (FULL, PLAIN, EMPTY):
        change(1, "t", None, row)
    changed = {**PLAIN, "name": "renamed", "e": "d'e", "s": "y", "stamp": None}
    change(2, "t", PLAIN, changed)
    change(3, "t", changed, {**changed, "id": "77"})  # moves to another key, and maybe partition
    change(4, "t", FULL, None)
    change(5, "t", None, {**FULL, "name": "again"})
    change(6, "t", {**FULL, "name": "again"}, {**FULL, "name": "third"})
    for number in range(12):
        pair = {"a": f"k{number % 4}", "b": str(number), "v": "0"}
        change(2 + number / 100, "pair", None, pair)
        change(3 + number / 100, "pair", pair, {**pair, "v": "1"})
        if number % 3 == 0:
            change(4 + number / 100, "pair", {**pair, "v": "1"}, None)
    # two keys change places in one transaction
    first, second = {"a": "k1", "b": "1", "v": "1"}, {"a": "k2", "b": "2", "v": "1"}
    change(5, "pair", first, {**second, "v": "was 1"})
    change(5, "pair", second, {**first, "v": "was 2"})
    change(2, "uniq", None, {"k": "a", "v": "1"})
    change(3, "uniq", {"k": "a", "v": "1"}, {"k": "A", "v": "2"})
    for number in range(5):
        change(6 + number / 10, "other", None, {"id": str(number), "v": str(number)})
    return rows


def _with_ddl() -> History:
    rows = _rows()
    change = rows.change
    ddl = (
        (ts(10), "alter table test.pair add column added decimal(6,2) not null default 1.5 first"),
        (ts(11), "alter table test.pair rename column v to w"),
        (ts(12), "alter table test.other modify column v bigint"),
        (ts(13), "rename table test.other to test.moved"),
        (ts(14), "alter table test.t drop column doc"),
        (ts(15), "create table test.fresh (id int primary key, v varchar(10))"),
        (ts(18), "truncate table test.uniq"),
        (ts(20), "drop table test.fresh"),
        (ts(21), "create table test.fresh (id int primary key)"),
    )
    change(
        10.5, "pair", {"added": "1.50", "a": "k1", "b": "5", "v": "1"}, {"added": "9.00", "a": "k1", "b": "5", "v": "2"}
    )
    change(11.5, "pair", None, {"added": "2.00", "a": "new", "b": "1", "w": "x"})
    change(12.5, "other", {"id": "1", "v": "1"}, {"id": "1", "v": "9223372036854775807"})
    change(13.5, "moved", {"id": "2", "v": "2"}, {"id": "2", "v": "20"})
    change(13.6, "moved", {"id": "3", "v": "3"}, None)
    slim = {name: text for name, text in PLAIN.items() if name != "doc"}
    change(14.5, "t", None, {**slim, "id": "500"})
    change(15.5, "fresh", None, {"id": "1", "v": "a"})
    change(16, "uniq", None, {"k": "gone", "v": "1"})
    change(19, "uniq", None, {"k": "kept", "v": "1"})
    change(22, "fresh", None, {"id": "2"})
    return History(SCHEMA, rows, ddl, time_zone=ZONE)


ROWS_ONLY = History(SCHEMA, _rows(), time_zone=ZONE)
HISTORY = _with_ddl()
_LARGE = ["x" * 9000, "small", "\u00e9" * 5000]
LARGE = History(
    "create table test.big (id int primary key, body mediumtext)",
    [
        {
            "schema": "test",
            "table": "big",
            "op": "u" if second else "c",
            "commit_ts": ts(second + number / 10),
            "before": {"id": str(number), "body": body} if second else None,
            "after": {"id": str(number), "body": body if second == 0 else body + "!"},
        }
        for second in (0, 1)
        for number, body in enumerate(_LARGE)
    ],
)


def config_of(uri: str, changefeed: str | None = None, *, partitions: int = 3, **options: Any) -> ChangefeedConfig:
    """Return the changefeed of a URI's parameters."""
    if "protocol=avro" in uri:
        options["schema_registry"] = "http://127.0.0.1:8081"
    place = f"kafka://127.0.0.1:9092/topic?partition-num={partitions}&{uri}"
    return load_changefeed(place, changefeed, time_zone=options.pop("time_zone", ZONE), **options)


def messages_of(
    history: History, config: ChangefeedConfig, *, watermark_interval: float | None = 1.0
) -> tuple[list[Message], dict[int | None, str]]:
    """Return a history's messages by topic-partition, and the schemas that they name."""
    registry = MemoryRegistry()
    sent = history.messages(config, registry=registry, watermark_interval=watermark_interval)
    return sent, {post.id: post.schema for post in registry.posts}


def consumer_of(history: History, config: ChangefeedConfig, schemas: Any = None, **options: Any) -> ReferenceConsumer:
    """Return a consumer with the tables that were there before the first message."""
    options.setdefault("partitions", config.kafka.partition_num)
    return ReferenceConsumer(config, history.catalog(), schemas=schemas or {}, **options)


def by_place(messages: Iterable[Message]) -> list[list[Message]]:
    """Return the messages of each partition."""
    found: dict[tuple[str, int], list[Message]] = {}
    for message in messages:
        found.setdefault((message.topic, message.partition), []).append(message)
    return list(found.values())


def interleaved(messages: Iterable[Message], seed: int) -> list[Message]:
    """Return all messages in some order between partitions, that of each partition kept."""
    return interleave(random.Random(seed), by_place(messages))


def redelivered(messages: Iterable[Message], seed: int) -> list[Message]:
    """Return each partition as a producer leaves it that begins again, now and then: 1 2 3 2 3 4 3 4 5."""
    chance = random.Random(seed)
    return [message for each in by_place(messages) for message in _again(each, chance)]


def _again(messages: Sequence[Message], chance: random.Random) -> list[Message]:
    found: list[Message] = []
    for at, message in enumerate(messages, 1):
        found.append(message)
        if chance.random() < 0.15:
            found += messages[max(0, at - chance.randrange(1, 9)) : at]
    return found + list(messages[chance.randrange(len(messages)) :])
