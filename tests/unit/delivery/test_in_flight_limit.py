"""How many messages of a partition may be enqueued."""

from __future__ import annotations

from ticdc_emit.delivery.kafka_writer import BATCHES_AHEAD, PIECES, InFlightLimit

ALL = BATCHES_AHEAD * PIECES


def test_as_many_pieces_as_three_batches_have() -> None:
    limit = InFlightLimit(0)
    most = [limit.most(1, 100 * number, 100 * number) for number in range(ALL + 2)]
    assert most == [None] * (ALL - 1) + [100 * (ALL - 1)] * 3


def test_small_shares_fill_a_piece() -> None:
    limit = InFlightLimit(0)
    most = [limit.most(0.25, number, number) for number in range(4 * ALL)]
    assert most == [None] * 4 * (ALL - 1) + [4 * (ALL - 1), None, None, None]


def test_a_message_of_a_whole_batch_counts_as_one() -> None:
    limit = InFlightLimit(0)
    most = [limit.most(PIECES, number, number) for number in range(6)]
    assert most == [None, None, None, 3, 3, 3]


def test_what_is_left_of_other_partitions_counts_until_it_is_acknowledged() -> None:
    limit = InFlightLimit(7)
    for number in range(ALL - 1):
        assert limit.most(1, 100 + number, 7 + number) is None
    assert limit.most(1, 100 + ALL - 1, 7 + ALL - 1) == ALL - 1 + 7
    assert limit.most(1, 100 + ALL, 3) == ALL - 1 + 3
