"""Judge what lies in a topic against what had to arrive.

In: the expected changes, and every topic-partition's messages from its beginning to its end. Out: a :class:`Verdict`
with counts and with every fault that was found. The delivery contract, as it is judged:

* **delivered**: every change is there at least once, with the very bytes that the encoder gives without any fault,
  in its own partition, and nothing else is there but control messages;
* **order**: the first occurrences of one key's changes ascend by commit_ts, and so do those of all rows of a partition;
* **replays**: take the first occurrences of a partition's messages as its *story*. Reading the log, a cursor moves
  through the story. Either the next message is the one that the cursor points at, or the cursor is at the end and a
  message that was never there is told for the first time, or the log *goes back*: the message stands earlier in the
  story and the cursor goes there. So a duplicate is byte-identical, and a replay repeats exactly what was there up to
  the story's end, unless it is itself interrupted and begun again. A partition may go back as often as there were
  interruptions;
* **watermarks**: no row at or below a watermark appears behind it for the first time, first occurrences of
  watermarks ascend, and the last one of every partition has reached what it had to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ticdc_emit.protocols.events import DecodeError

from .expected import Change, Expected, digest
from .protocols import Read, Said

Log = Mapping[int, Iterable["tuple[bytes | None, bytes | None]"]]
"""Key and value of each message, by partition."""

_NAMED = 20


@dataclass
class Verdict:
    """What was found. ``faults`` counts by kind, ``examples`` names the first ones."""

    expected: int = 0
    messages: int = 0
    rows: int = 0
    distinct_rows: int = 0
    duplicate_rows: int = 0
    decoded_rows: int = 0
    watermarks: int = 0
    distinct_watermarks: int = 0
    other_controls: int = 0
    replays: int = 0
    replayed_messages: int = 0
    most_replays_of_a_partition: int = 0
    last_watermark: int | None = None
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.faults

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "faults": dict(self.faults), "holds": self.holds}

    def fault(self, kind: str, text: str) -> None:
        self.faults[kind] += 1
        if len(self.examples) < _NAMED:
            self.examples.append(f"{kind}: {text}")


def judge(
    expected: Expected, log: Log, read: Read, *, interruptions: int, watermark: int | None, decode_every: int = 1
) -> Verdict:
    """Judge a topic.

    ``interruptions``: how often a partition may go back. ``watermark``: the TSO that the last watermark of each
    partition must have reached, ``None`` for a protocol without any. ``decode_every``: every which row is also read by
    the protocol's reader; a message that is no expected row always is.
    """
    verdict = Verdict(expected=len(expected))
    found: set[bytes] = set()
    keys: dict[tuple[str, tuple[str, ...]], int] = {}
    for partition, messages in sorted(log.items()):
        judged = _Partition(partition, expected.changes, read, decode_every, found, keys, verdict)
        for key, value in messages:
            judged.message(key, value)
        judged.end(interruptions, watermark)
    verdict.distinct_rows = len(found)
    verdict.duplicate_rows = verdict.rows - len(found)
    for name in expected.changes.keys() - found:
        verdict.fault("lost", str(expected.changes[name]))
    return verdict


@dataclass
class _Partition:
    _number: int
    _expected: Mapping[bytes, Change]
    _read: Read
    _decode_every: int
    _found: set[bytes]
    _keys: dict[tuple[str, tuple[str, ...]], int]
    _verdict: Verdict

    def __post_init__(self) -> None:
        self._offset = -1
        self._story: list[bytes] = []
        self._places: dict[bytes, list[int]] = {}
        self._cursors: list[int] = []
        """Where in the story the replay may be; empty at its end. More than one where messages are alike."""
        self._replays = 0
        self._last_row = -1
        self._watermark = -1

    def message(self, key: bytes | None, value: bytes | None) -> None:
        self._offset += 1
        self._verdict.messages += 1
        name = digest(key, value)
        first = self._follow(name)
        change = self._expected.get(name)
        if change is None:
            self._control(self._said(key, value), first)
            return
        self._verdict.rows += 1
        if self._verdict.rows % self._decode_every == 0:
            self._compare(change, self._said(key, value))
        if first:
            self._row(name, change)

    def end(self, interruptions: int, watermark: int | None) -> None:
        verdict = self._verdict
        verdict.replays += self._replays
        verdict.most_replays_of_a_partition = max(verdict.most_replays_of_a_partition, self._replays)
        if self._cursors:
            self._fault("replay", "the log ends in the middle of a replay")
        if self._replays > interruptions:
            self._fault("replay", f"goes back {self._replays} times for {interruptions} interruptions")
        if watermark is not None:
            if self._watermark < watermark:
                self._fault("watermark", f"ends at {self._watermark}, below {watermark}")
            low = verdict.last_watermark
            verdict.last_watermark = self._watermark if low is None else min(low, self._watermark)

    def _follow(self, name: bytes) -> bool:
        moved = [at + 1 for at in self._cursors if self._story[at] == name]
        known = self._places.get(name)
        if moved:
            self._verdict.replayed_messages += 1
            self._cursors = [] if len(self._story) in moved else moved
            return False
        if known is not None:
            self._replays += 1
            self._verdict.replayed_messages += 1
            self._cursors = [] if known[-1] + 1 == len(self._story) else [at + 1 for at in known]
            return False
        if self._cursors:
            self._fault("replay", "something new in the middle of a replay")
            self._cursors = []
        self._places.setdefault(name, []).append(len(self._story))
        self._story.append(name)
        return True

    def _row(self, name: bytes, change: Change) -> None:
        if change.partition != self._number or name in self._found:
            self._fault("partition", f"{change} belongs to partition {change.partition} only")
        self._found.add(name)
        who = (change.table, change.key)
        if change.commit_ts <= self._keys.get(who, -1):
            self._fault("key order", f"{change} behind the key's change at {self._keys[who]}")
        self._keys[who] = max(change.commit_ts, self._keys.get(who, -1))
        if change.commit_ts < self._last_row:
            self._fault("row order", f"{change} behind a row at {self._last_row}")
        self._last_row = max(change.commit_ts, self._last_row)
        if change.commit_ts <= self._watermark:
            self._fault("watermark", f"{change} behind the watermark {self._watermark}")

    def _control(self, said: Said, first: bool) -> None:
        verdict = self._verdict
        if said.kind == "row":
            self._fault("content", f"a row that no change has: {said}")
        elif said.kind == "other":
            verdict.other_controls += 1
        else:
            assert said.commit_ts is not None
            verdict.watermarks += 1
            if first:
                verdict.distinct_watermarks += 1
                if said.commit_ts <= self._watermark:
                    self._fault("watermark", f"{said.commit_ts} behind the watermark {self._watermark}")
                self._watermark = max(said.commit_ts, self._watermark)

    def _compare(self, change: Change, said: Said) -> None:
        self._verdict.decoded_rows += 1
        same = said.kind == "row" and (said.table, said.key) == (change.table, change.key)
        if not same or said.commit_ts not in (None, change.commit_ts):
            self._fault("content", f"{said} is not {change}")

    def _said(self, key: bytes | None, value: bytes | None) -> Said:
        try:
            return self._read(key, value)
        except (DecodeError, ValueError, KeyError, TypeError) as error:
            self._fault("content", f"unreadable: {error}")
            return Said("other")

    def _fault(self, kind: str, text: str) -> None:
        self._verdict.fault(kind, f"partition {self._number}, offset {self._offset}: {text}")
