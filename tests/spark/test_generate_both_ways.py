"""Traffic that this process makes has the same messages as Spark's."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.delivery.memory import clear, messages
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.spark import TicdcSink
from ticdc_emit.traffic.generate import generate, generate_arrow

pytestmark = pytest.mark.spark

SQL = """
create table a.people (id bigint primary key, email varchar(80) not null unique, boss bigint, born date,
  token binary(9), tiny tinyint, huge bigint unsigned, price decimal(12,3), wide decimal(50,9), f float, d double(9,2),
  bits bit(5), y year, t time(2), at datetime(4), seen timestamp(6) null, kind enum('a','b|c','d'),
  marks set('x','y','z'), doc json, pad char(60), note text, ref varchar(7),
  score int, grade varchar(3), price2 decimal(6,2), day date, rare int not null,
  loud varchar(90) as (upper(email)) stored, twice decimal(14,3) as (price * 2) stored,
  foreign key (boss) references people (id)) partition by hash (id) partitions 3;
create table a.items (person bigint, n int, name varchar(64), sku varchar(20), primary key (person, n),
  foreign key (person) references people (id));
"""
COLUMNS = {
    "score": {"range": [0, 100], "distribution": "normal"},
    "grade": {"labels": ["A", "B", "C"], "weights": [5, 4, 1], "nulls": 0.3},
    "price2": {"range": [0.5, 99]},
    "a.people.day": {"range": ["2024-01-01", "2024-03-01"]},
    "rare": {"range": [1, 1_000_000], "distribution": "zipf"},
    "ref": {"pattern": "##-??^"},
}
MODEL: Any = {"columns": COLUMNS, "load": {"ddl_rate": 20.0, "transaction_size": 2}, "trouble": {"shared_commits": 0.5}}
PROTOCOLS = ("canal-json&enable-tidb-extension=true", "avro")
RULES = [{"matcher": ["*.*"], "topic": "{schema}_{table}", "partition": "index-value"}]


def test_both_ways_give_the_same_messages(spark: Any) -> None:
    settings: dict[str, Any] = {"rows": 600, "seed": 3, "model": MODEL}
    on_spark, here = generate(spark, SQL, **settings), generate_arrow(SQL, **settings)
    assert here.ddl == on_spark.ddl
    frames = {table: frame.cache() for table, frame in on_spark.changes.items()}
    for protocol in PROTOCOLS:
        sent = []
        for changes in (frames, here.changes):
            store, registry = f"both-{protocol.partition('&')[0]}-{len(sent)}", MemoryRegistry()
            sink = TicdcSink(
                f"memory://{store}/?protocol={protocol}&partition-num=2",
                SQL,
                ddl=here.ddl,
                changefeed={"sink": {"dispatchers": RULES}},
                registry=registry if protocol == "avro" else None,
            )
            sink.write(changes)
            sent.append((registry.posts, messages(store)))
            clear(store)
        assert sent[0] == sent[1], protocol
        assert {message.topic for message in sent[0][1]} >= {"a_people", "a_items"}


def test_noise_is_the_same_for_any_number_of_spark_partitions(spark: Any) -> None:
    sent = []
    trouble = {"shared_commits": 0.5, "redelivery": 0.2, "lag": 0.2}
    settings: dict[str, Any] = {"rows": 600, "seed": 3, "model": {"trouble": trouble}}
    made = [generate(spark, SQL, partitions=count, **settings) for count in (1, 3)]
    for number, traffic in enumerate([*made, generate_arrow(SQL, **settings)]):
        store = f"noise-{number}"
        traffic.sink(f"memory://{store}?protocol=canal-json&partition-num=2").write(traffic.changes)
        sent.append(messages(store))
        clear(store)
    assert sent[0] == sent[1] == sent[2]
    assert len(sent[0]) > 620
