"""Plans and messages of small tables with options for large messages, for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.encoded_rows import encode_rows
from ticdc_emit.changes.model import Encoded
from ticdc_emit.config import load_changefeed
from ticdc_emit.pipeline.arrange.python_rows import rows_to_batch
from ticdc_emit.pipeline.plan.large_messages import ClaimNames
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.schema.catalog import catalog_from_sql

FIRST = 450_000_000_262_144_000
TABLE = "create table test.t (id int primary key, v text, w varchar(20))"
CANAL, SIMPLE, SIMPLE_AVRO = (
    "protocol=canal-json&enable-tidb-extension=true", "protocol=simple", "protocol=simple&encoding-format=avro"
)  # fmt: skip
REDUCING = [CANAL, SIMPLE, SIMPLE_AVRO]


def handling(option: str = "none", compression: str = "none", *, raw: bool = False, uri: str = "file:///c/") -> str:
    lines = [f'large-message-handle-option = "{option}"', f'large-message-handle-compression = "{compression}"']
    lines += [f'claim-check-storage-uri = "{uri}"', f"claim-check-raw-value = {'true' if raw else 'false'}"]
    return "\n".join(("[sink.kafka-config.large-message-handle]", *lines, ""))


def plan_of(
    uri: str, changefeed: str = "", *, limit: int = 10_000, table: str = TABLE, names: ClaimNames | None = None,
    **options: Any,
) -> Plan:  # fmt: skip
    config = load_changefeed(f"kafka://127.0.0.1:9092/topic?{uri}&max-message-bytes={limit}", changefeed, **options)
    histories = catalog_from_sql(table).histories()
    return make_plan(config, histories, {"topic": 1}, build_ts=1, claim_names=names)


def encode(plan: Plan, changes: Sequence[Mapping[str, Any]]) -> Encoded:
    (table,) = plan.tables.values()
    stamped = [{"commit_ts": FIRST + place, **change} for place, change in enumerate(changes)]
    return encode_rows(rows_to_batch(stamped, table.newest), table, plan).encoded.whole()


def values(plan: Plan, changes: Sequence[Mapping[str, Any]]) -> list[bytes]:
    return encode(plan, changes).values.to_pylist()


def insert(number: int, size: int) -> dict[str, Any]:
    return {"op": "c", "after": {"id": number, "v": "x" * size, "w": "w"}}
