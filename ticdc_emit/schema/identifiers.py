"""Names of databases, tables and columns, between quotes in SQL text (TiDB, MySQL and Spark do it alike) and in lower
case; and the words of SQL, in upper case.
"""

from __future__ import annotations

__all__ = ["keyword", "quoted", "to_lower"]


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
