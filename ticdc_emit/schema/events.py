"""The event that one DDL job becomes."""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.schema.actions import action_code
from ticdc_emit.schema.model import TableInfo

__all__ = ["DdlEvent"]


@dataclass(frozen=True)
class DdlEvent:
    """What an encoder receives of a DDL.

    ``query`` is the statement exactly as given (one per table where it renames or drops several); ``action`` is TiDB's
    ActionType by name; ``schema`` and ``table`` are those after the DDL, ``table`` "" for a database. ``table_info`` is
    the version after, ``pre_table_info`` the one before: None where TiCDC has none. ``commit_ts`` is a TSO.
    """

    query: str
    action: str
    schema: str
    table: str
    table_info: TableInfo | None = None
    pre_table_info: TableInfo | None = None
    commit_ts: int = 0

    @property
    def action_code(self) -> int:
        """The number of TiDB's ActionType."""
        return action_code(self.action)
