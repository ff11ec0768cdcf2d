"""When a session counts as warm."""

from typing import Any

import pytest

from ticdc_emit.spark import warm_up as module


class Rounds:
    """Stands for messages whose rounds take the given seconds of a clock of its own."""

    def __init__(self, *seconds: float) -> None:
        self.now, self.done = 0.0, 0
        self._seconds = seconds

    def monotonic(self) -> float:
        return self.now

    def groupBy(self, _: str) -> Any:  # noqa: N802 - Spark's name
        return self

    count = property(lambda self: lambda: self)

    def collect(self) -> None:
        self.now += self._seconds[self.done]
        self.done += 1


@pytest.mark.parametrize(
    ("seconds", "done"),
    [
        ((4.0, 1.0, 0.5, 0.49, 0.1), 4),  # the last one is not clearly faster
        ((4.0, 5.0, 0.1), 2),
        ((15.0, 12.0, 0.1), 2),  # it would get faster, but takes too long
    ],
)
def test_rounds_end_where_they_get_no_faster(
    monkeypatch: pytest.MonkeyPatch, seconds: tuple[float, ...], done: int
) -> None:
    rounds = Rounds(*seconds)
    monkeypatch.setattr(module, "time", rounds)
    module.warm_up(lambda: rounds)
    assert rounds.done == done
