"""Debezium's handling modes of the release ``master``: values, keys, schemas, defaults, and reading them."""

from __future__ import annotations

import base64
import json
import random
from decimal import Decimal
from typing import Any

import pytest

from ticdc_emit import Encoder, to_messages
from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.protocols.debezium.decoder import DebeziumReader

URI = "memory://t/?protocol=debezium&enable-tidb-extension=true"
DIGITS = "12345678901234567890123456789012345.123456789012345678901234567890"
NUMBERS = f"""create table test.n (
    id bigint unsigned primary key default 18446744073709551615,
    s bigint default 9223372036854775807,
    d decimal(65,30) default {DIGITS},
    e decimal(6,2)
)"""
BINARY = """create table test.b (
    id varbinary(4) primary key default 'ab',
    f binary(4),
    l blob,
    e varbinary(4),
    n varbinary(4),
    d varbinary(4) default 'ab',
    t varchar(20) default 'plain',
    bits bit(64) default b'101'
)"""
TEXTS = "&debezium-decimal-handling-mode=string&debezium-bigint-unsigned-handling-mode=string"
TSO = 450_000_000_262_144_000


def sent(schema: str, rows: list[dict[str, Any]], parameters: str = "", release: str = "master") -> list[Message]:
    encoder = Encoder(URI + parameters, schema, release=release)
    changes = [{"op": "c", "commit_ts": TSO + number, "after": row} for number, row in enumerate(rows)]
    return to_messages(encoder.encode(changes))


def parts(message: Message) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the payload of the key and the row after, and their fields by name."""
    key, value = json.loads(message.key or b""), json.loads(message.value or b"")
    fields = key["schema"]["fields"], value["schema"]["fields"][1]["fields"]
    by_name = [{field["field"]: field for field in each} for each in fields]
    return key["payload"], value["payload"]["after"], *by_name


def test_numbers_as_text_keep_all_digits() -> None:
    row = {"id": 18446744073709551615, "s": -9223372036854775808, "d": f"-{DIGITS}", "e": None}
    (message,) = sent(NUMBERS, [row], TEXTS)
    key, after, key_fields, fields = parts(message)
    assert key == {"id": "18446744073709551615"}
    assert after == {"id": "18446744073709551615", "s": -9223372036854775808, "d": f"-{DIGITS}", "e": None}
    assert key_fields["id"] == {
        "tidb_type": "bigint unsigned",
        "type": "string",
        "optional": False,
        "field": "id",
        "default": "18446744073709551615",
    }
    assert (fields["d"]["type"], fields["d"]["default"]) == ("string", DIGITS)
    assert (fields["s"]["type"], fields["s"]["default"]) == ("int64", 9223372036854775807)
    assert "default" not in fields["e"]
    change: Any = DebeziumReader().read(message.key, message.value)
    assert change.after == {**row, "id": str(row["id"]), "d": f"-{DIGITS}"}


def test_a_default_in_place_of_null_has_all_digits() -> None:
    (message,) = sent(NUMBERS, [{"id": 1, "s": None, "d": None, "e": None}], TEXTS)
    assert parts(message)[1] == {"id": "1", "s": 9223372036854775807, "d": DIGITS, "e": None}


def test_numbers_without_the_modes() -> None:
    (message,) = sent(NUMBERS, [{"id": 18446744073709551615, "s": 1, "d": "1.5", "e": "9.90"}])
    _, after, _, fields = parts(message)
    assert after == {"id": -1, "s": 1, "d": 1.5, "e": 9.9}
    assert [fields[name]["type"] for name in ("id", "s", "d", "e")] == ["int64", "int64", "double", "double"]


@pytest.mark.parametrize(
    ("mode", "kind", "shown", "fixed", "default"),
    [
        ("", "string", "+/8=", "+/8AAA==", "YWI="),
        ("base64", "string", "+/8=", "+/8AAA==", "YWI="),
        ("bytes", "bytes", "+/8=", "+/8AAA==", "YWI="),
        ("base64-url-safe", "string", "-_8=", "-_8AAA==", "YWI="),
        ("hex", "string", "fbff", "fbff0000", "6162"),
    ],
)
def test_binary_data(mode: str, kind: str, shown: str, fixed: str, default: str) -> None:
    data = b"\xfb\xff"
    row = {"id": data, "f": data, "l": data, "e": b"", "n": None, "d": None, "t": "plain", "bits": 5}
    parameters = f"&debezium-binary-handling-mode={mode}" if mode else ""
    (message,) = sent(BINARY, [row], parameters)
    key, after, key_fields, fields = parts(message)
    assert key == {"id": shown}
    assert after == {
        "id": shown,
        "f": fixed,
        "l": shown,
        "e": "",
        "n": None,
        "d": default,
        "t": "plain",
        "bits": "BQAAAAAAAAA=",
    }
    assert (key_fields["id"]["type"], key_fields["id"]["default"]) == (kind, default)
    assert {fields[name]["type"] for name in ("id", "f", "l", "e", "n", "d")} == {kind}
    assert fields["d"]["default"] == default
    assert (fields["t"]["type"], fields["t"]["default"]) == ("string", "plain")
    assert (fields["bits"]["type"], fields["bits"]["default"]) == ("bytes", "BQAAAAAAAAA=")
    reader = DebeziumReader(binary=mode or "base64")  # type: ignore[arg-type]
    change: Any = reader.text(reader.read(message.key, message.value))  # type: ignore[arg-type]
    texts = {"id": "+/8=", "f": "+/8AAA==", "l": "+/8=", "d": "YWI=", "bits": "5"}
    assert change.after == {**row, **texts, "e": ""}


def test_next_shows_a_binary_default_as_text() -> None:
    row = {"id": b"a", "f": None, "l": None, "e": None, "n": None, "d": b"x", "t": None, "bits": None}
    (message,) = sent(BINARY, [row], release="next")
    assert parts(message)[3]["d"]["default"] == "ab"


@pytest.mark.parametrize("mode", ["bytes", "base64-url-safe", "hex"])
@pytest.mark.parametrize("disabled", ["true", "false"])
def test_a_consumer_reads_every_mode(mode: str, disabled: str) -> None:
    chance = random.Random(mode)
    schema = "create table test.b (id varbinary(20) primary key, l blob, u bigint unsigned, d decimal(65,30))"
    rows = [
        {"id": n.to_bytes(2, "big"), "l": chance.randbytes(n % 7), "u": chance.getrandbits(64), "d": f"{n}.{n}"}
        for n in range(300)
    ]
    parameters = f"{TEXTS}&debezium-binary-handling-mode={mode}&debezium-disable-schema={disabled}"
    consumer = ReferenceConsumer(load_changefeed(URI + parameters, release="master"), schema)
    consumer.take_all(sent(schema, rows, parameters))
    consumer.finish()
    (table,) = consumer.tables.values()
    assert list(table.values()) == [
        {
            "id": base64.b64encode(row["id"]).decode(),
            "l": base64.b64encode(row["l"]).decode(),
            "u": str(row["u"]),
            "d": f"{Decimal(row['d']):.30f}",
        }
        for row in rows
    ]
