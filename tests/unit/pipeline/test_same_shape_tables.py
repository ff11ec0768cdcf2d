"""Tables alike are encoded as one: messages, objects to store and errors are those that each table has alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from arrow_feeds import generic
from shuffled_chunks import told_by_target

from ticdc_emit.config import ChangefeedConfig, Secret, load_changefeed
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.pipeline.arrange import row_sorter
from ticdc_emit.pipeline.arrange.row_batch import TableGroup
from ticdc_emit.pipeline.arrange.row_sorter import RowSorter
from ticdc_emit.pipeline.deliver.control_events import ControlSchedule
from ticdc_emit.pipeline.deliver.deliver_task import DeliverTask, read_results
from ticdc_emit.pipeline.encode.chunks import Buckets, ChunkKind, from_ipc
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.plan.registration import Registrar, needed_by_all
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan, make_plan
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import Catalog

COLUMNS = "(id int primary key, u bigint unsigned, e enum('x','y'), v varchar(99) default 'none')"
SCHEMAS = {name: f"create table s.{name} {COLUMNS}" for name in "abcdef"} | {
    "other": "create table s.other (id int primary key, v varchar(99))"
}
TABLES = list(SCHEMAS)
TOPICS = {
    "sink": {
        "dispatchers": [
            {"matcher": ["s.b"], "topic": "b", "partition": "table"},
            {"matcher": ["s.d", "s.e"], "topic": "rest", "partition": "index-value"},
            {"matcher": ["s.f"], "topic": "rest", "partition": "columns", "columns": ["v"]},
            {"matcher": ["*.*"], "topic": "rest", "partition": "table"},
        ]
    }
}
PARTITIONS = {"rest": 3, "b": 2}
STORED = {"large-message-handle-option": "claim-check", "claim-check-storage-uri": "memory://claims"}
STORE = ClaimStore(Secret(STORED["claim-check-storage-uri"]))
URIS = [
    "protocol=canal-json&enable-tidb-extension=true",
    "protocol=canal-json&enable-tidb-extension=true&max-message-bytes=420&claim-check",
    "protocol=simple",
    "protocol=simple&encoding-format=avro",
    "protocol=avro&enable-tidb-extension=true",
    "protocol=debezium",
    "protocol=debezium&debezium-disable-schema=true",
    "protocol=debezium-avro&avro-bigint-unsigned-handling-mode=string",
]


def config_of(uri: str) -> ChangefeedConfig:
    uri, stores = uri.removesuffix("&claim-check"), uri.endswith("&claim-check")
    kafka = {"kafka-config": {"large-message-handle": STORED}} if stores else {}
    rules = {"sink": {**TOPICS["sink"], **kafka}}
    lineage = "next" if "debezium-avro" in uri else "classic"
    registry = "http://registry.invalid"
    return load_changefeed(f"memory://m/rest?{uri}&partition-num=3", rules, schema_registry=registry, release=lineage)


def catalog() -> Catalog:
    made = Catalog()
    made.ensure_database("s")
    for number, sql in enumerate(SCHEMAS.values()):
        made.apply(sql, commit_ts=number + 1)
    return made


def plan_of(config: ChangefeedConfig) -> Plan:
    plan, registrar = make_plan(config, catalog().histories(), PARTITIONS), Registrar(config, MemoryRegistry())
    for table in list(plan.tables.values()):
        plan = registrar.register_rows(plan, table, needed_by_all(table))
    return plan


def a_row(table: str, op: str, ts: int, key: int, text: str = "x") -> dict[str, Any]:
    image = {"id": key, "v": text}
    if table != "other":
        image |= {"u": (1 << 63) + key, "e": None if key % 3 else "y"}
    images = {"before": None if op == "c" else image | {"v": "before"}, "after": None if op == "d" else image}
    return {"schema": "s", "table": table, "op": op, "commit_ts": ts << 18, **images}


def history(seed: int = 1) -> list[dict[str, Any]]:
    dice = random.Random(seed)
    return [
        a_row(table, dice.choice("cud"), ts, key, dice.choice(["x", "text" * 20]))
        for ts in range(1, 20)
        for table in dice.sample(TABLES, 3)
        for key in dice.sample(range(9), 2)
    ]


def chunks(plan: Plan, rows: list[dict[str, Any]]) -> list[pa.RecordBatch]:
    task = EncodeTask(plan, "error", None, Buckets(plan.targets, 1))
    return list(task(iter(generic(rows).to_batches())))


def sent(plan: Plan, rows: list[dict[str, Any]]) -> tuple[Any, list[Any]]:
    made = chunks(plan, rows)
    found = told_by_target(DeliverTask(plan, ControlSchedule(), None, STORE)(iter(made)))
    of_claims = pc.equal(pa.Table.from_batches(made).column("kind"), ChunkKind.CLAIMS)
    bodies = pa.Table.from_batches(made).filter(of_claims)
    claims = [claim for body in bodies.column("body") for claim in from_ipc(body.as_buffer()).to_pylist()]
    return found, sorted((claim["location"], claim["content"]) for claim in claims)


def alone(tables: Sequence[TablePlan], by_itself: Any) -> list[list[int]]:
    return [[place] for place in range(len(tables))]


@pytest.mark.parametrize("uri", URIS)
def test_siblings_are_as_alone(uri: str) -> None:
    plan, rows = plan_of(config_of(uri)), history()
    together = sent(plan, rows)
    assert bool(together[1]) is ("claim-check" in uri)
    with mock.patch.object(row_sorter, "_table_groups", alone):
        assert sent(plan, rows) == together


def test_tables_of_the_same_columns_are_siblings() -> None:
    plan = plan_of(config_of(URIS[0]))
    sorter = RowSorter(plan, None, "error", None)
    (rows,) = sorter.gather(generic(history()).to_batches())
    found = [
        "".join(sorted(table.name for table in piece.tables.tables))
        if isinstance(piece.tables, TableGroup)
        else piece.tables.name
        for piece in sorter.sort(rows)
    ]
    assert sorted(found) == ["abc", "de", "f", "other"]


def test_a_bad_row_among_siblings_names_its_own_table() -> None:
    plan, rows = plan_of(config_of(URIS[0])), history()
    rows.append(a_row("c", "c", 30, 77, "too long" * 99))
    (result,) = DeliverTask(plan, ControlSchedule(), None, check_only=True)(iter(chunks(plan, rows)))
    with pytest.raises(InvalidValueError) as refused:
        read_results([result])
    assert (refused.value.table, refused.value.context["row"]["id"]) == ("s.c", "77")
