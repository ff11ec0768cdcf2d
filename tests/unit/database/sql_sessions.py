"""Sessions of change scripts, as the tests of statements use them."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.database.session import Session
from ticdc_emit.database.tables import Database
from ticdc_emit.errors import StatementError
from ticdc_emit.schema.catalog import catalog_from_sql


def session_of(schema: str = "", zone: str = "UTC", **options: Any) -> Session:
    return Session(Database(catalog_from_sql(schema, time_zone=zone), zone), **options)


def rows_of(on: Session, table: str) -> list[tuple[str | None, ...]]:
    """The texts of the rows of a table of any database, in their order."""
    return [tuple(row.values()) for name, own in on.database.tables.items() if name[1] == table for row in own.values()]


def error_number(on: Session, statement: str) -> int:
    """The number of TiDB's error at which a statement fails."""
    with pytest.raises(StatementError) as caught:
        on.execute(statement)
    return int(caught.value.number)
