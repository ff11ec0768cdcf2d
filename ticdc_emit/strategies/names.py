"""Names of databases, tables and columns."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["names", "same_name"]

_LONGEST = 8
_FIRST = "abcdefghijklmnopqrstuvwxyz"
_REST = f"{_FIRST}0123456789_"
_ODD = "aB0_ -.\"'\\<>&%:é中`"

_PLAIN = st.tuples(st.sampled_from(_FIRST), st.text(_REST, max_size=_LONGEST - 1)).map("".join)
_ODD_ONES = st.tuples(st.text(_ODD, max_size=_LONGEST - 1), st.sampled_from(_FIRST)).map("".join)  # no trailing blank
_ANY = _PLAIN | _ODD_ONES


def names(*, allow_odd: bool = False) -> st.SearchStrategy[str]:
    """Return names of lower-case letters, digits and underscores.

    ``allow_odd``: also what TiDB allows between backquotes, such as blanks, quotes, dots, capitals and other alphabets.
    """
    return _ANY if allow_odd else _PLAIN


def same_name(name: str) -> str:
    """Return a key that is equal for names that are equal in TiDB."""
    return name.lower()
