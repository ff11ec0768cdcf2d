"""Names of databases, tables and columns in SQL text: TiDB, MySQL and Spark quote them alike."""

from __future__ import annotations

__all__ = ["quoted"]


def quoted(*parts: str) -> str:
    """Return a name of as many parts as are given, each between backquotes, those inside doubled."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)
