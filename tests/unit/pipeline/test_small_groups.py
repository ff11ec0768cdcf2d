"""Small groups of rows of different tables whose messages are framed at once."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pyarrow as pa
import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import RegistryError
from ticdc_emit.pipeline.arrange.row_batch import RowBatch
from ticdc_emit.pipeline.arrange.row_reader import change_form
from ticdc_emit.pipeline.encode.chunks import EncodedRows
from ticdc_emit.pipeline.encode.messages import encode_batches, encode_rows
from ticdc_emit.pipeline.plan.registration import Registrar, needed_by_all
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.protocols.debezium_avro.encoder import DebeziumAvroRows
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import catalog_from_sql

TABLES = ("a", "b")
SQL = "create table test.a (id bigint primary key, s varchar(9)); create table test.b (n int, id bigint primary key)"


@pytest.fixture(scope="module")
def plan() -> Plan:
    config = load_changefeed("memory://t/?protocol=debezium-avro", release="next", schema_registry="http://r.invalid")
    made = make_plan(config, catalog_from_sql(SQL).histories(), {config.kafka.topic: 1})
    registrar = Registrar(config, MemoryRegistry())
    for name in TABLES:
        table = made.table("test", name)
        made = registrar.register_rows(made, table, needed_by_all(table))
    return made


def batch(**columns: list[object]) -> pa.RecordBatch:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    stamps = pa.array(range(450_000_000_262_144_000, 450_000_000_262_144_000 + len(rows)), pa.int64())
    given = {"op": ["c"] * len(rows), "commit_ts": stamps, "after": rows}
    return change_form(pa.RecordBatch.from_pydict(given), "test")


BATCHES = (batch(id=[1, 2, 3], s=["x", None, "z"]), batch(n=[7, None], id=[4, 5]))


def messages(rows: EncodedRows) -> list[tuple[bytes, bytes]]:
    made = rows.encoded
    return list(zip(made.filled_keys().to_pylist(), made.values.to_pylist(), strict=True))


def test_groups_of_different_tables_have_the_messages_that_each_has_alone(plan: Plan) -> None:
    tables = [plan.table("test", name) for name in TABLES]
    alone = [messages(encode_rows(rows, table, plan)) for rows, table in zip(BATCHES, tables, strict=True)]
    with mock.patch.object(DebeziumAvroRows, "framed", autospec=True, side_effect=DebeziumAvroRows.framed) as framed:
        together = list(map(messages, encode_batches(map(RowBatch.of, BATCHES, tables), plan)))
    assert together == alone
    assert framed.call_count == 1


def test_what_is_wrong_with_one_group_is_told_in_its_turn(plan: Plan) -> None:
    one, other = (plan.table("test", name) for name in TABLES)
    encoders = tuple(encoder and replace(encoder, headers={}) for encoder in other.encoders)  # type: ignore[type-var]
    encoded = encode_batches(map(RowBatch.of, BATCHES, (one, replace(other, encoders=encoders))), plan)
    assert messages(next(encoded)) == messages(encode_rows(BATCHES[0], one, plan))
    with pytest.raises(RegistryError):
        next(encoded)
