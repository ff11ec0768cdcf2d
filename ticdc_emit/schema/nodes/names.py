"""Names of tables and users, and how they print."""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.style import WIRE, Style

__all__ = ["CURRENT_USER", "TableName", "User"]


@dataclass(frozen=True)
class TableName:
    """``schema`` is "" for the current database."""

    schema: str
    name: str

    def restore(self, style: Style = WIRE) -> str:
        return quoted(self.schema, self.name) if self.schema else quoted(self.name)


@dataclass(frozen=True)
class User:
    """``name`` and ``host`` of an account; both "" for CURRENT_USER."""

    name: str
    host: str

    def restore(self, style: Style = WIRE) -> str:
        if self == CURRENT_USER:
            return style.word("CURRENT_USER")
        return quoted(self.name) + ("@" + quoted(self.host) if self.host else "")


CURRENT_USER = User("", "")
