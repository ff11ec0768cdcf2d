"""The settings of consumers for what ``serve`` sends: blocks to copy, and the same facts as data. ``consumers.toml``
has the blocks and their rules.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.routing.topics import Router
from ticdc_emit.schema.model import Column, TableInfo, type_desc
from ticdc_emit.sql.types import INTEGERS_AND_YEAR, MySQLType
from ticdc_emit.sql.words import quoted

_DATA = tomllib.loads(Path(__file__).with_name("consumers.toml").read_text(encoding="utf-8"))
EMBEDDED_LIMITS: tuple[str, ...] = tuple(_DATA["limits"])
_MOST_DIGITS = 38
_SAFE_DIGITS = 15
"""Those of a double, as which Debezium's JSON has a DECIMAL."""


@dataclass(frozen=True)
class Served:
    """What is served: Kafka's ``bootstrap`` and the URL of the ``registry``. ``embedded``: it is the embedded Kafka."""

    bootstrap: str
    registry: str
    feed: ChangefeedConfig
    tables: tuple[TableInfo, ...]
    embedded: bool

    @property
    def protocol(self) -> Protocol:
        return self.feed.codec.protocol

    def topic(self, table: TableInfo) -> str:
        return Router.of(self.feed, {}).topic(table.schema, table.name)

    @property
    def topics(self) -> list[str]:
        return sorted({self.topic(table) for table in self.tables})

    @property
    def named(self) -> list[tuple[str, TableInfo]]:
        """The tables, each with a name of its own: with its database where another table has the same name."""
        count = Counter(table.name for table in self.tables)
        return [(each.name if count[each.name] == 1 else f"{each.schema}_{each.name}", each) for each in self.tables]


def print_settings(console: Console, served: Served) -> None:
    """Print addresses, limits, and a block of settings for each consumer that can read this."""
    console.print(Text(f"Kafka            {served.bootstrap}", "bold"))
    console.print(Text(f"Schema registry  {served.registry}", "bold"))
    if served.embedded:
        console.print("\nLimits of the embedded Kafka (--broker kafka has none of them):")
        for limit in EMBEDDED_LIMITS:
            console.print(Text(f"- {limit}"))
    for title, text in _blocks(served):
        console.print(Text(f"\n# {title}", "bold"))
        console.print(Text(text))
    console.print()


def settings_record(served: Served) -> dict[str, Any]:
    """Return as JSON's object what :func:`print_settings` prints, with each column's types where they are known."""
    codec, release = served.feed.codec, served.feed.release
    return {
        "bootstrap": served.bootstrap,
        "schema_registry": served.registry,
        "protocol": served.protocol.value,
        "enable_tidb_extension": codec.enable_tidb_extension,
        "release": release.name,
        "time_zone": served.feed.time_zone,
        "limits": list(EMBEDDED_LIMITS) if served.embedded else [],
        "topics": served.topics,
        "tables": [
            {
                "table": table.full_name,
                "topic": served.topic(table),
                "key": [column.name for column in table.handle_key],
                "columns": [_column_record(column, served.feed) for column in table.data_columns],
            }
            for table in served.tables
        ],
        "consumers": dict(_blocks(served)),
    }


def _column_record(column: Column, feed: ChangefeedConfig) -> dict[str, Any]:
    types = {name: _type(column, feed, name) for name in ("flink", "clickhouse")}
    known = {name: kind for name, kind in types.items() if kind is not None}
    return {"name": column.name, "type": type_desc(column), "nullable": column.nullable, **known}


def _blocks(served: Served) -> Iterator[tuple[str, str]]:
    protocol, names = served.protocol, [name for name, _ in served.named]
    holds = {
        "tables": bool(served.tables),
        "no tables": not served.tables,
        "extension": served.feed.codec.enable_tidb_extension,
        "no extension": not served.feed.codec.enable_tidb_extension,
        "keys": all(table.handle_key for table in served.tables),
        "names": names == [table.name for table in served.tables],
    }
    texts, done = _texts(served), set[str]()
    for block in _DATA["block"]:
        fits = protocol.value in block.get("protocols", [protocol.value])
        if fits and block["title"] not in done and all(holds[each] for each in block.get("needs", ["tables"])):
            done.add(block["title"])
            yield block["title"], _filled_block(block, served, texts)


def _filled_block(block: Mapping[str, str], served: Served, texts: Mapping[str, str]) -> str:
    texts = {**block, **texts}
    parts = [_filled(block["text"], texts)] if "text" in block else []
    if "topic" in block:
        parts += [_filled(block["topic"], {**texts, "topic": topic}) for topic in served.topics]
    for name, table in served.named if "table" in block else ():
        template = block["table"] if table.handle_key else block.get("keyless", block["table"])
        parts.append(_filled(template, {**texts, **_table_texts(name, table, served, block.get("column", ""))}))
    parts += [_filled(block["end"], texts)] if "end" in block else []
    return block.get("join", "\n").join(parts)


def _filled(template: str, texts: Mapping[str, str]) -> str:
    """Return a template with the texts and parts that it names, without the line breaks at its ends."""
    parts: dict[str, str] = _DATA["parts"]

    def named(match: re.Match[str]) -> str:
        return _filled(parts[match[1]], texts) if match[1] in parts else texts[match[1]]

    return re.sub(r"<([a-z_ ]+)>", named, template.strip("\n"))


def _texts(served: Served) -> dict[str, str]:
    topics, registers = served.topics, served.protocol.spec.registers_schemas
    schemas = f" --schema-registry {served.registry}" if registers else ""
    pattern = shlex.quote("|".join(map(re.escape, topics)))
    left_out = sorted({column.name for table in served.tables for column in table.data_columns if _stops_sink(column)})
    return {
        "bootstrap": served.bootstrap,
        "registry": served.registry,
        "protocol": served.protocol.value,
        "schemas": schemas,
        "to": f"--sink-uri 'kafka://{served.bootstrap}/t?protocol={served.protocol.value}'{schemas}",
        "topic": ",".join(topics),
        "topics": ",".join(topics),
        "list": str(topics),
        "named": " ".join(f"--topic {topic}" for topic in topics),
        "chosen": f"--topic {topics[0]}" if len(topics) == 1 else f"--include {pattern}",
        "database": served.tables[0].schema if served.tables else "",
        "first": quoted(served.named[0][0]) if served.tables else "",
        "left out": f"field.exclude.list={','.join(left_out)}\n" if left_out else "",
    }


def _stops_sink(column: Column) -> bool:
    """Return whether Debezium's JDBC sink stops at a column (docs/cookbook.md)."""
    return column.type is MySQLType.DURATION or (column.type is MySQLType.BIT and column.flen > 1)


def _table_texts(name: str, table: TableInfo, served: Served, column: str) -> dict[str, str]:
    key, columns = [quoted(each.name) for each in table.handle_key], []
    for each in table.data_columns:
        types = {kind: _type(each, served.feed, kind) or "" for kind in ("flink", "clickhouse")}
        cast = "" if types["clickhouse"] == "Nullable(String)" else f"::{types['clickhouse']}"  # as the map's values
        escaped = each.name.replace("\\", "\\\\").replace("'", "\\'")
        texts = {"quoted": quoted(each.name), "escaped": escaped, "cast": cast, **types}
        columns.append(_filled(column or _DATA["flink"]["column"], texts))
    return {
        "topic": served.topic(table),
        "quoted name": quoted(name),
        "own name": table.name,
        **{f"name_{end}": quoted(f"{name}_{end}") for end in ("changes", "rows", "newest", "to_newest")},
        "columns": ",\n".join(columns),
        "primary key": f",\n  PRIMARY KEY ({', '.join(key)}) NOT ENFORCED" if key else "",
        "order": key[0] if len(key) == 1 else f"({', '.join(key)})",
    }


def _type(column: Column, feed: ChangefeedConfig, consumer: str) -> str | None:
    types = _DATA[consumer]
    if feed.codec.protocol.value not in types["protocols"]:
        return None
    row = types.get(_kind(column, feed))
    template = types["default"] if row is None else row[types["protocols"].index(feed.codec.protocol.value)]
    zone = feed.time_zone
    kind = _filled(template, {"length": f"{column.flen}", "digits": f"{column.fraction_digits}", "zone": zone})
    return f"Nullable({kind})" if consumer == "clickhouse" and column.nullable else kind


def _kind(column: Column, feed: ChangefeedConfig) -> str:
    codec, kind = feed.codec, column.type
    is_avro = codec.protocol.spec.registers_schemas
    if kind in INTEGERS_AND_YEAR:
        size = "long" if kind is MySQLType.LONGLONG else "int"
        if not column.unsigned or kind is MySQLType.YEAR:
            return size
        if size == "long":
            return "text" if is_avro and codec.avro_bigint_unsigned_handling_mode == "string" else "unsigned_long"
        return "unsigned"
    if kind is MySQLType.BIT:
        return "bit" if column.flen == 1 else "bits"
    if kind is MySQLType.NEWDECIMAL:
        if is_avro and codec.avro_decimal_handling_mode == "string":
            return "text"
        size = "long" if column.flen > _SAFE_DIGITS else ""
        return "huge_decimal" if column.flen > _MOST_DIGITS else f"{size}_decimal".lstrip("_")
    if column.is_binary:
        return "binary"
    return "time" if kind is MySQLType.DURATION else kind.name.lower()
