"""The cycle: every life in order, every transaction lawful, the same for the same seed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ticdc_emit.traffic.generate.cycle import HOT_SPAN, Shape, lay_out
from ticdc_emit.traffic.generate.model import TableOptions, Trouble

SHAPES = [Shape(60, anchors=8), Shape(40, depth=1), Shape(16, depth=1, still=True)]


def with_options(shapes: list[Shape], *lives: float, **named: float) -> list[Shape]:
    return [replace(shape, options=TableOptions(*lives, **named)) for shape in shapes]


def test_the_seed_is_all_that_matters() -> None:
    assert lay_out(SHAPES, 4) == lay_out(SHAPES, 4)
    assert lay_out(SHAPES, 4) != lay_out(SHAPES, 5)


def test_each_position_has_one_change() -> None:
    cycle = lay_out(SHAPES, 1)
    places = sorted(position for table in cycle.tables for position in table.position)
    assert places == list(range(cycle.size))
    for number, table in enumerate(cycle.tables):
        assert cycle.count(number, cycle.size * 3) == 3 * table.size
    assert sum(cycle.count(number, 77) for number in range(3)) == 77


@pytest.mark.parametrize(("lives", "size"), [((), 1), ((0, 1, 0), 1), ((9, 0.2, 2), 7), ((1, 0.9, 0), 30)])
def test_visits_are_in_order_and_transactions_have_each_row_once(lives: tuple[float, ...], size: float) -> None:
    cycle = lay_out(with_options(SHAPES, *lives), 2, size)
    for table in cycle.tables:
        begun: dict[int, int] = {}
        inside = set()
        for number, slot in enumerate(table.slot):
            assert table.visit[number] == begun.get(slot, 0)
            assert table.previous[number] < table.commit[number] <= table.position[number]
            begun[slot] = begun.get(slot, 0) + 1
            assert (table.commit[number], slot) not in inside
            inside.add((table.commit[number], slot))
        assert begun == dict(zip(table.slot, table.visits, strict=True))
        assert set(begun) == set(range(table.slots))


def test_anchors_come_first_and_stay() -> None:
    cycle = lay_out(with_options(SHAPES, deletes=1), 3)
    parents = cycle.tables[0]
    assert list(parents.slot[:8]) != sorted(parents.slot[8:16])
    assert {slot for slot, place in zip(parents.slot, parents.position, strict=True) if place < 8} == set(range(8))
    assert not any(gone for slot, gone in zip(parents.slot, parents.deleted, strict=True) if slot < 8)
    assert all(gone for slot, gone in zip(parents.slot, parents.deleted, strict=True) if slot >= 8)


def test_skew_makes_a_few_rows_hot_and_long_lived_where_no_number_of_updates_is_asked_for() -> None:
    even, skewed = (lay_out(with_options([Shape(60)], 10, skew=skew), 1).tables[0] for skew in (0, 1.5))
    assert max(even.visits) <= 12
    assert max(skewed.visits) > 100
    assert max(even.spans) == max(skewed.spans) == 1
    assert max(lay_out([Shape(60)], 1).tables[0].spans) == HOT_SPAN


def test_transactions_are_of_the_size_asked_for() -> None:
    for mean, low, high in ((1, 1, 1), (5, 3, 5.5), (9, 4, 9.5)):  # a row's next change begins a new one: fewer
        cycle = lay_out(with_options([Shape(120)] * 3, skew=0), 1, mean)
        count = len({start for table in cycle.tables for start in table.commit})
        assert low <= cycle.size / count <= high


def test_still_rows_are_not_updated() -> None:
    still = lay_out(SHAPES, 1).tables[2]
    assert all(visits == 1 + gone for visits, gone in zip(still.visits, still.deleted, strict=True))


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("share", [0.18, 0.5, 0.64])
def test_transactions_share_a_commit_as_often_as_asked_for(size: float, share: float) -> None:
    shapes = with_options([Shape(120, anchors=8)] * 3, skew=0.5)
    apart, cycle = lay_out(shapes, 1, size), lay_out(shapes, 1, size, Trouble(shared_commits=share))
    sharers: dict[int, set[int]] = {}
    rows = set()
    for number, (table, same) in enumerate(zip(cycle.tables, apart.tables, strict=True)):
        assert (table.position, table.slot, table.visit, table.deleted) == (
            same.position,
            same.slot,
            same.visit,
            same.deleted,
        )
        for slot, commit, sharer, previous, born, visit in zip(
            table.slot, table.commit, table.sharer, table.previous, table.born, table.visit, strict=True
        ):
            sharers.setdefault(commit, set()).add(sharer)
            assert (number, slot, commit) not in rows  # a row changes once
            rows.add((number, slot, commit))
            assert previous < commit
            assert born <= commit
            assert sharer < 8
            if slot < 8 and visit == 0:
                assert sharers[commit] == {0}  # what others refer to is there before
    together = sum(len(numbers) for numbers in sharers.values() if len(numbers) > 1)
    assert all(numbers == set(range(len(numbers))) for numbers in sharers.values())
    reached = together / sum(map(len, sharers.values()))
    assert 0.8 * share < reached < share + 0.01  # a row's next change needs another commit: fewer
