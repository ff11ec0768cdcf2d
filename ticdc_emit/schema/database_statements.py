"""DDL statements about databases, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/ddl.go`` (the ``Restore`` methods of the statements).
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.style import WIRE, Style, if_exists, if_not_exists, string

__all__ = ["AlterDatabase", "CreateDatabase", "DatabaseOption", "DropDatabase", "UseDatabase"]


@dataclass(frozen=True)
class DatabaseOption:
    """``name``: charset, collate, encryption, placement_policy or tiflash_replica (of ``labels``)."""

    name: str
    value: str = ""
    labels: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        if self.name == "placement_policy":
            return ""
        if self.name == "tiflash_replica":
            labels = style.word(" LOCATION LABELS ") + ", ".join(map(string, self.labels)) if self.labels else ""
            return f"{style.word('SET TIFLASH REPLICA ')}{self.value}{labels}"
        if self.name == "encryption":
            return f"{style.word('ENCRYPTION')} = {string(self.value)}"
        return f"{style.word('CHARACTER SET' if self.name == 'charset' else 'COLLATE')} = {self.value}"


class _WithDatabaseOptions:
    options: tuple[DatabaseOption, ...]

    @property
    def charset(self) -> str:
        return self._last("charset")

    @property
    def collate(self) -> str:
        return self._last("collate")

    @property
    def placement_only(self) -> bool:
        """Whether the statement changes the placement policy and no charset."""
        return not (self.charset or self.collate) and any(o.name == "placement_policy" for o in self.options)

    def _last(self, name: str) -> str:
        return next((option.value for option in reversed(self.options) if option.name == name), "")

    def _options_text(self, style: Style) -> str:
        return "".join(" " + option.restore(style) for option in self.options)


@dataclass(frozen=True)
class CreateDatabase(_WithDatabaseOptions):
    name: str
    options: tuple[DatabaseOption, ...] = ()
    if_not_exists: bool = False

    def restore(self, style: Style = WIRE) -> str:
        head = style.word("CREATE DATABASE " + if_not_exists(self.if_not_exists))
        return head + quoted(self.name) + self._options_text(style)


@dataclass(frozen=True)
class AlterDatabase(_WithDatabaseOptions):
    """``name`` is None for the current database."""

    name: str | None
    options: tuple[DatabaseOption, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        if all(option.name == "placement_policy" for option in self.options):
            return ""
        name = "" if self.name is None else " " + quoted(self.name)
        return style.word("ALTER DATABASE") + name + self._options_text(style)


@dataclass(frozen=True)
class DropDatabase:
    name: str
    if_exists: bool = False

    def restore(self, style: Style = WIRE) -> str:
        return style.word("DROP DATABASE " + if_exists(self.if_exists)) + quoted(self.name)


@dataclass(frozen=True)
class UseDatabase:
    name: str

    def restore(self, style: Style = WIRE) -> str:
        return style.word("USE ") + quoted(self.name)
