"""Options of tables and partitions, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/ddl.go`` (``TableOption.Restore``, ``tableOptionsWithRestoreTTLFlag``).
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.errors import UnprintableDdlError
from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.style import WIRE, Node, Style, joined, special_comment, string

__all__ = ["TableOption", "TtlOption", "UnionOption", "is_placement", "with_ttl_off"]

_SPECIAL = {
    "auto_id_cache": "auto_id_cache",
    "auto_random_base": "auto_rand_base",
    "shard_row_id_bits": "",
    "pre_split_regions": "",
    "ttl_enable": "ttl",
    "ttl_job_interval": "ttl",
    "affinity": "affinity",
}
_STRINGS = frozenset(
    """
    comment compression connection password data_directory index_directory secondary_engine secondary_engine_attribute
    encryption stats_col_choice stats_col_list ttl_enable ttl_job_interval affinity
    """.split()  # noqa: SIM905 (a table of words)
)
_NOT_SUPPORTED = {"stats_persistent": "TableOptionStatsPersistent", "pack_keys": "TableOptionPackKeys"}
_PLACEMENT = "placement_policy"


@dataclass(frozen=True)
class TableOption:
    """``name``: its keyword in lower case. ``value``: None for DEFAULT; a column's name for TTL.

    ``forced``: FORCE before AUTO_INCREMENT and AUTO_RANDOM_BASE; ``convert``: CONVERT TO before the charset.
    """

    name: str
    value: str | int | None = ""
    forced: bool = False
    convert: bool = False
    offset: int = 0

    def restore(self, style: Style = WIRE) -> str:
        name = self.name
        if name == "engine_attribute":
            raise UnprintableDdlError(
                "TiDB does not print ENGINE_ATTRIBUTE", remedy="Leave the option out", position=self.offset
            )
        if name == _PLACEMENT:
            return "" if style.sent else style.word("PLACEMENT POLICY") + f" = {quoted(str(self.value or 'DEFAULT'))}"
        if name in _NOT_SUPPORTED:
            return style.word(f"{name} = DEFAULT") + f" /* {_NOT_SUPPORTED[name]} is not supported */ "
        text = self._assignment(style)
        if name in _SPECIAL:
            text = special_comment(text, _SPECIAL[name], style)
        return special_comment("FORCE ", "force_inc", style) + text if self.forced else text

    def _assignment(self, style: Style) -> str:
        name, value = self.name, self.value
        if name == "charset":
            head = "CONVERT TO CHARACTER SET " if self.convert else "DEFAULT CHARACTER SET = "
            return style.word(head + ("DEFAULT" if value is None else str(value)))
        if name == "collate":
            return style.word(f"DEFAULT COLLATE = {value}")
        if name == "storage":
            return style.word(f"STORAGE {value}")
        keyword = style.word(name.replace("_directory", " directory"))
        if value is None:
            shown = style.word("NULL" if name == "secondary_engine" else "DEFAULT")
        elif name in _STRINGS:
            shown = string(str(value))
        elif name == "tablespace":
            shown = quoted(str(value))
        elif name in ("row_format", "insert_method"):
            shown = style.word(str(value))
        else:
            shown = str(value) or "''"
        return f"{keyword} = {shown}"


@dataclass(frozen=True)
class TtlOption(TableOption):
    """TTL = ``value`` (a column) + INTERVAL ``amount`` ``unit``."""

    amount: Node | None = None
    unit: str = ""

    def restore(self, style: Style = WIRE) -> str:
        assert self.amount is not None
        text = f"TTL = {quoted(str(self.value))} + INTERVAL {self.amount.restore(style)} {self.unit}"
        return special_comment(text, "ttl", style)


@dataclass(frozen=True)
class UnionOption(TableOption):
    tables: tuple[TableName, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        return f"{style.word('UNION')} = ({joined(self.tables, style)})"


def is_placement(option: TableOption) -> bool:
    """Return whether the option is the placement policy, which a changefeed leaves out."""
    return option.name == _PLACEMENT


def with_ttl_off(options: tuple[TableOption, ...]) -> tuple[TableOption, ...]:
    """Return the options as a changefeed sends them: every TTL is off, so that rows do not expire downstream."""
    result: list[TableOption] = []
    for option in options:
        if option.name == "ttl_enable":
            continue
        result.append(option)
        if option.name == "ttl":
            result.append(TableOption("ttl_enable", "OFF"))
    return tuple(result)
