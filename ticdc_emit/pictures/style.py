"""How all figures look, and the one place that imports plotly.

The first colours are those of Okabe and Ito, which colour-blind readers tell apart. Escape the texts of
messages (keys, statements) before they come into a figure: plotly reads text as a kind of HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ticdc_emit.errors import MissingDependencyError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#7F7F7F"),
    *("#003F63", "#FFD27F", "#7FCDB5", "#7A2E5D"),
)
_PANEL_PX = 215
_HEAD_PX = 130
_FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif"


def require_plotly() -> Any:
    """Return ``plotly.graph_objects``; :class:`~ticdc_emit.errors.MissingDependencyError` without plotly."""
    try:
        import plotly.graph_objects as graph_objects
    except ImportError:
        raise MissingDependencyError("pictures need plotly", extra="plot", package="plotly") from None
    return graph_objects


def panels(title: str, subtitle: str, names: Sequence[str], *, shared_x: bool = False, height: int = 0) -> Figure:
    """Return an empty figure with one panel below the other; ``height`` in pixels, default by the number of panels."""
    require_plotly()
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=len(names),
        cols=1,
        subplot_titles=names if len(names) > 1 else None,
        shared_xaxes=shared_x,
        vertical_spacing=0.3 / max(len(names), 1),
    )
    figure.update_layout(
        template="plotly_white",
        title={
            "text": f"<b>{title}</b><br><span style='font-size:13px;color:#555'>{subtitle}</span>",
            "x": 0,
            "xref": "paper",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 18},
        },
        height=height or _HEAD_PX + _PANEL_PX * len(names),
        margin={"t": 110, "l": 80, "r": 30, "b": 60},
        font={"family": _FONT, "size": 13, "color": "#222"},
        colorway=COLOURS,
        barmode="stack",
        bargap=0.08,
        hoverlabel={"align": "left"},
        legend={"groupclick": "toggleitem", "tracegroupgap": 12},
    )
    figure.update_annotations(x=0, xanchor="left", font_size=14)
    return figure
