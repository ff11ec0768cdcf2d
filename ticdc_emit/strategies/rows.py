"""Rows of a table in the generic form: the values of all its columns in canonical text."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from hypothesis import strategies as st

from ticdc_emit.errors import StrategyError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.strategies.values import values

__all__ = ["Row", "rows", "table_of"]

Row: TypeAlias = "dict[str, str | None]"


def rows(table: str | TableInfo, *, time_zone: str = "UTC", allow_zero_dates: bool = True) -> st.SearchStrategy[Row]:
    """Return rows of ``table``: the CREATE TABLE of one table, or a version of one from a catalog.

    Each is a mapping from the columns of row changes (without virtual ones) to values of
    :func:`~ticdc_emit.strategies.values`. Raises :class:`~ticdc_emit.errors.StrategyError` for SQL that does not make
    exactly one table, and :class:`~ticdc_emit.errors.DdlError` for SQL that cannot be read.
    """
    return _rows(table_of(table, time_zone), time_zone, allow_zero_dates)


@lru_cache(maxsize=1024)
def _rows(info: TableInfo, time_zone: str, allow_zero_dates: bool) -> st.SearchStrategy[Row]:
    names = [column.name for column in info.row_columns]
    texts = [values(column, time_zone=time_zone, allow_zero_dates=allow_zero_dates) for column in info.row_columns]
    return st.tuples(*texts).map(lambda row: dict(zip(names, row, strict=True)))


def table_of(table: str | TableInfo, time_zone: str) -> TableInfo:
    """Return the only table that SQL makes; a :class:`TableInfo` is returned as it is."""
    return table if isinstance(table, TableInfo) else _parsed(table, time_zone)


@lru_cache(maxsize=256)
def _parsed(sql: str, time_zone: str) -> TableInfo:
    tables = [info for info in catalog_from_sql(sql, time_zone=time_zone).tables() if not info.is_view]
    if len(tables) != 1:
        raise StrategyError(
            f"the SQL makes {len(tables)} tables, not one",
            remedy="Give one CREATE TABLE, or a TableInfo: catalog_from_sql(sql).table(schema, name)",
            argument="table",
        )
    return tables[0]
