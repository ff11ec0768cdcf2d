"""One HTML file with several figures: plotly's JavaScript is in it once, so it works offline and can be sent by mail.

In: figures and tables. Out: a file of about 5 MB, nearly all of it plotly.js.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.errors import ConfigError
from ticdc_emit.pictures.style import require_plotly

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["Page"]

_CSS = (
    "body{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;color:#222;background:#fff;margin:24px auto;"
    "max-width:1200px;padding:0 16px}h1{font-size:22px}h2{font-size:17px}table{border-collapse:collapse;font-size:14px}"
    "td,th{border-bottom:1px solid #ddd;padding:4px 12px 4px 0;text-align:left;vertical-align:top}"
)


class Page:
    """A page in the making. Raises when it is made, before anything runs, if it could not be written in the end:
    :class:`~ticdc_emit.errors.ConfigError` for a folder that does not exist,
    :class:`~ticdc_emit.errors.MissingDependencyError` without plotly.
    """

    def __init__(self, path: str | Path, title: str, *, option: str = "html") -> None:
        require_plotly()
        self.path = Path(path)
        self._title = title
        self._option = option
        self._parts: list[Figure | str] = []
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise ConfigError(
                f"{self.path} is a folder" if self.path.is_dir() else f"the folder {self.path.parent} does not exist",
                remedy="Name a file in a folder that exists",
                option=option,
            )

    def add(self, *figures: Figure) -> None:
        """Put figures at the end of the page."""
        self._parts += figures

    def add_table(self, heading: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Put a table of plain texts at the end of the page."""
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        self._parts.append(f"<h2>{escape(heading)}</h2><table><tr>{head}</tr>{body}</table>")

    def html(self) -> str:
        """Return the whole page."""
        parts, has_script = [], False
        for part in self._parts:
            if not isinstance(part, str):
                part, has_script = part.to_html(full_html=False, include_plotlyjs=not has_script), True
            parts.append(f"<section>{part}</section>")
        title = escape(self._title)
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
        body = "\n".join(parts)
        return (
            f"<!doctype html><html><head>{head}<style>{_CSS}</style></head><body><h1>{title}</h1>{body}</body></html>"
        )

    def write(self) -> Path:
        """Write the file and return its path; :class:`~ticdc_emit.errors.ConfigError` if it cannot be written."""
        try:
            self.path.write_text(self.html(), encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"cannot write {self.path}: {error.strerror}",
                remedy="Name a file that you may write",
                option=self._option,
            ) from None
        return self.path
