"""What one step of an ALTER TABLE has made of a table, and which job of TiDB that is."""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.schema.state import TableState

__all__ = ["MULTI_SCHEMA_CHANGE", "Alteration"]

MULTI_SCHEMA_CHANGE = "alter table multi-schema change"


@dataclass(frozen=True)
class Alteration:
    """One step of an ALTER TABLE; ``action`` is "" if TiDB runs no job."""

    state: TableState
    action: str = ""
