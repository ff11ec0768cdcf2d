"""What a consumer has at each version of a table, and what the table has there: both as rows of text by key.

In: the messages of a replayed table (Canal-JSON with TiDB extension, one partition), the commit_ts of its versions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from random_history import sql_name

from ticdc_emit import messages, replay, table_ddl
from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.verify import verify
from ticdc_emit.delivery.base import Message
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.replay.table_versions import versioned_table

Rows = dict[tuple[str | None, ...], dict[str, str | None]]


def uri(store: str) -> str:
    """Return the sink URI of a store in memory."""
    return f"memory://{store}?protocol=canal-json&enable-tidb-extension=true&partition-num=1"


def consumed_versions(
    received: Sequence[Message], schema: str, table: tuple[str, str], stamps: Iterable[int]
) -> Iterator[Rows]:
    """Yield the rows that a consumer has at each of the TSO, which rise: those of commits until then."""
    found = [(_commit_ts(message), message) for message in received]
    watermark = next(message for message in received if _value(message)["type"] == "TIDB_WATERMARK")
    waiting = sorted((each for each in found if each[0] is not None), key=lambda each: each[0] or 0)
    consumer = ReferenceConsumer(load_changefeed(uri("read")), catalog_from_sql(schema))
    place = 0
    for stamp in stamps:
        while place < len(waiting) and (waiting[place][0] or 0) <= stamp:
            consumer.take(waiting[place][1])
            place += 1
        text = _value(watermark) | {"es": stamp >> 18, "ts": stamp >> 18, "_tidb": {"watermarkTs": stamp}}
        consumer.take(watermark._replace(value=json.dumps(text).encode()))
        yield {key: dict(row) for key, row in consumer.tables.get(table, {}).items()}
    # Iceberg's columns may change after its last snapshot
    assert all(_value(message)["isDdl"] for _, message in waiting[place:]), "row changes after the last version"


def _value(message: Message) -> dict[str, Any]:
    return json.loads(message.value or b"{}")


def _commit_ts(message: Message) -> int | None:
    """Return the commit_ts of a row or DDL; ``None`` of a watermark."""
    value = _value(message)
    return None if value["type"] == "TIDB_WATERMARK" else int(value["_tidb"]["commitTs"])


def held_rows(df: Any, keys: Sequence[str]) -> Rows:
    """Return the rows of a DataFrame, each value as the reference consumer prints it."""
    texts = df.selectExpr(*(f"{_text(field)} as `{field.name}`" for field in df.schema)).collect()
    rows = [row.asDict() for row in texts]
    by_key = {tuple(row[key] for key in keys): row for row in rows}
    assert len(by_key) == len(rows), "a key is twice in a version"
    return by_key


def _text(field: Any) -> str:
    name, kind = f"`{field.name}`", field.dataType.typeName()
    if kind in ("double", "float"):
        return f"regexp_replace(cast({name} as string), '\\\\.0$', '')"
    if kind.startswith("timestamp"):
        return f"date_format({name}, 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
    return f"cast({name} as string)"


class HeldVersions:
    """The rows of a table's versions as the format's time travel gives them; each version is read once.

    ``table``: its name, or the folder of a Delta table.
    """

    def __init__(self, spark: Any, table: str) -> None:
        self.spark, self.table = spark, table
        self._rows: dict[int, Rows] = {}

    def stamps(self) -> dict[int, int]:
        """Return the commit_ts of each version that the table has now, in order."""
        versions = versioned_table(self.spark, self.table).versions
        return {version.id: version.commit_ts for version in versions if version.id is not None}

    def rows(self, version: int) -> Rows:
        if version not in self._rows:
            df = self.spark.sql(f"SELECT * FROM {sql_name(self.table)} VERSION AS OF {version}")
            self._rows[version] = held_rows(df, ["id"])
        return self._rows[version]


def check_every_version(held: HeldVersions, store: str, source: Any, commits: Sequence[str]) -> None:
    """Replay the source of a table's changes and compare what a consumer has with each version. ``commits``: words for
    what made them.
    """
    schema, ddl = table_ddl(held.spark, held.table, "lake.goods", "id")
    replay(held.spark, uri(store), {"lake.goods": source}, schema, ddl=ddl)
    check_received(messages(store), schema, held, held.stamps(), commits)


def check_received(
    received: Sequence[Message], schema: str, held: HeldVersions, stamps: Mapping[int, int], commits: Sequence[str]
) -> None:
    """Compare what a consumer has of messages, also repeated ones, at the stamp of each version with that version."""
    seen = consumed_versions(received, schema, ("lake", "goods"), stamps.values())
    for version, consumed in zip(stamps, seen, strict=True):
        assert consumed == held.rows(version), f"version {version} of {commits}"


def check_killed_stream(received: Sequence[Message], schema: str, held: HeldVersions, commits: Sequence[str]) -> None:
    """Check messages of a stream that was killed and went on, of a table whose columns never changed.

    A commit may have come as several transactions, one a microsecond after the other. Each row that differs from one
    version to the next was sent as one message, perhaps several times.
    """
    stamps = held.stamps()
    ends = [*(later - 1 for later in [*stamps.values()][1:]), 2**62]
    check_received(received, schema, held, dict(zip(stamps, ends, strict=True)), commits)
    assert verify(received, uri("read")) == []
    states: list[Rows] = [{}, *map(held.rows, stamps)]
    changes = sum(old.get(key) != new.get(key) for old, new in pairwise(states) for key in old.keys() | new.keys())
    assert len(set(row_values(received))) == changes, commits


def row_values(received: Iterable[Message]) -> list[bytes]:
    """Return the values of messages of rows and DDL."""
    return [message.value or b"" for message in received if b"TIDB_WATERMARK" not in (message.value or b"")]
