"""Every golden vector with compression, handle-key-only or claim-check matches, stored objects included."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from conformance.history import CaseHistory
from conformance.produce import load_variant
from conformance.vectors import Case, Variant, read_case
from vector_files import content_of, load_vector, vector_path

from ticdc_emit.changes.model import Encoded
from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.errors import MessageTooLargeError
from ticdc_emit.pipeline.arrange.python_rows import rows_to_batch
from ticdc_emit.pipeline.deliver.control_events import ControlEncoder, Event, Watermark
from ticdc_emit.pipeline.encode.messages import encode_rows
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.protocols.decoder import decompress

NAME = "00000000-0000-4000-8000-000000000000"
CASES = {name: read_case(vector_path(name)) for name in ("large_messages", "claim_objects", "options")}


def recorded_name(*_: object) -> str:
    """Name every object alike."""
    return NAME


def handled() -> list[tuple[str, Variant]]:
    """Return the variants that say anything of large messages, and are not refused."""
    found = []
    for name, case in CASES.items():
        for variant in case.variants:
            if "large-message-handle" in (variant.changefeed or "") and variant.config_error is None:
                found.append((name, variant))
    return found


def recorded(name: str, variant: Variant) -> list[Mapping[str, Any]]:
    variants = load_vector(name)["variants"]
    messages: list[Mapping[str, Any]] = next(each["messages"] for each in variants if each["id"] == variant.id)
    return messages


class Sink:
    """Encodes the events of a case for one variant, every name of an object being the recorded one."""

    def __init__(self, case: Case, variant: Variant) -> None:
        self.config: ChangefeedConfig = load_variant(case, variant)
        self._case = case
        self._history = CaseHistory(case)
        handle = self.config.codec.large_message_handle
        self._compression, self._raw_value = handle.compression, handle.claim_check_raw_value
        self._compresses_keys = self.config.codec.protocol is Protocol.DEBEZIUM

    def messages(self, index: int) -> list[tuple[bytes | None, bytes | None, bytes | None]]:
        """Return (key, value, stored object) of an event, decompressed."""
        event = self._case.events[index]
        if event["kind"] == "row":
            return [self._shown(*message) for message in self._row(event)]
        control: Event = Watermark(event["ts"]) if event["kind"] == "watermark" else self._ddl(index)
        sent = ControlEncoder(self._plan({})).messages(control)[:1]
        return [self._shown(message.key, message.value, None) for _, message in sent]

    def shown_claim(self, content: bytes | None) -> bytes | None:
        """Return an object with the value in it decompressed."""
        if content is None or self._compression == "none":
            return content
        if self._raw_value:
            return decompress(content, self._compression)
        members = json.loads(content)
        value = decompress(base64.b64decode(members["value"]), self._compression)
        return json.dumps(members | {"value": base64.b64encode(value).decode()}).encode()

    def shown(self, key: bytes | None, value: bytes | None) -> tuple[bytes | None, bytes | None]:
        if key is not None and self._compresses_keys:
            key = decompress(key, self._compression)
        return key, None if value is None else decompress(value, self._compression)

    def _shown(
        self, key: bytes | None, value: bytes | None, claim: bytes | None
    ) -> tuple[bytes | None, bytes | None, bytes | None]:
        return (*self.shown(key, value), self.shown_claim(claim))

    def _plan(self, tables: Mapping[tuple[str, str], Any]) -> Plan:
        topics = {self.config.kafka.topic: 1}
        return make_plan(self.config, tables, topics, build_ts=self._case.now_ms, claim_names=recorded_name)

    def _ddl(self, index: int) -> Event:
        event = self._history.ddl[index]
        assert not isinstance(event, Exception)
        return event

    def _row(self, event: Mapping[str, Any]) -> list[tuple[bytes | None, bytes | None, bytes | None]]:
        name = (event["schema"], event["table"])
        plan = self._plan({name: self._history.table(*name)})
        table = plan.table(*name)
        change = {name: event.get(name) for name in ("op", "commit_ts")}
        change |= {name: event[name] for name in ("before", "after") if event.get(name) is not None}
        encoded: Encoded = encode_rows(rows_to_batch([change], table.newest), table, plan).encoded
        assert [claim.location for _, claim in encoded.claims] in ([], [f"file:///claims/{NAME}.json"])
        claim = encoded.claims[0][1].content if encoded.claims else None
        return [(encoded.filled_keys()[0].as_py(), encoded.values[0].as_py(), claim)]


@pytest.mark.parametrize(("name", "variant"), handled(), ids=lambda given: getattr(given, "id", given))
def test_every_message_and_every_stored_object_is_the_recorded_one(name: str, variant: Variant) -> None:
    sink = Sink(CASES[name], variant)
    found = 0
    for message in recorded(name, variant):
        if message.get("error"):
            with pytest.raises(MessageTooLargeError):
                sink.messages(message["event"])
            continue
        dml = CASES[name].events[message["event"]]["kind"] == "row"
        if message.get("none"):
            assert sink.messages(message["event"]) == []
            continue
        key, value = sink.shown(content_of(message["key"]), content_of(message["value"]))
        expected = (b"" if dml and key is None else key, value, sink.shown_claim(content_of(message.get("claim"))))
        (got,) = sink.messages(message["event"])
        if sink.config.codec.large_message_handle.compression != "none" and expected[2] is not None:
            assert json_or_bytes(got[2]) == json_or_bytes(expected[2])
            assert got[:2] == expected[:2]
        else:
            assert got == expected
        found += 1
    assert found


def json_or_bytes(content: bytes | None) -> Any:
    """Return an object's members: once a value in it is decompressed, the rest is not the recorded bytes either."""
    try:
        return json.loads(content or b"")
    except ValueError:
        return content


def test_the_vectors_cover_every_protocol_option_and_compression() -> None:
    variants = handled()
    assert len(variants) == 35
    configs = [load_variant(CASES[name], variant) for name, variant in variants]
    handles = [config.codec.large_message_handle for config in configs]
    assert {handle.option for handle in handles} >= {"none", "handle-key-only", "claim-check"}
    assert {handle.compression for handle in handles} == {"none", "snappy", "lz4"}
    assert {config.codec.protocol for config in configs} == {Protocol.CANAL_JSON, Protocol.SIMPLE, Protocol.DEBEZIUM}
