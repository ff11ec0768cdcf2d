"""PLAN's last step for protocols with a schema registry: give encoders the headers of their registered schemas.

What has no rows is not registered, as TiCDC registers a schema with the first row that needs it: of a delete, only the
key's. The codec gets the headers of control messages likewise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID
from ticdc_emit.changes.codec import RegisteredControls, RegisteredRows
from ticdc_emit.changes.model import Op, RowEncoder
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.errors import RegistryError
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan
from ticdc_emit.registry.base import SchemaRegistry, SubjectCache, registry_for
from ticdc_emit.schema.events import DdlEvent

Needed = Iterable[tuple[RowEncoder, Op]]


class Registrar:
    """Registers schemas as plans need them, once per change of a subject, in ``registry`` or the configured one."""

    def __init__(self, config: ChangefeedConfig, registry: SchemaRegistry | None = None) -> None:
        self._config = config
        self._given = registry
        self._of_controls: dict[str, bytes] = {}

    @cached_property
    def _registry(self) -> SchemaRegistry:
        return self._given or registry_for(self._config)

    @cached_property
    def _cache(self) -> SubjectCache:
        return SubjectCache(self._registry)

    def register_controls(self, plan: Plan, events: Iterable[DdlEvent | None]) -> Plan:
        """Return the plan whose codec has the headers for messages of DDL, and of watermarks (``None``)."""
        codec, headers = plan.codec, {}
        if not isinstance(codec, RegisteredControls):
            return plan
        for event in events:
            for subject, schema in codec.control_schemas(event).items():
                if schema in codec.headers:
                    continue
                if subject not in self._of_controls:  # TiCDC asks once, as no table's version changes
                    self._of_controls[subject] = self._registry.register(subject, schema).header
                headers[schema] = self._of_controls[subject]
        return replace(plan, codec=codec.with_headers(headers)) if headers else plan

    def register_rows(self, plan: Plan, table: TablePlan, needed: Needed, refused: str | None = None) -> Plan:
        """Return the plan whose encoders of ``table`` have the headers for what is ``needed``, in that order.

        ``refused``: the column for whose value TiCDC refuses the row.
        """
        by_encoder: dict[int, Any] = {}
        for encoder, op in needed:
            if isinstance(encoder, RegisteredRows):
                topic, known = table.routed(encoder).topic, by_encoder.get(id(encoder), encoder)
                parts = None if refused is None else encoder.registered_for(op, refused)
                by_encoder[id(encoder)] = self._with_headers(known, op, topic, parts)
        if all(by_encoder[id(encoder)] is encoder for encoder in table.encoders if id(encoder) in by_encoder):
            return plan
        encoders = tuple(by_encoder.get(id(encoder), encoder) for encoder in table.encoders)
        key = (table.schema, table.name)
        return replace(plan, tables={**plan.tables, key: replace(table, encoders=encoders)})

    def _with_headers(self, encoder: RegisteredRows, op: Op, topic: str, parts: Sequence[str] | None) -> RegisteredRows:
        info = encoder.table
        # what TiCDC compares to tell whether a table has changed since its schemas were registered
        stamp = info.version if self._config.release.avro.registered_with == "version" else info.update_ts
        named = encoder.names_records
        headers, borrowed = {}, set()
        schemas = encoder.schemas(op)
        for part in schemas if parts is None else parts:  # whose schema need not be valid if that of another one serves
            subject, other = encoder.subject(topic, part), encoder.stand_in(part)
            if other is not None and self._cache.serves(subject, stamp, other[1], named=named):
                part, schema = other
            else:
                schema = schemas[part]()
            try:
                headers[part] = self._cache.header(subject, stamp, schema, named=named)
            except RegistryError as fault:
                fault.context["table"] = info.full_name
                raise
            if not self._cache.holds(subject, schema):
                borrowed.add(part)
        if headers.items() <= encoder.headers.items() and borrowed == encoder.borrowed & headers.keys():
            return encoder
        return encoder.with_headers(headers, frozenset(borrowed))


def needed_by(batch: pa.RecordBatch, table: TablePlan) -> Iterator[tuple[RowEncoder, Op]]:
    """Yield what the changes of one table (in order, with a checked commit_ts) need, by first occurrence."""
    if not any(isinstance(encoder, RegisteredRows) for encoder in table.encoders):
        return
    physical_ids = batch.column(PHYSICAL_TABLE_ID) if PHYSICAL_TABLE_ID in batch.schema.names else None
    for start, length, encoder in table.spans(batch.column("commit_ts").cast(pa.uint64(), safe=False), physical_ids):
        for text in pc.unique(batch.column("op").slice(start, length)).to_pylist():
            op = None if text is None else Op.parse(text)
            if op is not None:  # what is no operation is refused where rows are read
                yield encoder, op


def needed_by_all(table: TablePlan) -> Iterator[tuple[RowEncoder, Op]]:
    """Yield every version that can have rows and has no headers yet, for anyone who cannot see rows beforehand."""
    ends = [*table.since[1:], None]
    for since, end, encoder in zip(table.since, ends, table.encoders, strict=True):
        if encoder is not None and since != end and isinstance(encoder, RegisteredRows) and not encoder.headers:
            yield encoder, Op.INSERT
