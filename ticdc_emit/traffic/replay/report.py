"""The result of a replay: its slices, its rows, and whether it was on time.

In: the reports of its batches. Out: frozen records for programs (attributes, ``to_dict``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ticdc_emit.hints import counted
from ticdc_emit.observe.lines import report_line
from ticdc_emit.pictures.shown import facts_html
from ticdc_emit.pipeline.report import RunReport, RunTotal, report_facts, shown_watermark
from ticdc_emit.tso import compose

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["ReplayReport", "SliceCallback", "SliceReport"]


@dataclass(frozen=True)
class SliceReport:
    """The report of one delivered slice. ``number`` of ``slices``, from 0; ``begin_ms``: its event time, ``None`` if it
    is all.

    ``lag_seconds``: how long ago it was due, its own delivery included; ``None`` without a speed.
    """

    number: int
    slices: int
    begin_ms: int | None
    batch: RunReport
    lag_seconds: float | None

    def __str__(self) -> str:
        """One line: ``slice 3 of 30 from 2026-01-01 02:24:00.000Z: 33,120 rows, ..., 0.4 s behind schedule``."""
        begin = "" if self.begin_ms is None else f" from {shown_watermark(compose(self.begin_ms))}"
        facts = report_line(self.batch).partition(": ")[2]
        late = "" if self.lag_seconds is None else f", {self.lag_seconds:.1f} s behind schedule"
        return f"slice {self.number + 1:,} of {self.slices:,}{begin}: {facts}{late}"


SliceCallback: TypeAlias = Callable[[SliceReport], object]
"""A function that is called with each slice as soon as it is delivered."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ReplayReport:
    """One run of a replay, from its start to its end or stop.

    ``total``: what this run sent. ``slices``: of the history; ``first_slice``: where this run began; ``done_slices``:
    slices delivered by now, including earlier runs. ``finished``: whether the whole history was sent. ``seconds``: wall
    time of sending, pauses included; ``prepare_seconds``: the time before that, to read and order the history.
    ``max_lag_seconds``: the greatest delay of a slice's delivery after it was due, ``None`` without a speed.
    """

    total: RunTotal
    slices: int
    first_slice: int
    done_slices: int
    finished: bool
    seconds: float
    prepare_seconds: float
    max_lag_seconds: float | None = None

    @property
    def nothing_to_do(self) -> bool:
        """Whether earlier runs with the same ``state_uri`` delivered everything, and this one nothing."""
        return self.first_slice >= self.slices

    def plot(self) -> Figure:
        """Return the figure of :attr:`total`; give ``on_report`` a list's ``append`` to draw slice by slice.

        Raises :class:`~ticdc_emit.errors.MissingDependencyError` without plotly (extra ``plot``).
        """
        return self.total.plot()

    @property
    def outcome(self) -> str:
        """How far the replay came, in words: ``30 of 30 slices in 61.2 s, at most 0.4 s behind schedule``."""
        if self.nothing_to_do:
            return f"nothing to do: an earlier run delivered everything ({self._slices()})"
        lag = "" if self.max_lag_seconds is None else f", at most {self.max_lag_seconds:.1f} s behind schedule"
        return f"{'' if self.finished else 'stopped: '}{self._slices()} in {self.seconds:.1f} s{lag}"

    def __str__(self) -> str:
        """Lines for people: one for each topic-partition, the totals, and how far the replay came."""
        return self.outcome if self.nothing_to_do else f"{self.total}\n{self.outcome}"

    def __repr__(self) -> str:
        return f"<ReplayReport {self._slices()}: {report_line(self.total)}>"

    def _repr_html_(self) -> str:
        return facts_html(f"Replay, {self._slices()}", report_facts(self.total))

    def _slices(self) -> str:
        return f"{self.done_slices:,} of {counted(self.slices, 'slice')}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings, for JSON."""
        return {
            "nothing_to_do": self.nothing_to_do,
            "slices": self.slices,
            "first_slice": self.first_slice,
            "done_slices": self.done_slices,
            "finished": self.finished,
            "replay_seconds": round(self.seconds, 3),
            "prepare_seconds": round(self.prepare_seconds, 3),
            "max_lag_seconds": None if self.max_lag_seconds is None else round(self.max_lag_seconds, 3),
            **self.total.to_dict(),
        }
