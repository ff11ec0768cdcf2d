"""Names of databases, tables and columns; and names that an option chooses among known ones."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from ticdc_emit import hints
from ticdc_emit.errors import StrategyError

__all__ = ["chosen", "names", "same_name"]

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


def chosen(value: str | Iterable[str] | None, known: tuple[str, ...], *, what: str, argument: str) -> tuple[str, ...]:
    """Return the names that an option gives, all that are known for ``None``.

    Raises :class:`StrategyError` for none and for unknown ones; ``what``: what they are.
    """
    given = known if value is None else hints.names(value)
    unknown = [name for name in given if name not in known]
    if given and not unknown:
        return given
    hint = hints.did_you_mean(unknown[0], known) if unknown and isinstance(unknown[0], str) else ""
    raise StrategyError(
        f"{argument}={value!r}: {f'not all are {what}' if unknown else f'it has none of the {what}'}",
        remedy=f"{hint}Give some of {', '.join(known)}",
        argument=argument,
    )
