"""One HTML file with several figures: plotly's JavaScript is in it once, so it works offline and can be sent by mail.

In: figures and tables. Out: a file of about 5 MB, nearly all of it plotly.js.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.errors import ConfigError
from ticdc_emit.pictures.style import require_plotly

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_CSS = (
    ":root{color-scheme:light dark}"
    "body{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;color:#222;background:#fff;margin:24px auto;"
    "max-width:1200px;padding:0 16px}"
    "h1{font-size:22px}h2{font-size:17px;margin-bottom:0}h2+p{margin:4px 0 0;opacity:.75}"
    "table{border-collapse:collapse;font-size:14px}section{overflow-x:auto}.js-plotly-plot{min-width:640px}"
    "td,th{border-bottom:1px solid #8884;padding:4px 12px 4px 0;text-align:left;vertical-align:top}"
    # figures are drawn for a light page: inverted, white is #1a1a1a, and turned back, hues stay what they are
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1a1a1a}"
    ".js-plotly-plot{filter:invert(.9) hue-rotate(180deg)}}"
)
_TITLE_PX = 60
_TAG = re.compile("<[^>]*>")


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
                part, has_script = _section(part, with_script=not has_script), True
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


def _section(figure: Figure, *, with_script: bool) -> str:
    """Return a figure below its title as text of the page, where it is not under plotly's buttons and wraps."""
    text = figure.layout.title.text
    if not text:
        return str(figure.to_html(full_html=False, include_plotlyjs=with_script))
    title, _, subtitle = (escape(unescape(_TAG.sub("", part))) for part in text.partition("<br>"))
    own = require_plotly().Figure(figure)
    own.update_layout(title=None, height=(own.layout.height or 0) - _TITLE_PX or None)
    own.update_layout(margin_t=max((own.layout.margin.t or 0) - _TITLE_PX, 0) or None)
    drawn = own.to_html(
        full_html=False, include_plotlyjs=with_script, config={"responsive": True, "displaylogo": False}
    )
    return f"<h2>{title}</h2><p>{subtitle}</p>{drawn}"
