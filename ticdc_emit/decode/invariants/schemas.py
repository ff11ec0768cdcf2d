"""Invariants of schemas: they come before the rows that need them, and match the rows.

Rule sources: "TiCDC Simple Protocol" (BOOTSTRAP, schemaVersion), "TiCDC Avro Protocol" (schema ids), the documents on
DDL events (to which partitions a statement goes).
"""

from __future__ import annotations

from collections.abc import Iterable

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.decode.avro.reader import AvroRow
from ticdc_emit.decode.events import BootstrapEvent, DdlEvent
from ticdc_emit.decode.invariants.finding import Finding, Seen, Stream
from ticdc_emit.delivery.base import Place

__all__ = ["DdlPartitions", "SchemaFirst", "SchemaIds"]

_Version = tuple[str, str, int]


class SchemaFirst:
    """Simple: DDL or BOOTSTRAP has shown a table's version before the first row of it.

    With ``send-bootstrap-to-all-partition`` this holds in every partition, else somewhere in the topic. For a table
    that moved to this topic by RENAME TABLE, the statement in the previous topic counts. Not checked if a partition's
    first messages are missing.
    """

    name = "schema-first"

    def __init__(self, *, everywhere: bool) -> None:
        self._everywhere = everywhere
        self._shown: dict[Place, set[_Version]] = {}
        self._stated: set[tuple[str, _Version]] = set()
        self._missing: dict[tuple[Place, _Version], Seen] = {}

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Remember versions, and rows of versions that are not known yet."""
        shown = self._shown.setdefault(seen.place, set())
        event = seen.event
        if isinstance(event, BootstrapEvent):
            shown.add((event.schema, event.table, event.version))
        elif isinstance(event, DdlEvent):
            for table in (event.message.table_schema, event.message.pre_table_schema):
                if table is not None:
                    version = table.schema, table.table, table.version
                    shown.add(version)
                    self._stated.add((seen.place[0], version))
        elif seen.row is not None:
            version = seen.row.schema, seen.row.table, seen.row.schema_version or 0
            if version not in shown:
                self._missing.setdefault((seen.place, version), seen)
        return ()

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Return the first row of each version that was not known."""
        anywhere = {version for shown in self._shown.values() for version in shown}
        for (place, version), seen in self._missing.items():
            moved = any(version == stated for topic, stated in self._stated if topic != place[0])
            if stream.begins(place) and not moved and (self._everywhere or version not in anywhere):
                text = f"no DDL or BOOTSTRAP has shown version {version[2]} of the table before its first row"
                yield seen.finding(self.name, text)


class SchemaIds:
    """Avro: the schemas of key and value belong to the same table. (Reading has shown that they exist.)"""

    name = "schema-id"

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Compare the two schemas."""
        record = None if seen.row is None else seen.row.message
        if not isinstance(record, AvroRow) or record.schema is None or record.key_schema is None:
            return
        value, key = (
            f"{schema.get('namespace', '')}.{schema.get('name', '')}" for schema in (record.schema, record.key_schema)
        )
        if value != key:
            yield seen.finding(self.name, f"the value's schema is of {value}, the key's of {key}")

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Nothing to add."""
        return ()


class DdlPartitions:
    """A statement is in every partition of its topic; in Canal-JSON only in partition 0."""

    name = "ddl-partitions"

    def __init__(self, config: ChangefeedConfig) -> None:
        self._only_first = not config.codec.protocol.traits.ddl_everywhere
        self._seen: dict[tuple[str, int | None, str], dict[int, Seen]] = {}

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Remember the partitions of statements."""
        event = seen.event
        if not isinstance(event, DdlEvent):
            return
        topic, partition = seen.place
        if self._only_first and partition:
            yield seen.finding(self.name, f"DDL belongs to partition 0: {event.query:.80}")
        self._seen.setdefault((topic, event.commit_ts, event.query), {}).setdefault(partition, seen)

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Find partitions without a statement that others of the topic have."""
        if self._only_first:
            return
        for (topic, commit_ts, query), places in self._seen.items():
            lacking = [
                number for place in stream.places(topic) if (number := place[1]) not in places and stream.begins(place)
            ]
            if lacking:
                seen = places[min(places)]
                numbers = ", ".join(map(str, lacking))
                yield seen.finding(
                    self.name, f"the DDL of commit_ts {commit_ts} is not in partition {numbers}: {query:.80}"
                )
