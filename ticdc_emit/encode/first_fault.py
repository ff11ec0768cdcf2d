"""The first bad row, in the order in which the caller gave the rows.

Values are checked by column, and by kind of change: what is found first is not the first bad row. Only where something
is wrong, the rows before it are checked again, until nothing is wrong before what was found.
"""

from __future__ import annotations

from collections.abc import Callable

from ticdc_emit.errors import RowError

__all__ = ["first_fault"]


def first_fault(found: RowError, check: Callable[[int], None]) -> RowError:
    """Return the error of the first bad row.

    ``found``: the error of some row. ``check``: checks the first so many rows of what the caller gave, and raises the
    error of any bad row among them. An error that names no place comes back as it is.
    """
    place = _place(found)
    while place:
        try:
            check(place)
        except RowError as earlier:
            earlier_place = _place(earlier)
            if earlier_place is None or earlier_place >= place:
                break
            found, place = earlier, earlier_place
        else:
            break
    return found


def _place(error: RowError) -> int | None:
    row = error.context.get("row")
    place = row.get("position") if isinstance(row, dict) else None
    return place if isinstance(place, int) else None
