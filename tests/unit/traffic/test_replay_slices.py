"""A history cut into slices, and sent on time."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.errors import ConfigError
from ticdc_emit.traffic.replay import slices as slicing
from ticdc_emit.traffic.replay.slices import Pace, Slices, slice_ms
from ticdc_emit.tso import compose

HOUR = 3_600_000


class Clock:
    """Time that passes by sleeping and working only; in place of the module ``time``."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(slicing, "time", clock)
    return clock


@given(
    first=st.integers(1, 10**13),
    span=st.integers(0, 10**9),
    logical=st.integers(0, 2**18 - 1),
    width=st.integers(1000, 10**8),
    place=st.floats(0, 1),
)
def test_every_moment_is_in_one_slice(first: int, span: int, logical: int, width: int, place: float) -> None:
    slices = Slices(compose(first, logical), compose(first + span, logical), width)
    moment = compose(first + int(span * place), logical)
    numbers = {0, len(slices) - 1, (first + int(span * place)) // width - first // width}
    holding = [
        n
        for n in numbers
        if (slices[n].start is None or slices[n].start <= moment) and (slices[n].end is None or moment < slices[n].end)
    ]
    assert len(holding) == 1
    assert slices[0].start is slices[len(slices) - 1].end is slices[len(slices) - 1].until is None


def test_slices_begin_at_round_times_and_say_how_far_the_watermark_may_go() -> None:
    slices = Slices(compose(5 * HOUR + 7), compose(8 * HOUR), HOUR)
    assert (len(slices), slices.begin_ms) == (4, 5 * HOUR)
    assert (slices[1].start, slices[1].end, slices[1].offset_ms) == (compose(6 * HOUR), compose(7 * HOUR), HOUR)
    assert slices[1].until == compose(7 * HOUR) - 1


def test_the_width_of_a_slice() -> None:
    assert slice_ms(None, None) is None
    assert slice_ms(None, 1440) == 2 * 1440 * 1000
    assert slice_ms(dt.timedelta(minutes=10), 1440) == slice_ms(600, None) == 600_000
    for wrong in (0, 0.0001, float("nan"), float("inf"), dt.timedelta(0), "day"):
        with pytest.raises(ConfigError, match="a slice of"):
            slice_ms(wrong, None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="would have 31,536,001 slices"):
        Slices(compose(0), compose(31_536_000_000), 1000)


def test_a_day_in_a_minute_keeps_its_pauses(clock: Clock) -> None:
    pace = Pace(1440)
    assert pace.wait(0)
    assert clock.slept == []
    clock.now += 1.0  # the first slice's own work
    assert pace.lag(0) == pytest.approx(1.0)
    assert pace.wait(12 * HOUR)
    assert clock.now == pytest.approx(130.0)
    assert max(clock.slept) < 1, "a stop is seen while waiting"
    clock.now += 40
    assert pace.wait(24 * HOUR)  # late: no waiting
    assert clock.now == pytest.approx(170.0)
    assert pace.lag(24 * HOUR) == pytest.approx(10.0)


def test_a_schedule_begins_where_the_replay_goes_on(clock: Clock) -> None:
    pace = Pace(60)
    assert pace.wait(12 * HOUR)
    assert clock.now == 100.0
    assert pace.wait(12 * HOUR + 60_000)
    assert clock.now == pytest.approx(101.0)


def test_stopping_ends_the_waiting(clock: Clock) -> None:
    pace = Pace(1)
    assert pace.wait(0)
    assert not pace.wait(HOUR, stop=lambda: clock.now > 105)
    assert clock.now < 106
    assert not Pace(None).wait(0, stop=lambda: True)
    assert Pace(None).lag(0) is None


@pytest.mark.parametrize("speed", [0, -1, float("nan"), float("inf"), "fast"])
def test_a_speed_is_above_zero(speed: Any) -> None:
    with pytest.raises(ConfigError, match="is not a speed"):
        Pace(speed)
