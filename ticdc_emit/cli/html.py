"""``--html FILE``: pictures of a command's run in one file.

In: reports of batches, and messages with the findings of ``verify``. Out: the file. plotly and the folder are checked
before the command does anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.cli.console import say
from ticdc_emit.decode.invariants import INVARIANTS, Finding, Verifier
from ticdc_emit.decode.points import Point, Points
from ticdc_emit.delivery.message import Message
from ticdc_emit.hints import counted
from ticdc_emit.pictures import Page

if TYPE_CHECKING:
    from ticdc_emit.changefeed.report import RunReport
    from ticdc_emit.config import ChangefeedConfig
    from ticdc_emit.decode.schemas import SchemaSource

__all__ = ["Pictures"]

_MOST_LISTED = 200


class Pictures:
    """The page of one command. Without a path it draws nothing."""

    def __init__(self, path: Path | None, title: str) -> None:
        self._page = None if path is None else Page(path, title)

    @property
    def wanted(self) -> bool:
        """Whether there is a page to draw."""
        return self._page is not None

    def add_reports(self, reports: Sequence[RunReport]) -> None:
        """Draw the reports of batches."""
        if self._page is not None and reports:
            from ticdc_emit.changefeed.report_figure import report_figure

            self._page.add(report_figure(reports))

    def add_points(self, points: Sequence[Point], findings: Sequence[Finding]) -> None:
        """Draw the messages of topics and a timeline of each partition with findings, and list the findings."""
        if self._page is None or not points:
            return
        from ticdc_emit.decode.overview_figure import overview_figure
        from ticdc_emit.decode.timeline_figure import timeline_figures

        self._page.add(*timeline_figures(points, findings), overview_figure(points))
        if findings:
            rows = [
                (each.place, " ".join(part for part in (each.table, each.key) if part), each.text, each.invariant)
                for each in findings[:_MOST_LISTED]
            ]
            more = f", the first {_MOST_LISTED:,}" if len(findings) > _MOST_LISTED else ""
            heading = f"{counted(len(findings), 'finding')}{more}"
            self._page.add_table(heading, ("place", "row", "what is wrong", "check"), rows)
            broken = sorted({each.invariant for each in findings})
            self._page.add_table(
                "The checks", ("check", "what must hold"), [(name, INVARIANTS[name]) for name in broken]
            )

    def add_messages(
        self, messages: Iterable[Message], config: ChangefeedConfig, schemas: SchemaSource | None = None
    ) -> None:
        """Verify messages and draw them."""
        if self._page is None:
            return
        points = Points()
        verifier = Verifier(config, schemas=schemas, watch=points.see)
        for message in messages:
            verifier.see(message)
        self.add_points(points.all, verifier.finish())

    def write(self) -> None:
        """Write the file and print its path."""
        if self._page is not None:
            say(f"pictures: {self._page.write()}")
