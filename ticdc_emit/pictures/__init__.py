"""Pictures: what a run or a topic looks like, as plotly figures, and as one HTML file that needs nothing else.

In: figures that the rooms below make of their own records (``pipeline``: reports; ``consume``: messages). Out: a
:class:`Page`. Importing this does not import plotly (extra ``plot``).
"""

from __future__ import annotations

from ticdc_emit.pictures.page import Page
from ticdc_emit.pictures.shown import facts_html, short_bytes
from ticdc_emit.pictures.style import COLOURS, panels, require_plotly

__all__ = ["COLOURS", "Page", "facts_html", "panels", "require_plotly", "short_bytes"]
