"""What TiCDC makes anew when it sends a message again: the order of maps in Simple Avro, the name of a claimed object.

Such repetitions are right: verify finds nothing, and the reference consumer counts them as duplicates.
"""

from __future__ import annotations

import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import fastavro
import pytest

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.verify import verify
from ticdc_emit.delivery.base import Message
from ticdc_emit.traffic.history import History

AT = 450_000_000_262_144_000
SECOND = 1000 << 18
SCHEMA = fastavro.parse_schema(
    json.loads((files("ticdc_emit.protocols.simple") / "simple_message.avsc").read_text(encoding="utf-8"))
)
AVRO = "protocol=simple&encoding-format=avro"
CANAL = "protocol=canal-json&enable-tidb-extension=true"
KEYED = "create table shop.orders (id int primary key, state varchar(9000), paid double)"
KEYLESS = "create table shop.orders (id int, state varchar(20), paid double)"


def history(table: str, state: str = "new") -> History:
    """Return two inserts and an update of the first row."""

    def row(key: int, paid: str) -> dict[str, str]:
        return {"id": str(key), "state": state, "paid": paid}

    changes: list[tuple[Any, Any]] = [(None, row(1, "0.5")), (None, row(2, "1.5")), (row(1, "0.5"), row(1, "2.5"))]
    rows = [
        {
            "schema": "shop",
            "table": "orders",
            "op": "c" if before is None else "u",
            "commit_ts": AT + number * SECOND,
            "before": before,
            "after": after,
        }
        for number, (before, after) in enumerate(changes)
    ]
    return History(table, rows)


def config_of(parameters: str, changefeed: Any = None) -> ChangefeedConfig:
    return load_changefeed(f"kafka://127.0.0.1:9092/orders?partition-num=1&{parameters}", changefeed)


def numbered(messages: list[Message]) -> list[Message]:
    return [message._replace(offset=offset) for offset, message in enumerate(messages)]


def backwards(part: Any) -> Any:
    """Return what fastavro reads, with its maps in another order."""
    if isinstance(part, dict):
        return {name: backwards(member) for name, member in reversed(part.items())}
    if isinstance(part, tuple):
        return part[0], backwards(part[1])
    return [backwards(member) for member in part] if isinstance(part, list) else part


def remade(message: Message) -> Message:
    """Return a Simple Avro message as another run of TiCDC's may have made it."""
    read = fastavro.schemaless_reader(io.BytesIO(message.value or b""), SCHEMA, None, return_record_name=True)
    written = io.BytesIO()
    fastavro.schemaless_writer(written, SCHEMA, backwards(read))
    return message._replace(value=written.getvalue())


@pytest.mark.parametrize("table", [KEYED, KEYLESS])
def test_maps_in_another_order_are_no_other_row(table: str) -> None:
    config = config_of(AVRO, {"force-replicate": True})
    messages = history(table).messages(config)
    again = [remade(message) for message in messages]
    assert sum(new.value != old.value for new, old in zip(again, messages, strict=True)) >= 3
    assert verify(numbered([*messages, *again]), config) == []


def test_maps_in_another_order_are_a_row_that_was_there() -> None:
    config = config_of(AVRO, {"force-replicate": True})
    truth = history(KEYLESS)
    *messages, _ = truth.messages(config)  # without the last watermark, which tells without a look at the rows
    consumer = ReferenceConsumer(config, KEYLESS)
    consumer.take_all(numbered([*messages, *map(remade, messages)]))
    consumer.finish()
    assert consumer.tables == truth.tables()
    assert consumer.duplicates == 5  # three rows, two watermarks


def claiming(folder: Path) -> dict[str, Any]:
    handle = {"large-message-handle-option": "claim-check", "claim-check-storage-uri": f"file://{folder}"}
    return {"sink": {"kafka-config": {"large-message-handle": handle}}}


@pytest.mark.parametrize("feed", [CANAL, "protocol=simple", AVRO])
def test_a_message_that_is_claimed_again_names_another_object(feed: str, tmp_path: Path) -> None:
    config = config_of(f"{feed}&max-message-bytes=4000", claiming(tmp_path))
    messages = again = history(KEYED, "x" * 6000).messages(config)
    objects = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(objects) == 3
    for name, content in list(objects.items()):
        objects["z" + name[1:]] = content
        old, new = name.encode(), b"z" + name[1:].encode()
        again = [message._replace(value=(message.value or b"").replace(old, new)) for message in again]
    both = numbered([*messages, *again])
    assert verify(both, config) == []
    assert verify(both, config, claims=lambda place: objects[Path(place).name]) == []


@pytest.mark.parametrize("feed", [CANAL, "protocol=simple"])
def test_a_message_that_is_claimed_is_not_one_that_is_whole(feed: str, tmp_path: Path) -> None:
    config = config_of(f"{feed}&max-message-bytes=4000", claiming(tmp_path))
    truth = history(KEYED, "x" * 6000)
    found = verify(numbered([*truth.messages(config_of(feed)), *truth.messages(config)]), config)
    assert "duplicates" in {finding.invariant for finding in found}
