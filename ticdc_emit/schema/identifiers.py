"""Names of databases, tables and columns: quoted in SQL text (alike in TiDB, MySQL and Spark) and in lower case; words
of SQL in upper case; and ``schema.name`` arguments.
"""

from __future__ import annotations

from ticdc_emit.errors import SchemaError

__all__ = ["keyword", "quoted", "split_name", "to_lower"]


def quoted(*parts: str) -> str:
    """Return a name of the given parts, each in backquotes, with backquotes inside doubled."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def to_lower(name: str) -> str:
    """Return a name in lower case as in Go: each character becomes exactly one character."""
    return name.lower() if name.isascii() else "".join(char.lower()[0] for char in name)


def keyword(word: str) -> str:
    """Return a word in upper case if it can be a keyword. A word with non-ASCII letters is a name and stays as it is.

    Python's ``upper`` turns a dotless i into I and a long s into S; TiDB folds ASCII only.
    """
    return word.upper() if word.isascii() else word


def split_name(table: str | None, known: list[tuple[str, str]]) -> tuple[str, str]:
    """Return (schema, name) of ``schema.name``; without a name, the only table."""
    if table is None:
        if len(known) == 1:
            return known[0]
        if not known:
            raise SchemaError(
                "the catalog has no table yet",
                remedy="Give CREATE TABLE in the schema, as ddl, or in rows with op = 'ddl'",
            )
        raise SchemaError(
            f"the catalog has {len(known)} tables: which one do the rows belong to?",
            remedy="Name it: table='schema.name'",
        )
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else ("test", table)
