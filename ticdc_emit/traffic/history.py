"""A history: tables, the changes of their rows and columns, and the final tables.

In: DDL text and row changes in the generic form, their images in canonical text (docs/types.md). Out: TiCDC's messages
(:meth:`History.messages`), an Arrow table for any engine (:meth:`History.to_arrow`), and the expected final tables of a
consumer (:meth:`History.tables`), which are folded from the rows and never from messages.
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import uuid4

import pyarrow as pa

from ticdc_emit.changefeed import ArrowBatch, Changefeed
from ticdc_emit.changefeed.options import RunOptions
from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig, Profile
from ticdc_emit.config.named import config_of
from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.delivery.memory_sink import MemorySink, clear, messages
from ticdc_emit.delivery.message import Message
from ticdc_emit.errors import ConfigError
from ticdc_emit.pictures.shown import facts_html
from ticdc_emit.registry.contract import SchemaRegistry
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.traffic.truth import Tables, fold_tables

__all__ = ["History"]

_MOST_SHOWN = 100

_IMAGE = pa.map_(pa.string(), pa.string())
_FIELDS = {
    "schema": pa.string(),
    "table": pa.string(),
    "op": pa.string(),
    "commit_ts": pa.int64(),
    "seq": pa.int64(),
    **ATTRIBUTES,
    "before": _IMAGE,
    "after": _IMAGE,
}
_ALWAYS = ("schema", "table", "op", "commit_ts", "before", "after")


@dataclass(frozen=True, repr=False)
class History:
    """``schema``: SQL text of the tables before the first row. ``rows``: changes in the generic form, in any order.

    A row is a mapping with ``schema``, ``table``, ``op``, ``commit_ts`` (TSO), ``before``, ``after`` and optionally
    ``seq``, ``start_ts``, ``physical_table_id`` and ``checksum`` (a mapping: ``changes.integrity``). ``ddl``:
    (commit_ts, statement); a row with the commit_ts of a statement comes before it. ``time_zone``: the changefeed's,
    for TIMESTAMP texts.
    """

    schema: str
    rows: Sequence[Mapping[str, Any]] = ()
    ddl: tuple[tuple[int, str], ...] = ()
    time_zone: str = field(default="UTC", kw_only=True)

    def __repr__(self) -> str:
        """Show a small history completely, as Hypothesis prints examples, and a summary of a large one."""
        if len(self.rows) <= _MOST_SHOWN:
            return (
                f"History(schema={self.schema!r}, rows={self.rows!r}, ddl={self.ddl!r}, time_zone={self.time_zone!r})"
            )
        tables = sorted({f"{row['schema']}.{row['table']}" for row in self.rows})
        return f"<History of {', '.join(tables)}: {len(self.rows):,} rows, {len(self.ddl):,} statements>"

    def _repr_html_(self) -> str:
        counts = Counter((f"{row['schema']}.{row['table']}", row["op"]) for row in self.rows)
        facts = [(table, operation, f"{count:,}") for (table, operation), count in sorted(counts.items())]
        statements = [("", "ddl", query) for _, query in self.ddl[:_MOST_SHOWN]]
        return facts_html(f"History of {len(self.rows):,} rows", [*facts, *statements], ("table", "op", ""))

    def catalog(self) -> Catalog:
        """Return the tables before the first row and statement; :class:`~ticdc_emit.errors.DdlError` for bad SQL."""
        return copy.deepcopy(self._catalog)

    @cached_property
    def _catalog(self) -> Catalog:
        return catalog_from_sql(self.schema, time_zone=self.time_zone)

    def tables(self) -> Tables:
        """Return the tables after the last row and statement, by (schema, table): rows by handle key.

        Raises :class:`~ticdc_emit.errors.SchemaError` if the history does not determine a statement's effect on rows
        (DEFAULT CURRENT_TIMESTAMP for existing rows, DROP PARTITION, another kind of type).
        """
        return fold_tables(self.catalog(), self.rows, self.ddl, self.time_zone)

    def to_arrow(self) -> pa.Table:
        """Return the rows as one Arrow table in the generic form, without DDL."""
        used = [name for name in _FIELDS if name in _ALWAYS or any(row.get(name) is not None for row in self.rows)]
        columns = {name: [row.get(name) for row in self.rows] for name in used}
        columns |= {name: [_entries(image) for image in columns[name]] for name in ("before", "after")}
        return pa.table({name: pa.array(values, _FIELDS[name]) for name, values in columns.items()})

    @hides_arguments
    def messages(
        self,
        sink_uri: str | ChangefeedConfig,
        *,
        changefeed: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        watermark_interval: float | None = None,
        registry: SchemaRegistry | None = None,
        profile: str | Profile | None = None,
        time_zone: str | None = None,
        cluster_id: str | None = None,
        integrity: bool | None = None,
        force_replicate: bool | None = None,
        schema_registry: str | None = None,
    ) -> list[Message]:
        """Return the history as a changefeed sends it: rows, DDL, BOOTSTRAP and watermarks, by topic-partition.

        ``sink_uri``, ``changefeed`` and ``profile`` to ``schema_registry``: what :func:`~ticdc_emit.load_changefeed`
        takes, or what it returned; nothing is sent there, and every topic has ``partition-num`` partitions.
        ``watermark_interval``: seconds of commit time. Raises :class:`~ticdc_emit.errors.ConfigError` for a
        configuration with another time zone, and for options together with a loaded one. Raises the family of
        :class:`~ticdc_emit.errors.TicdcEmitError` if something cannot be sent.
        """
        config = config_of(locals(), time_zone=self.time_zone)
        if config.time_zone != self.time_zone:
            raise ConfigError(
                f"the changefeed's time zone is {config.time_zone}, the history's {self.time_zone}",
                remedy="Load the changefeed with the history's time_zone",
                option="time_zone",
            )
        store = f"history-{uuid4()}"
        partitions = config.kafka.partition_num or DEFAULT_PARTITION_NUM
        sink = MemorySink(store, config.codec.max_message_bytes, new_partitions=partitions)
        try:
            feed = Changefeed(
                config,
                sink,
                self._catalog,
                ddl=self.ddl,
                registry=registry,
                options=RunOptions(watermark_interval=watermark_interval),
            )
            feed.run(ArrowBatch(self.to_arrow()), 0, final=True)
            return messages(store)
        finally:
            clear(store)


def _entries(image: Mapping[str, Any] | None) -> list[tuple[str, Any]] | None:
    return None if image is None else list(image.items())
