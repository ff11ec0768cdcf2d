"""What a consumer needs of a DDL's text, because table schemas do not say it.

In: SQL. Out: which columns have new names, whether rows of a partition go away, which database is dropped. Table
schemas show no column ids, so that a renamed column cannot be told from one dropped and another added. This is no SQL
parser: it finds key words outside of names, texts and comments.
"""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["changes_partition_rows", "dropped_database", "renamed_columns"]

# TiDB runs what stands in /*! and in /*T! comments, so they are none here.
_TOKEN = re.compile(
    r"""(?P<space>\s+|/\*(?!T?!).*?\*/|(?:--(?=\s)|\#)[^\n]*)
      |`(?P<quoted>(?:[^`]|``)*)`
      |(?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
      |(?P<word>[\w$]+)
      |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_PARTITION_ACTIONS = {"DROP", "TRUNCATE", "EXCHANGE"}


def renamed_columns(sql: str) -> dict[str, str]:
    """Return the new name of each column that RENAME COLUMN or CHANGE COLUMN renames, by its old name in lower case."""
    words, names = _tokens(sql)
    found = {}
    for at, word in enumerate(words):
        if word == "RENAME" and words[at + 1 : at + 2] == ["COLUMN"] and words[at + 3 : at + 4] == ["TO"]:
            old, new = at + 2, at + 4
        elif word == "CHANGE":
            old = at + 1 + (words[at + 1 : at + 2] == ["COLUMN"])
            old += 2 * (words[old : old + 2] == ["IF", "EXISTS"])
            new = old + 1
        else:
            continue
        if new < len(names) and names[old].lower() != names[new].lower():
            found[names[old].lower()] = names[new]
    return found


def changes_partition_rows(sql: str) -> bool:
    """Return whether the statement takes rows of a partition away: DROP, TRUNCATE or EXCHANGE PARTITION."""
    words, _ = _tokens(sql)
    return words[:1] == ["ALTER"] and any(
        word in _PARTITION_ACTIONS and after == "PARTITION" for word, after in pairwise(words)
    )


def dropped_database(sql: str) -> str | None:
    """Return the name that DROP DATABASE names, ``None`` for another statement."""
    words, names = _tokens(sql)
    if words[:2] not in (["DROP", "DATABASE"], ["DROP", "SCHEMA"]):
        return None
    at = 4 if words[2:4] == ["IF", "EXISTS"] else 2
    return names[at] if at < len(names) else None


def _tokens(sql: str) -> tuple[list[str], list[str]]:
    """Return the statement's tokens twice: words in upper case (``""`` for others), and names as they are."""
    words, names = [], []
    for token in _TOKEN.finditer(sql):
        if token["space"] is None:
            words.append((token["word"] or token["sign"] or "").upper())
            names.append(token["word"] or (token["quoted"] or "").replace("``", "`"))
    return words, names
