"""``--html FILE``: pictures of a command's run in one file.

In: reports of batches, and messages with the findings of ``verify``. Out: the file. plotly and the folder are checked
before the command does anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.cli.console import say
from ticdc_emit.cli.messages import messages_of_run
from ticdc_emit.consume.figures import Point, Points
from ticdc_emit.consume.invariants import Finding
from ticdc_emit.consume.verify import INVARIANTS, Verifier
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.hints import counted
from ticdc_emit.pictures import Page

if TYPE_CHECKING:
    from ticdc_emit.config import ChangefeedConfig
    from ticdc_emit.pipeline.report import RunReport
    from ticdc_emit.protocols.registered_avro import SchemaSource
    from ticdc_emit.testing import EmbeddedKafka

_MOST_LISTED = 200
_OPERATIONS = ("insert", "update", "delete", "ddl", "redelivered", "first commit", "last commit")


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
            from ticdc_emit.pipeline.report import report_figure

            self._page.add(report_figure(reports))

    def add_run(
        self, reports: Sequence[RunReport], config: ChangefeedConfig, kafka: EmbeddedKafka | None = None
    ) -> None:
        """Draw the reports of batches, and the newest messages of the topics that they sent to."""
        if self._page is None:
            return
        self.add_reports(reports)
        topics = sorted({topic for report in reports for topic, _ in report.delivery.per_partition})
        try:
            messages = messages_of_run(config, topics, kafka)
        except TicdcEmitError as error:  # everything was sent, so the command must not fail
            say(f"the pictures lack the messages, which cannot be read back: {error}")
            return
        self.add_messages(messages, config)

    def add_points(self, points: Sequence[Point], findings: Sequence[Finding]) -> None:
        """Draw the messages of topics and a timeline of each partition with findings, and list the findings."""
        if self._page is None or not points:
            return
        from ticdc_emit.consume.figures import overview_figure, timeline_figures

        self._page.add_table("Tables and operations", ("table", *_OPERATIONS), _operations(points))
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


def _operations(points: Sequence[Point]) -> list[tuple[str, ...]]:
    """Return for each table how many rows and statements of each kind were read, and from when to when."""
    from ticdc_emit.consume.figures import moment

    by_table: dict[str, list[Point]] = {}
    for point in points:
        if point.table and (point.is_row or point.kind == "ddl"):
            by_table.setdefault(point.table, []).append(point)
    lines = []
    for table, own in sorted(by_table.items()):
        kinds = Counter("redelivered" if point.again else point.kind for point in own)
        times = [point.time_ms for point in own if point.time_ms is not None]
        ends = [f"{moment(each):%Y-%m-%d %H:%M:%S}" for each in (min(times), max(times))] if times else ["", ""]
        lines.append((table, *(f"{kinds[kind]:,}" for kind in _OPERATIONS[:5]), *ends))
    return lines
