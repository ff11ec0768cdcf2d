"""When a session counts as warm."""

import pytest

from ticdc_emit.spark import session as module


class Rounds:
    """Work whose rounds take the given seconds of a clock of its own."""

    def __init__(self, *seconds: float) -> None:
        self.now, self.done = 0.0, 0
        self._seconds = seconds

    def monotonic(self) -> float:
        return self.now

    def rehearse(self) -> None:
        self.now += self._seconds[self.done]
        self.done += 1


@pytest.mark.parametrize(
    ("seconds", "done"),
    [
        ((4.0, 1.0, 0.5, 0.49, 0.5, 0.46, 0.1), 6),  # the last three are not clearly faster
        ((4.0, 1.0, 2.0, 1.5, 0.8, 0.8, 0.8, 0.8, 0.1), 8),  # two slow ones between faster ones are chance
        ((15.0, 12.0, 0.1), 2),  # it would get faster, but takes too long
    ],
)
def test_rounds_end_where_they_get_no_faster(
    monkeypatch: pytest.MonkeyPatch, seconds: tuple[float, ...], done: int
) -> None:
    rounds = Rounds(*seconds)
    monkeypatch.setattr(module, "time", rounds)
    module.warm_up(rounds.rehearse)
    assert rounds.done == done
