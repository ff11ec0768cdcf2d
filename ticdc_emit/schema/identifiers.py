"""Names of databases, tables and columns: between quotes in SQL text, which TiDB, MySQL and Spark do alike, and in
lower case.
"""

from __future__ import annotations

__all__ = ["quoted", "to_lower"]


def quoted(*parts: str) -> str:
    """Return a name of as many parts as are given, each between backquotes, those inside doubled."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def to_lower(name: str) -> str:
    """Return a name in lower case as Go does it: character by character, one for one."""
    return name.lower() if name.isascii() else "".join(char.lower()[0] for char in name)
