"""The judge judged: logs that keep the contract, and logs made to break it in one way each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .expected import Change, Expected, digest
from .protocols import Said
from .verdict import Verdict, judge

Message = tuple["bytes | None", "bytes | None"]
Log = dict[int, list[Message]]

_KEYS, _COMMITS = 4, 12


def _row(key: int, commit_ts: int) -> Message:
    return b"k%d" % key, b"row t %d %d" % (key, commit_ts)


def _mark(ts: int) -> Message:
    return None, b"mark %d" % ts


def _read(_: bytes | None, value: bytes | None) -> Said:
    kind, *rest = (value or b"").decode().split()
    if kind == "mark":
        return Said("watermark", commit_ts=int(rest[0]))
    if kind == "ddl":
        return Said("other")
    table, key, commit_ts = rest
    return Said("row", table, (key,), int(commit_ts))


def _expected() -> Expected:
    """Keys 0 to 3 change in turn, at 10, 11 ... 21; even ones in partition 0, odd ones in partition 1."""
    changes = {}
    for number in range(_COMMITS):
        key, commit_ts = number % _KEYS, 10 + number
        changes[digest(*_row(key, commit_ts))] = Change("t", (str(key),), commit_ts, key % 2)
    return Expected(changes)


def _log() -> Log:
    """All rows once, a watermark behind every fourth row of the history, and one at the end."""
    log: Log = {0: [], 1: []}
    for number in range(_COMMITS):
        log[number % 2].append(_row(number % _KEYS, 10 + number))
        if number % 4 == 3:
            for messages in log.values():
                messages.append(_mark(10 + number - 1 if number < _COMMITS - 1 else 20))
    return log


def _judged(log: Log, interruptions: int = 0) -> Verdict:
    return judge(_expected(), log, _read, interruptions=interruptions, watermark=20)


def test_a_log_without_faults() -> None:
    # A watermark T of the log stands behind the row T + 1 of the other partition.
    verdict = _judged(_log())
    assert verdict.holds, verdict.examples
    assert (verdict.messages, verdict.rows, verdict.distinct_rows, verdict.duplicate_rows) == (18, 12, 12, 0)
    assert (verdict.watermarks, verdict.distinct_watermarks, verdict.last_watermark) == (6, 6, 20)
    assert (verdict.decoded_rows, verdict.replays) == (12, 0)


@pytest.mark.parametrize("told", range(1, 9))
def test_any_replay_of_a_suffix_holds(told: int) -> None:
    for back in range(told):
        log = _log()
        log[0] = log[0][:told] + log[0][back:]
        verdict = _judged(log, interruptions=1)
        assert verdict.holds, (told, back, verdict.examples)
        assert verdict.replays == 1
        assert verdict.replayed_messages == told - back
        assert verdict.duplicate_rows + verdict.watermarks - verdict.distinct_watermarks == told - back


def test_a_replay_that_is_interrupted_itself_holds() -> None:
    log = _log()
    story = log[1]
    log[1] = story[:6] + story[2:4] + story[2:5] + story[1:]
    assert _judged(log, interruptions=3).holds
    assert _judged(log, interruptions=2).faults == {"replay": 1}


def _swap(messages: list[Message], one: int | Message, other: int | Message) -> None:
    first, second = (each if isinstance(each, int) else messages.index(each) for each in (one, other))
    messages[first], messages[second] = messages[second], messages[first]


def _insert(messages: list[Message], at: int, *inserted: int | Message) -> None:
    messages[at:at] = [messages[each] if isinstance(each, int) else each for each in inserted]


_BROKEN: dict[str, tuple[Callable[[Log], object], set[str]]] = {
    "lost": (lambda log: log[0].pop(1), {"lost"}),
    "lost at the end": (lambda log: log[1].remove(_row(3, 21)), {"lost"}),
    "another order of a key": (
        lambda log: _swap(log[0], _row(0, 10), _row(0, 14)), {"key order", "row order", "watermark"},
    ),
    "another order of rows": (lambda log: _swap(log[0], 0, 1), {"row order"}),
    "an altered duplicate": (
        lambda log: _insert(log[0], log[0].index(_row(2, 12)) + 1, (b"k2", b"row t 2 12 ")), {"content"},
    ),
    "an altered key": (lambda log: _insert(log[0], 1, (b"", _row(0, 10)[1])), {"content"}),
    "a foreign row": (lambda log: log[0].append(_row(8, 99)), {"content"}),
    "another partition": (lambda log: log[1].insert(0, log[0].pop(0)), {"partition", "key order"}),
    "both partitions": (lambda log: log[1].insert(0, log[0][0]), {"partition", "key order"}),
    "a late row": (lambda log: _swap(log[0], _mark(12), log[0].index(_mark(12)) - 1), {"watermark"}),
    "falling watermarks": (lambda log: _swap(log[0], _mark(12), _mark(16)), {"watermark"}),
    "a watermark too low": (lambda log: log[1].remove(_mark(20)), {"watermark"}),
    "a single duplicate": (lambda log: _insert(log[0], 4, 1), {"replay"}),
    "a replay with a gap": (lambda log: _insert(log[0], 5, 1, 3, 4), {"replay"}),
    "a replay out of order": (lambda log: _insert(log[0], 5, 2, 1, 3, 4), {"replay"}),
    "a replay that ends early": (lambda log: log[0].extend(log[0][2:4]), {"replay"}),
    "unreadable": (lambda log: log[0].append((b"", b"row")), {"content"}),
}  # fmt: skip


@pytest.mark.parametrize(("broken", "kinds"), _BROKEN.values(), ids=_BROKEN.keys())
def test_what_breaks_the_contract_is_found(broken: Callable[[Log], object], kinds: set[str]) -> None:
    log = _log()
    broken(log)
    verdict = _judged(log, interruptions=1)
    assert not verdict.holds
    assert set(verdict.faults) == kinds, verdict.examples
    assert verdict.examples


def test_a_row_whose_bytes_are_right_and_say_something_else_is_found() -> None:
    expected = _expected()
    name = digest(*_row(0, 10))
    expected = Expected({**expected.changes, name: expected.changes[name]._replace(key=("7",))})
    verdict = judge(expected, _log(), _read, interruptions=0, watermark=20)
    assert verdict.faults["content"] == 1


def _changed(log: list[Message]) -> Iterator[list[Message]]:
    for at, message in enumerate(log):
        yield log[:at] + log[at + 1 :]
        yield [other for other in log if other != message]
        yield [*log[:at], (message[0], (message[1] or b"") + b"0"), *log[at + 1 :]]
        for to in range(len(log)):
            moved = log[:at] + log[at + 1 :]
            yield [*moved[:to], message, *moved[to:]]
            yield [*log[:to], message, *log[to:]]


def _keeps_the_contract(log: list[Message]) -> bool:
    """The contract of partition 0 with at most one interruption, by trying every place where a replay may begin."""
    rows = [_row(number % _KEYS, 10 + number) for number in range(0, _COMMITS, 2)]
    stories = [log]
    for told in range(1, len(log)):
        for back in range(told):
            end = told + told - back
            if log[told:end] == log[back:told]:
                stories.append(log[:told] + log[end:])
    for story in stories:
        marks = [(at, int((value or b"")[5:])) for at, (key, value) in enumerate(story) if key is None]
        stamps = [ts for _, ts in marks]
        if [message for message in story if message[0] is not None] != rows or sorted(set(stamps)) != stamps:
            continue
        late = any(row in story[at:] for at, ts in marks for row in rows if int((row[1] or b"").split()[3]) <= ts)
        if stamps and stamps[-1] >= 20 and not late:
            return True
    return False


@pytest.mark.parametrize("told", range(2, 9))
def test_holds_exactly_where_trying_every_replay_says_so(told: int) -> None:
    held = broken = 0
    for back in range(told):
        story = _log()[0]
        for changed in _changed(story[:told] + story[back:]):
            verdict = _judged({**_log(), 0: changed}, interruptions=1)
            assert verdict.holds == _keeps_the_contract(changed), (changed, verdict.examples)
            held, broken = held + verdict.holds, broken + (not verdict.holds)
    assert held
    assert broken > held
