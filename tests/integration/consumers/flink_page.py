"""The statements of docs/cookbook.md#flink, for the tables of the cookbook's rows."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cookbook_data import ADDED, COLUMNS, KEYS
from page_blocks import page_block, page_table
from wire_values import kind_of

_WHOLE, _TEXT = "TINYINT to BIGINT, YEAR", "CHAR, VARCHAR, TEXT, JSON"
_SAFE_DIGITS = 15
_ROWS = {
    "tinyint": _WHOLE,
    "int": _WHOLE,
    "bigint": _WHOLE,
    "year": _WHOLE,
    "char": _TEXT,
    "varchar": _TEXT,
    "text": _TEXT,
    "json": _TEXT,
    "varbinary": "BINARY, VARBINARY, BLOB",
    "datetime": "DATETIME(n)",
    "timestamp": "TIMESTAMP(n)",
}


def columns_of(table: str) -> list[str]:
    """Return the names of a table's columns after the last change."""
    return [*COLUMNS[table], *ADDED.get(table, {})]


def flink_type(kind: str, format: str) -> str:
    """Return the type that the page's table gives for a type in SQL."""
    parts = re.match(r"(\w+)(?:\(([\d,]+)\))?", kind)
    name, digits = parts.groups()
    row = _ROWS.get(name, name.upper())
    if kind == "bigint unsigned":
        row = "BIGINT UNSIGNED"
    elif name == "bit":
        row = "BIT(1)" if digits == "1" else "BIT(n)"
    elif name == "decimal":
        few = int(digits.partition(",")[0]) <= _SAFE_DIGITS
        row = f"DECIMAL(p,s), {'up to 15' if few else '16 to 38'} digits"
    found = page_table("flink", "column")[row][f"`{format}`"]
    return found.replace("(p,s)", f"({digits})").replace("(n)", f"({digits or 0})")


def create_table(table: str, format: str, places: Mapping[str, str]) -> str:
    """Return the page's CREATE TABLE of ``orders`` for a table, which has the types that the page names.

    It ends at what the topic holds now. ``places``: what is put instead of the page's addresses.
    """
    places = {"'connector'": "'scan.bounded.mode' = 'latest-offset',\n  'connector'", **places}
    _, key, options = page_block("flink", "sql", f"'{format}'", places=places).partition("PRIMARY KEY (id)")
    columns = "".join(f"  `{name}` {flink_type(kind_of(table, name), format)},\n" for name in columns_of(table))
    options = options.replace("'canal-json.table.include' = 'orders'", f"'canal-json.table.include' = '{table}'")
    return f"CREATE TABLE {table} (\n{columns}  {key.replace('id', ', '.join(KEYS[table]))}{options}"


def shown_columns(format: str) -> dict[str, str]:
    """Return the columns of ``orders`` as the page writes them out."""
    columns = page_block("flink", "sql", f"'{format}'").partition("PRIMARY")[0]
    return dict(re.findall(r"^  (\w+) ([\w(),]+),$", columns, re.MULTILINE))
