"""A message with anything wrong in it is a :class:`DecodeError`, or goes unnoticed: readers raise nothing else.

Each example damages one message of a scenario: a member of a JSON document, or bytes of an Avro record.
"""

from __future__ import annotations

import json
from functools import lru_cache
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.tail import Tail
from ticdc_emit.consume.verify import Verifier, verify
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.protocols.events import MALFORMED, DecodeError, RowEvent, as_decode_error
from ticdc_emit.traffic.scenarios.library import scenario, scenarios
from ticdc_emit.traffic.scenarios.model import FEEDS, Scenario

NAMES = ["added-default", "time-zone-extremes", "unsigned-extremes"]
PROTOCOLS_OF = {kind.name: kind.protocols for kind in scenarios()}
STRANGE: list[Any] = [None, True, -1, 0, 1.5, 10**30, -(10**30), "", "x", "18o6.87", "\ud800", [], [1], [["id"]], {}]
STRANGE += [{"a": 1}, [{}], [[[[]]]], {"": {"": None}}, "9" * 5000]

_scenario = lru_cache(scenario)


def damaged(part: Any, chance: Random) -> Any:
    """Return a JSON document with one member changed, gone, renamed or wrapped."""
    if isinstance(part, dict) and part:
        name = chance.choice(list(part))
        rest = {other: member for other, member in part.items() if other != name}
        if chance.random() < 0.5:
            return {**part, name: damaged(part[name], chance)}
        other: list[dict[str, Any]] = [
            {},
            {name: chance.choice(STRANGE)},
            {name: f"{part[name]}zz"},
            {f"{name}q": part[name]},
            {name: [part[name]]},
        ]
        return rest | chance.choice(other)
    if isinstance(part, list) and part:
        at = chance.randrange(len(part))
        return [*part[:at], damaged(part[at], chance), *part[at + 1 :]]
    return chance.choice(STRANGE)


def torn(data: bytes, chance: Random) -> bytes:
    """Return bytes of which some are others, or missing at the end."""
    found = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        found[chance.randrange(len(found))] = chance.randrange(256)
    return bytes(found if chance.random() < 0.8 else found[: chance.randrange(len(found))])


def with_one_damaged(case: Scenario, chance: Random) -> list[Message]:
    messages = list(case.messages)
    at = chance.randrange(len(messages))
    part = chance.choice(["key", "value"]) if messages[at].key else "value"
    data: bytes | None = getattr(messages[at], part)
    if data is not None:
        binary = "avro" in case.protocol or case.protocol == "open-protocol"
        new = torn(data, chance) if binary else json.dumps(damaged(json.loads(data), chance)).encode()
        messages[at] = messages[at]._replace(key=new) if part == "key" else messages[at]._replace(value=new)
    return messages


@pytest.mark.parametrize("protocol", FEEDS)
@settings(max_examples=examples(400))
@given(name=st.sampled_from(NAMES), chance=st.randoms(use_true_random=False))
def test_a_damaged_message_gives_decode_errors_alone(protocol: str, name: str, chance: Random) -> None:
    assume(protocol in PROTOCOLS_OF[name])
    case = _scenario(name, protocol=protocol)
    messages = with_one_damaged(case, chance)

    verifier, tail = Verifier(case.config, schemas=case.schemas), Tail(case.config, schemas=case.schemas)
    for message in messages:
        verifier.see(message)
        line, *_ = tail.lines(message)
        (str(line) + json.dumps(line.to_dict(), ensure_ascii=False, default=str)).encode()
    "".join(map(str, verifier.finish())).encode()

    consumer = case.consumer()
    try:
        consumer.take_all(messages)
        consumer.finish()
    except (DecodeError, SchemaError):  # a statement that the tables do not allow
        pass


@pytest.mark.parametrize(
    ("protocol", "part", "old", "new"),
    [
        ("canal-json", "value", b'"pkNames":["id"]', b'"pkNames":1'),
        ("canal-json", "value", b'"pkNames":["id"]', b'"pkNames":[["id"]]'),
        ("canal-json", "value", b'"mysqlType":{"id":"bigint', b'"mysqlType":{"id":1,"was":"bigint'),
        ("canal-json", "value", b'"sqlType":{', b'"sqlType":{"was":"x",'),
        ("canal-json", "value", b'"commitTs":', b'"commitTs":-'),
        ("canal-json", "value", b'"es":', b'"es":9999999'),
        ("simple-json", "value", b'"data":', b'"date":'),
        ("simple-json", "value", b'"commitTs":', b'"commitTs":9999999'),
        ("simple-json", "value", b'"database":"shop"', b'"database":"\\ud83d"'),
        ("debezium", "key", b'"payload":{"id":', b'"payload":{"id":[],"was":'),
        ("debezium", "value", b'"after":{"id":', b'"after":{"id":{},"was":'),
        ("debezium", "value", b'"commit_ts":', b'"commit_ts":9999999'),
    ],
)
def test_members_of_another_type(protocol: str, part: str, old: bytes, new: bytes) -> None:
    case = scenario("added-default", protocol=protocol)
    reader = reader_for(case.config, schemas=case.schemas)
    at = next(at for at, each in enumerate(case.messages) if isinstance(reader.read(each.key, each.value), RowEvent))
    message, place = case.messages[at], ("key", "value").index(part) + 3
    data = message[place] or b""
    assert old in data
    changed = Message(*message[:place], data.replace(old, new, 1), *message[place + 1 :])
    with pytest.raises(DecodeError):
        reader.read(changed.key, changed.value)
    found = verify([*case.messages[:at], changed], case.config, schemas=case.schemas)
    assert [(each.invariant, each.offset) for each in found if each.offset == message.offset] == [("readable", at)]


def test_an_avro_row_without_its_key() -> None:
    case = scenario("added-default", protocol="avro")
    with pytest.raises(DecodeError, match="does not show the handle key"):
        case.consumer().take(case.messages[0]._replace(key=b""))


def test_a_fault_of_reading_says_what_it_was() -> None:
    with pytest.raises(DecodeError, match="cannot be read: KeyError: 'x'") as caught, as_decode_error:
        raise KeyError("x")
    assert isinstance(caught.value.__cause__, KeyError)
    assert str(caught.value).endswith(f"KeyError: 'x'. {MALFORMED}")  # the remedy of each error without its own
    with pytest.raises(OSError, match="disk"), as_decode_error:
        raise OSError("disk")
    with pytest.raises(ConfigError, match="option"), as_decode_error:
        raise ConfigError("the option is wrong")
