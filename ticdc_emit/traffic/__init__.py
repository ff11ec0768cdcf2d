"""Traffic: histories of tables, generated or from data, as a changefeed would send them."""

from __future__ import annotations

from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.sample_schemas import sample_names, sample_schema, schema_text

__all__ = ["History", "sample_names", "sample_schema", "schema_text"]
