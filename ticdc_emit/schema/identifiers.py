"""Names of databases, tables and columns, between quotes in SQL text (TiDB, MySQL and Spark do it alike) and in lower
case; the words of SQL, in upper case; and ``schema.name`` as callers give it.
"""

from __future__ import annotations

from ticdc_emit.errors import SchemaError

__all__ = ["keyword", "quoted", "split_name", "to_lower"]


def quoted(*parts: str) -> str:
    """Return a name of as many parts as are given, each between backquotes, those inside doubled."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def to_lower(name: str) -> str:
    """Return a name in lower case as Go does it: character by character, one for one."""
    return name.lower() if name.isascii() else "".join(char.lower()[0] for char in name)


def keyword(word: str) -> str:
    """Return a word in upper case if it can be a keyword. A word with other letters than ASCII's is a name, as it is.

    Python's ``upper`` makes I of a dotless i and S of a long s; TiDB folds ASCII only.
    """
    return word.upper() if word.isascii() else word


def split_name(table: str | None, known: list[tuple[str, str]]) -> tuple[str, str]:
    """Return (schema, name) of ``schema.name``; without one, the only table there is."""
    if table is None:
        if len(known) == 1:
            return known[0]
        if not known:
            raise SchemaError("the catalog has no table yet", remedy="Give the tables' DDL as the schema, or by ddl()")
        raise SchemaError(
            f"the catalog has {len(known)} tables: which one do the rows belong to?",
            remedy="Name it: table='schema.name'",
        )
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else ("test", table)
