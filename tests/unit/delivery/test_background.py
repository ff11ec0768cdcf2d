"""One thread does items in order; the first that fails is the last."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

import pytest

from ticdc_emit.delivery.background import Background


def test_items_are_done_in_order_and_settled() -> None:
    done: list[int] = []
    background = Background(done.append, ahead=2)
    for number in range(500):
        background.give(number)
    background.settle()
    assert done == list(range(500))
    background.stop()


def test_no_more_than_asked_for_are_ahead() -> None:
    gate, started = threading.Semaphore(0), []

    def slow(number: int) -> None:
        started.append(number)
        gate.acquire()

    background = Background(slow, ahead=2)
    given: list[int] = []

    def give() -> None:
        for number in range(5):
            background.give(number)
            given.append(number)

    giver = threading.Thread(target=give)
    giver.start()
    time.sleep(0.2)
    assert given == [0, 1]
    assert started == [0]
    for _ in range(5):
        gate.release()
    giver.join(5)
    background.settle()
    assert given == started == [0, 1, 2, 3, 4]
    background.stop()


def test_nothing_is_done_behind_a_failure() -> None:
    done: list[int] = []

    def fails_at_two(number: int) -> None:
        if number == 2:
            raise ValueError("two")
        done.append(number)

    background = Background(fails_at_two, ahead=3)
    with pytest.raises(ValueError, match="two"):
        _give_all(background, range(100))
    background.settle()
    background.stop()
    assert done == [0, 1]


def _give_all(background: Background[int], numbers: Iterable[int]) -> None:
    for number in numbers:
        background.give(number)


def test_settling_raises_what_the_last_item_met() -> None:
    gate = threading.Event()

    def fails(number: int) -> None:
        gate.wait(5)
        raise ValueError(number)

    background = Background(fails, ahead=1)
    background.give(7)
    gate.set()
    with pytest.raises(ValueError, match="7"):
        background.settle()
    background.stop()


def test_stopping_drops_what_waits() -> None:
    gate, done = threading.Event(), []

    def slow(number: int) -> None:
        gate.wait(5)
        done.append(number)

    background = Background(slow, ahead=5)
    for number in range(4):
        background.give(number)
    threading.Timer(0.1, gate.set).start()
    background.stop()
    assert done == [0]
    background.stop()
