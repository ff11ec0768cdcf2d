"""Short forms of long things, for consoles and notebooks: bytes that are cut, facts as a small table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_MOST = 48


def short_bytes(data: bytes | None, most: int = _MOST) -> str:
    """Return the ``repr`` of bytes, cut after ``most`` of them with their number: ``b'{"id":0…' (229 bytes)``."""
    if data is None or len(data) <= most:
        return repr(data)
    return f"{data[:most]!r}… ({len(data):,} bytes)"


def facts_html(title: str, rows: Iterable[Iterable[object]], head: Iterable[str] = ()) -> str:
    """Return a table for a notebook: a title, column names if there are any, and rows of plain texts."""
    names = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)
    top = f"<tr>{names}</tr>" if names else ""
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<b>{escape(title)}</b><table>{top}{body}</table>"
