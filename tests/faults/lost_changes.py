"""How many damages of a topic ``verify`` sees: one message removed, swapped with its neighbour, or changed.

``python -m tests.faults.lost_changes --topics 1000`` makes so many topics of each protocol: scripts over three tables
with DDL, keys that move, restarts and several ways to partitions and topics, and as many histories that hypothesis
draws. A finding in an intact topic is an error. For what is not seen, it counts why the messages cannot show it.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from hypothesis import strategies as st

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.config.protocols import protocol_parameters, spec_of
from ticdc_emit.consume.invariants import Finding, row_key
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.verify import Verifier
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.protocols.events import DdlEvent, DecodeError, Event, RowEvent, kind_of
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.strategies import changefeeds, deliveries, histories, names, redelivered
from ticdc_emit.traffic import History

PROTOCOLS = ("canal-json", "simple-json", "simple-avro", "debezium", "debezium-avro", "avro", "open-protocol")
DAMAGES = ("removed", "swapped", "changed")
_TABLES = {
    "orders": "id INT PRIMARY KEY, state VARCHAR(20), amount DECIMAL(10,2), note TEXT",
    "people": "name VARCHAR(30) PRIMARY KEY, born DATE, score DOUBLE, kind ENUM('a','b','c')",
    "parts": "a INT, b VARCHAR(10), n BIGINT, PRIMARY KEY (a, b)",
}
_KEYS = {"orders": "id = {}", "people": "name = 'k{}'", "parts": "a = {} AND b = 'x'"}
_INDEXED = {"orders": "id", "people": "name", "parts": "n"}
_TEXTS = ("", "new", "paid", "long long text", "ünï")


def story(rng: random.Random, length: int) -> str:
    """Return a change script that begins with CREATE TABLE."""
    lines = [f"CREATE TABLE shop.{name} ({columns})" for name, columns in _TABLES.items()]
    there: dict[str, set[int]] = {name: set() for name in _TABLES}
    added = 0
    for _ in range(length):
        table, key = rng.choice(list(_TABLES)), rng.randrange(6)
        keys, where = there[table], _KEYS[table].format(key)
        chance = rng.random()
        if chance < 0.06:
            added += 1
            statement = rng.choice([
                f"ALTER TABLE shop.{table} ADD COLUMN c{added} INT DEFAULT {rng.randrange(9)}",
                f"ALTER TABLE shop.{table} ADD INDEX i{added} ({_INDEXED[table]})",
                f"TRUNCATE TABLE shop.{table}",
                "ALTER TABLE shop.orders MODIFY COLUMN state VARCHAR(40)",
                f"DROP TABLE shop.{table}",
            ])  # fmt: skip
            lines.append(statement)
            if statement.startswith(("TRUNCATE", "DROP")):
                keys.clear()
            if statement.startswith("DROP"):
                lines.append(f"CREATE TABLE shop.{table} ({_TABLES[table]})")
        elif key not in keys:
            keys.add(key)
            values = {"orders": f"{key}, '{rng.choice(_TEXTS)}', {rng.randrange(99)}.5, NULL",
                      "people": f"'k{key}', '2000-01-0{1 + rng.randrange(9)}', {rng.random()}, 'b'",
                      "parts": f"{key}, 'x', {rng.randrange(-99, 99)}"}  # fmt: skip
            columns = {"orders": "id, state, amount, note", "people": "name, born, score, kind", "parts": "a, b, n"}
            lines.append(f"INSERT INTO shop.{table} ({columns[table]}) VALUES ({values[table]})")
        elif chance < 0.75:
            changes = {"orders": [f"amount = amount + {1 + rng.randrange(9)}", f"state = '{rng.choice(_TEXTS)}'"],
                       "people": [f"score = {rng.random()}", f"kind = '{rng.choice('abc')}'"],
                       "parts": [f"n = {rng.randrange(-99, 99)}"]}  # fmt: skip
            lines.append(f"UPDATE shop.{table} SET {rng.choice(changes[table])} WHERE {where}")
        elif chance < 0.8 and table == "orders" and 7 not in keys:
            keys -= {key}
            keys |= {7}
            lines.append(f"UPDATE shop.orders SET id = 7 WHERE {where}")
        else:
            keys.discard(key)
            lines.append(f"DELETE FROM shop.{table} WHERE {where}")
    return ";\n".join(lines)


def feed(rng: random.Random, protocol: str) -> ChangefeedConfig:
    """Return a changefeed with options by chance."""
    spec = spec_of(protocol)
    parameters: dict[str, Any] = {**protocol_parameters(protocol), "partition-num": rng.randrange(1, 4)}
    document: dict[str, Any] = {"sink": {"dispatchers": [
        {"matcher": ["*.*"], "partition": rng.choice(["table", "index-value", "ts"])}]}}  # fmt: skip
    if spec.registers_schemas or rng.random() < 0.5:
        document["sink"]["dispatchers"][0]["topic"] = "{schema}_{table}"
    if spec.registers_schemas:
        document["sink"]["schema-registry"] = "http://127.0.0.1:8081"
    if protocol == "debezium-avro":
        document["ticdc-emit"] = {"release": "next"}
    if spec.extension and rng.random() < 0.8:
        parameters["enable-tidb-extension"] = "true"
    if protocol == "canal-json" and "enable-tidb-extension" in parameters and rng.random() < 0.3:
        parameters["only-output-updated-columns"] = "true"
    if spec.handle_key_deletes and rng.random() < 0.2:
        document["sink"]["delete-only-output-handle-key-columns"] = True
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    return load_changefeed(f"memory://lost?{query}", document, own_registry=True)


class Topic:
    """A changefeed's messages by partition, and what they say."""

    def __init__(self, messages: list[Message], config: ChangefeedConfig, schemas: Any, partitions: Any) -> None:
        self.messages, self.config, self.schemas, self.partitions = messages, config, schemas, partitions
        reader = reader_for(config, schemas=schemas)
        self.events: list[list[Event]] = []
        self.keys: list[Any] = []
        for message in messages:
            events = [reader.read(*part) for part in reader.parts(message.key, message.value)]
            self.events.append(events)
            row = events[0] if events and isinstance(events[0], RowEvent) else None
            self.keys.append(None if row is None else (row.schema, row.table, row_key(row, reader.key_names(row))))

    def findings(self, messages: Sequence[Message], *, renumber: bool) -> list[Finding]:
        verifier = Verifier(self.config, schemas=self.schemas)
        ends: Counter[tuple[str, int]] = Counter()
        for message in messages:
            place = message[:2]
            verifier.see(message._replace(offset=ends[place]) if renumber else message)
            ends[place] += 1
        return verifier.finish(self.partitions)

    def neighbour(self, at: int) -> int | None:
        place = self.messages[at][:2]
        return next((n for n in range(at + 1, len(self.messages)) if self.messages[n][:2] == place), None)

    def changed(self, at: int, rng: random.Random) -> Message | None:
        """Return the message with one other byte, which still is another message that can be read."""
        reader, old = reader_for(self.config, schemas=self.schemas), self.messages[at]
        if not old.value:
            return None
        for message in self.messages[:at]:
            reader.learn(message.key, message.value)
        for _ in range(60):
            place, value = rng.randrange(len(old.value)), bytearray(old.value)
            value[place] = rng.choice(b"0123456789abcdefgh") if chr(value[place]).isalnum() else rng.randrange(256)
            try:
                (part,) = reader.parts(old.key, bytes(value))
                event = reader.read(*part)
                same = event == self.events[at][0] if len(self.events[at]) == 1 else True
            except (DecodeError, ValueError):
                continue
            if not same:
                return old._replace(value=bytes(value))
        return None

    def why(self, damage: str, at: int, other: int | None, changed: Message | None) -> str:
        """Return why the messages cannot show a damage."""
        events = self.events[at]
        if not isinstance(events[0], RowEvent):
            return f"a {kind_of(events[0])} message"
        if any(self.messages[n][:2] == self.messages[at][:2] and self.events[n] == events
               for n in range(len(self.messages)) if n != at):  # fmt: skip
            return "a repeated message"
        if damage == "swapped" and other is not None and self.keys[other] != self.keys[at]:
            return "swapped with a message of another key, or no row"
        row, key = events[0], self.keys[at]
        if changed is not None:
            reader = reader_for(self.config, schemas=self.schemas)
            for message in self.messages[:at]:
                reader.learn(message.key, message.value)
            (part,) = reader.parts(changed.key, changed.value)
            event = reader.read(*part)
            if isinstance(event, RowEvent) and (event.before, event.after, event.key) == (
                row.before,
                row.after,
                row.key,
            ):
                return "no value of a row"
        later = [self.events[n][0] for n in range(len(self.messages)) if self.keys[n] == key and n != at
                 and _commit(self.events[n][0]) > _commit(row)]  # fmt: skip
        if row.commit_ts is None and row.commit_ms is None:
            return "no commit time"
        if not self.config.codec.protocol.spec.old_values:
            return "rows have no row before them"
        if key[2] is None:
            return "no handle key"
        if not later:
            return "the last change of its key"
        commits = (_commit(row), min(map(_commit, later)))
        ddl = [each for every in self.events for each in every if isinstance(each, DdlEvent)]
        if any(commits[0] <= _commit(each) <= commits[1] for each in ddl):
            return "DDL before the key's next change"
        if self.config.codec.only_output_updated_columns and damage == "changed":
            return "the next change shows only its columns before it"
        if row.commit_ts is None:
            return "commits of one millisecond"
        if not self.config.codec.sends_ddl:
            return "no DDL among the messages"
        return f"other ({row.op})"


def _commit(event: Any) -> int:
    return event.commit_ts if event.commit_ts is not None else (event.commit_ms or 0) << 18


def run(protocol: str, topics: int, start: int, *, drawn: bool, verbose: bool) -> Counter[tuple[str, ...]]:
    """Return counts: (damage, "tried"/"seen"/"seen with offsets") and (damage, "missed", why)."""
    counts: Counter[tuple[str, ...]] = Counter()
    told = histories(names=names(allow_odd=False), allow_virtual=False, allow_zero_dates=False, max_commits=30)
    wild = deliveries(told, changefeeds(protocols=protocol, partitions=("table", "index-value", "default", "ts")))

    @seed(start)
    @settings(max_examples=topics, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.data())
    def one(data: st.DataObject) -> None:
        number = data.draw(st.integers(0, 1 << 60))
        rng = random.Random(number)
        if drawn:
            try:
                found = data.draw(wild)
            except TicdcEmitError:
                reject()  # a history that the changefeed refuses
            topic = Topic(found.messages, found.config, found.schemas, found.partitions)
        else:
            config, registry = feed(rng, protocol), MemoryRegistry()
            history = History.from_sql(story(rng, rng.randrange(10, 60)), schema="CREATE DATABASE shop")
            sent = history.messages(config, registry=registry, watermark_interval=rng.choice([5, 30]))
            schemas = {post.id: post.schema for post in registry.posts}
            messages = data.draw(redelivered(sent, config, schemas=schemas))
            counted = {each.topic: config.kafka.partition_num or 1 for each in sent}
            topic = Topic(messages, config, schemas, counted)
        check(topic, rng, counts, protocol, number, verbose=verbose)

    one()
    return counts


def check(
    topic: Topic, rng: random.Random, counts: Counter[tuple[str, ...]], name: str, number: int, *, verbose: bool
) -> None:
    """Damage a topic in each way, and count what is seen."""
    counts["intact", "tried"] += 1
    wrong = topic.findings(topic.messages, renumber=False)
    if wrong:
        counts["intact", "seen"] += 1
        print(f"FALSE ALARM {name} {number} {topic.config.sink_uri}: {wrong[0]}", flush=True)
        return
    for damage in DAMAGES:
        if not topic.messages:
            continue
        at, messages = rng.randrange(len(topic.messages)), list(topic.messages)
        other = topic.neighbour(at)
        if damage == "removed":
            del messages[at]
        elif damage == "swapped":
            if other is None:
                continue
            one, two = messages[at], messages[other]
            messages[at], messages[other] = two._replace(offset=one.offset), one._replace(offset=two.offset)
        else:
            changed = topic.changed(at, rng)
            if changed is None:
                continue
            messages[at] = changed
        kind = kind_of(topic.events[at][0])
        counts[damage, "tried"] += 1
        seen = bool(topic.findings(messages, renumber=True))
        counts[damage, "seen"] += seen
        counts[damage, "rows"] += kind == "row"
        counts[damage, "rows seen"] += kind == "row" and seen
        counts[damage, "seen with offsets"] += seen or bool(topic.findings(messages, renumber=False))
        if not seen:
            why = topic.why(damage, at, other, messages[at] if damage == "changed" else None)
            counts[damage, "missed", why] += 1
            if verbose and why.startswith("other"):
                print(f"MISSED {damage} {name} {number} {topic.config.sink_uri} {topic.events[at]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--topics", type=int, default=50, help="of each protocol and source")
    parser.add_argument("--protocol", action="append", choices=PROTOCOLS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drawn", action="store_true", help="only histories that hypothesis draws")
    parser.add_argument("--stories", action="store_true", help="only scripts")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    for protocol in options.protocol or PROTOCOLS:
        for drawn in (False, True):
            if (options.drawn and not drawn) or (options.stories and drawn):
                continue
            counts = run(protocol, options.topics, options.seed, drawn=drawn, verbose=options.verbose)
            print(f"{protocol}, {'drawn' if drawn else 'scripts'}: "
                  f"{counts['intact', 'tried']} intact, {counts['intact', 'seen']} false alarms")  # fmt: skip
            for damage in DAMAGES:
                tried, seen = counts[damage, "tried"], counts[damage, "seen"]
                print(f"  {damage}: {seen} of {tried} seen, {counts[damage, 'seen with offsets']} with offsets; "
                      f"of rows {counts[damage, 'rows seen']} of {counts[damage, 'rows']}")  # fmt: skip
                for (_, _, why), count in sorted(
                    ((key, count) for key, count in counts.items() if key[:2] == (damage, "missed")),
                    key=lambda each: -each[1],
                ):
                    print(f"    {count} {why}")


if __name__ == "__main__":
    main()
