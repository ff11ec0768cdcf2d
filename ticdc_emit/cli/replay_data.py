"""Sources of ``ticdc-emit replay`` as row changes: the meaning of their columns in each mode.

In: a source per table, the options about its columns, the tables' schema and DDL. Out: typed row changes. Columns of
the source that no version of the table has are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ticdc_emit.errors import ConfigError, DdlError, MissingColumnError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.sql.words import quoted
from ticdc_emit.traffic.replay import (
    backfilled,
    from_operations,
    from_snapshots,
    from_validity,
    snapshot_diff,
    snapshot_inserts,
)
from ticdc_emit.traffic.replay.ddl_history import Versions, parse_moment
from ticdc_emit.traffic.replay.rows import Moment, TimeUnit
from ticdc_emit.tso import compose

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["BASED", "MODES", "ColumnOptions", "history_of"]

MODES = ("snapshot", "snapshots", "diff", "validity", "operations")
BASED = ("diff", "operations")
"""The modes that take rows from before the history."""

_MODES_OF = {
    "time_column": ("snapshot", "snapshots", "diff", "operations"),
    "at": ("snapshot", "diff"),
    "keys": ("snapshots", "diff", "validity", "operations"),
    **dict.fromkeys(("op", "order_by", "transaction"), ("operations",)),
    **dict.fromkeys(("valid_from", "valid_to"), ("validity",)),
}
_BEFORE_ALL = 1  # the TSO of rows from before the history


@dataclass(frozen=True)
class ColumnOptions:
    """The options about the sources; ``None`` or empty if not given. ``keys``: by default each table's handle key.

    Raises :class:`ConfigError` for an unknown mode, for options that have no meaning in the mode, and for a wrong time.
    """

    mode: str
    time_column: str | None = None
    time_unit: TimeUnit = "tso"
    at: str | None = None
    keys: Sequence[str] = ()
    op: str | None = None
    order_by: Sequence[str] = ()
    transaction: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"unknown mode {self.mode!r}", remedy=f"Use one of: {', '.join(MODES)}", option="mode")
        for name, modes in _MODES_OF.items():
            if getattr(self, name) and self.mode not in modes:
                option = name.replace("_", "-")
                remedy = f"It is for {' and '.join(modes)}"
                raise ConfigError(f"--{option} has no meaning with --mode {self.mode}", remedy=remedy, option=option)
        if self.at is not None and self.time_column is not None:
            raise ConfigError("--at and --time-column both give the time", remedy="Give one of them", option="at")
        if self.at is not None:
            _moment(self.at)

    def check(self, held: Sequence[str], table: str) -> None:
        """Raise :class:`MissingColumnError` for an option that names a column that the source of the table lacks."""
        wanted = {"--time-column": self.time_column, "--transaction": self.transaction}
        if self.mode == "operations":
            wanted["--op"] = self.op or "op"
        if self.mode == "validity":
            wanted |= {"--valid-from": self.valid_from or "valid_from", "--valid-to": self.valid_to or "valid_to"}
        for option, name in wanted.items():
            if name is not None and name not in held:
                raise MissingColumnError(
                    f"the source has no column {name!r}",
                    remedy=f"{did_you_mean(name, held)}Name another one with {option}. It has: {', '.join(held)}",
                    table=table,
                    column=name,
                )

    @property
    def takes_the_clock(self) -> bool:
        """Whether rows get the time of the call, because no option gives their time."""
        return self.mode in ("snapshot", "diff") and self.time_column is None and self.at is None

    @property
    def moment(self) -> Moment:
        """When rows were committed: a column, or a TSO for all."""
        if self.time_column is not None:
            return self.time_column
        return compose(time.time_ns() // 1_000_000) if self.at is None else _moment(self.at)


def _moment(text: str) -> int:
    try:
        return parse_moment(text)
    except DdlError as error:
        raise ConfigError(f"--at: {error.message}", remedy=error.remedy, option="at") from None


def history_of(
    read: Callable[[str, str | None], Any],
    table: str,
    source: str,
    before: str | None,
    columns: ColumnOptions,
    versions: Versions,
    time_zone: str,
) -> DataFrame:
    """Return the row changes of one table. ``before``: the source of its rows before the history, if there is one.

    ``versions``: those of the table. Raises :class:`ConfigError` for options that the mode lacks, and the errors of
    ``traffic.replay``.
    """
    keys = list(columns.keys) or [column.name for column in versions[0][1].whole_handle_key]
    if not keys and columns.mode != "snapshot":
        raise ConfigError("the table has no key", remedy="Name columns with --keys", option="keys", table=table)
    df = read(source, columns.format)
    columns.check(df.columns, table)
    names = _columns(df, versions, table)
    if columns.mode == "snapshot":
        return snapshot_inserts(df, columns.moment, columns=names, unit=columns.time_unit)
    base = None
    if before is not None:
        base = read(before, columns.format)
        base = backfilled(
            base.select(*map(quoted, _columns(base, versions, table))), versions, _BEFORE_ALL, zone=time_zone
        )
    if columns.mode == "diff":
        if base is None:
            raise ConfigError("a difference needs two snapshots", remedy=f"Add --before {table}=…", option="before")
        about = [columns.time_column] if columns.time_column is not None and columns.time_column not in names else []
        return snapshot_diff(
            base, df.select(*map(quoted, [*names, *about])), keys, columns.moment, unit=columns.time_unit
        )
    if columns.mode == "validity":
        start, end = columns.valid_from or "valid_from", columns.valid_to or "valid_to"
        rows = backfilled(df, versions, start, unit=columns.time_unit, zone=time_zone)
        return from_validity(rows, keys, start, end, columns=_columns(rows, versions, table), unit=columns.time_unit)
    if columns.time_column is None:
        raise ConfigError(
            f"{columns.mode} need a time", remedy="Name its column with --time-column", option="time-column"
        )
    rows = backfilled(df, versions, columns.time_column, unit=columns.time_unit, zone=time_zone)
    if columns.mode == "snapshots":
        names = _columns(rows, versions, table)
        return from_snapshots(rows, keys, columns.time_column, columns=names, unit=columns.time_unit)
    return from_operations(
        rows,
        keys,
        columns.op or "op",
        columns.time_column,
        order_by=columns.order_by,
        base=base,
        columns=_columns(rows, versions, table),
        transaction=columns.transaction,
        unit=columns.time_unit,
    )


def _columns(df: DataFrame, versions: Versions, table: str) -> list[str]:
    """Return the columns of ``df`` that any version of the table has."""
    known = {column.name for _, info in versions for column in info.columns}
    names = [name for name in df.columns if name in known]
    if not names:
        hint = next(filter(None, (did_you_mean(name, df.columns) for name in known)), "")
        raise MissingColumnError(
            "the source has no column of the table", remedy=f"{hint}It has: {', '.join(df.columns)}", table=table
        )
    return names
