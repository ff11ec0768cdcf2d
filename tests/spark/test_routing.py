"""Dispatchers and split updates in Spark: the same messages on the same partitions as the plain encoder gives."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ticdc_emit import Encoder
from ticdc_emit.delivery.memory import clear, messages
from ticdc_emit.errors import DispatcherError, InvalidValueError
from ticdc_emit.spark import TicdcSink

URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=5"
TABLE = "create table shop.%s (id int primary key, u varchar(10), n decimal(9,2), unique key (u), unique key (n))"
SCHEMA = ";".join(TABLE % name for name in ("a", "b", "c"))
RULES = """[sink]
dispatchers = [
  {matcher = ["shop.a"], partition = "index-value", topic = "{schema}_{table}"},
  {matcher = ["shop.b"], partition = "ts", topic = "{schema}_{table}"},
]
"""
TS = 450_000_000_262_144_000


def history(seed: int, *, seq: bool) -> list[dict[str, Any]]:
    """Transactions of several rows over three tables; many updates change a key, some only its form."""
    rng = random.Random(seed)
    found = []
    for step in range(40):
        for place, key in enumerate(rng.sample(range(30), 6)):
            op = rng.choice("cuud")
            before = {"id": str(key), "u": f"u{key}", "n": "1.50"}
            after = {**before, **rng.choice([{}, {"id": str(key + 100)}, {"u": None}, {"n": "+1.5"}, {"n": "2"}])}
            change = {"schema": "shop", "table": rng.choice("abc"), "op": op, "commit_ts": TS + step}
            change |= {"before": None if op == "c" else before, "after": None if op == "d" else after}
            found.append(change | ({"seq": place} if seq else {}))
    return found


def expected(changes: list[dict[str, Any]], seq: bool) -> dict[tuple[str, int], list[bytes]]:
    """What each topic-partition must receive of each table, by the plain encoder."""
    encoder = Encoder(f"memory://x?{URI}", SCHEMA, changefeed=RULES)
    found: dict[tuple[str, int], list[tuple[int, str, int, bytes]]] = {}
    for table in "abc":
        own = [
            {name: row[name] for name in row if name not in ("schema", "table")}
            for row in changes
            if row["table"] == table
        ]
        for place, row in enumerate(encoder.encode(own, table=f"shop.{table}").to_pylist()):
            entry = row["commit_ts"], table, place, row["value"]
            found.setdefault((row["topic"], row["partition"]), []).append(entry)
    return {target: [value for *_, value in sorted(rows)] for target, rows in found.items()}


@pytest.mark.parametrize("seq", [False, True])
def test_spark_routes_and_splits_as_the_encoder_does(spark: Any, seq: bool) -> None:
    changes = history(7 + seq, seq=seq)
    kind = "schema string, table string, op string, commit_ts long, before map<string,string>, after map<string,string>"
    shuffled = random.Random(1).sample(changes, len(changes))
    df = spark.createDataFrame(shuffled, kind + (", seq long" if seq else "")).repartition(4)
    clear("routing")
    TicdcSink(f"memory://routing?{URI}", SCHEMA, changefeed=RULES).write(df)
    got: dict[tuple[str, int], list[bytes]] = {}
    for message in messages("routing"):
        if message.value is not None and b"TIDB_WATERMARK" not in message.value:
            got.setdefault((message.topic, message.partition), []).append(message.value)
    assert got == expected(changes, seq)
    assert len({topic for topic, _ in got}) == 3
    assert sum(topic == "shop_a" for topic, _ in got) > 2


def test_what_has_no_partition_is_raised_with_its_type(spark: Any) -> None:
    kind = "schema string, table string, op string, commit_ts long, after map<string,string>"
    df = spark.createDataFrame([("shop", "a", "c", TS, {"id": "no number", "u": "x", "n": "1"})], kind)
    with pytest.raises(InvalidValueError) as refused:
        TicdcSink(f"memory://bad?{URI}", SCHEMA, changefeed=RULES).write(df)
    assert refused.value.column == "id"
    missing = RULES.replace('"index-value"', '"columns", columns = ["nope"]')
    with pytest.raises(DispatcherError, match="columns not found"):
        TicdcSink(f"memory://bad?{URI}", SCHEMA, changefeed=missing)


KEYS = {
    "whole": ("id int primary key", ["100", "+9", "10", "-5", "-10", "007", "0"]),
    "big": ("id bigint unsigned primary key", ["18446744073709551615", "9", "10"]),
    "deci": ("id decimal(9,2) primary key", ["10.5", "9.50", "-1.5", "-10", "0.05", "-0", "100"]),
    "dbl": ("id double primary key", ["10.5", "9.5", "-2", "1e1", "0"]),
    "flt": ("id float, v varchar(9)", ["10.5", "9.5", None, "-9.5", "1.50", "1.5"]),
    "none": ("id int, v varchar(9)", ["10", None, "9", "10"]),
    "txt": ("id varchar(20) primary key", ["10", "9", "-5", ""]),
}
ONE = "protocol=canal-json&enable-tidb-extension=true&partition-num=1"


def sent(store: str) -> list[bytes]:
    values = [message.value or b"" for message in messages(store)]
    clear(store)
    return [value for value in values if b"TIDB_WATERMARK" not in value]


def test_keys_in_odd_forms_are_ordered_as_the_encoder_does(spark: Any) -> None:
    schema = ";".join(f"create table shop.{name} ({columns})" for name, (columns, _) in KEYS.items())
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, (columns, values) in KEYS.items():
        for step, tell in enumerate((None, "start_ts", "physical_table_id")):
            for place, value in enumerate(values):
                image = {"id": value} | ({"v": str(-place)} if " v " in columns else {})
                row = {"op": "c", "commit_ts": TS + step, "after": image, "start_ts": None, "physical_table_id": None}
                rows.setdefault(name, []).append(row | ({tell: ["9", "10", None][place % 3]} if tell else {}))
    flat = [{"schema": "shop", "table": name, **row} for name in rows for row in rows[name]]
    kind = (
        "schema string, table string, op string, commit_ts long, start_ts string, physical_table_id string, "
        "after map<string,string>"
    )
    df = spark.createDataFrame(random.Random(3).sample(flat, len(flat)), kind).repartition(3)
    clear("odd")
    TicdcSink(f"memory://odd?{ONE}", schema, force_replicate=True).write(df)
    found = sent("odd")
    encoder = Encoder(f"memory://x?{ONE}", schema, force_replicate=True)
    for name, own in rows.items():
        numbers = [
            row | {tell: row[tell] and int(row[tell]) for tell in ("start_ts", "physical_table_id")} for row in own
        ]
        expected = encoder.encode(numbers, table=f"shop.{name}").column("value").to_pylist()
        assert [value for value in found if b'"table":"%s"' % name.encode() in value] == expected, name
