"""``--report FILE.html``: true totals of what ``verify`` read, or ``generate`` and ``replay`` sent, and a sample of it.

The sample is read from the sink once more: what is around the findings, without any the first messages, or of what was
sent the newest.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ticdc_emit.cli.console import write_whole
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.tail import Tail, TailLine
from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.hints import counted
from ticdc_emit.observe.page import Page, PageMessage, PageTable
from ticdc_emit.protocols.events import commit_ms_of, kind_of, table_of
from ticdc_emit.tso import compose

if TYPE_CHECKING:
    from pathlib import Path

    from ticdc_emit.check.run import Failure, Verdict
    from ticdc_emit.cli.app import Generate, Replay
    from ticdc_emit.consume.invariants import Finding, Seen
    from ticdc_emit.consume.verify import Verifier
    from ticdc_emit.pipeline.report import RunReport, RunTotal
    from ticdc_emit.protocols.registered_avro import SchemaSource

_SAMPLE = 400
_BEFORE, _AFTER, _MOST_FINDINGS = 20, 10, 100
_MOST_COUNTED = 50_000
"""Up to this number, the messages sent are decoded for their totals by table."""
_ROWS = ("insert", "update", "delete")
_ORDER = "Each partition is in order of its offsets; several are put together by commit time."


@dataclass
class Totals:
    """What all messages say together. ``ends``: the last offset of each partition."""

    messages: int = 0
    ends: dict[Target, int] = field(default_factory=dict)
    changes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    commits: tuple[int, ...] = ()

    def see(self, message: Message, seen: Seen | None) -> None:
        """Take a message, or one of its rows: for the ``watch`` of a verifier."""
        self.messages += self.ends.get(message[:2]) != message.offset
        self.ends[message[:2]] = message.offset
        if seen is not None:
            op = seen.row.op if seen.row is not None else kind_of(seen.event)
            self.add(op, table_of(seen.event), commit_ms_of(seen.event))

    def add(self, op: str, table: str, commit_ms: int | None) -> None:
        if op in _ROWS:
            self.changes[table][op] += 1
            if commit_ms is not None:
                every = (*self.commits, commit_ms)
                self.commits = min(every), max(every)

    def tables(self, config: ChangefeedConfig, facts: Iterable[tuple[str, object]]) -> list[PageTable]:
        times = (TailLine("", 0, 0, "", time_ms=each).time for each in self.commits)
        feed = ("protocol", config.codec.form), ("release", config.release.name), ("sink", config.sink_uri)
        rows = [*feed, *facts, *zip(("first commit of a row", "last commit of a row"), times, strict=False)]
        counts = [(name, *(f"{found[op]:,}" for op in _ROWS)) for name, found in sorted(self.changes.items())]
        return [PageTable("Facts", (), rows), *([PageTable("Changes", ("table", *_ROWS), counts)] if counts else [])]


def write_verified(
    path: Path | None,
    config: ChangefeedConfig,
    messages: Iterable[Message],
    verifier: Verifier,
    findings: Sequence[Finding],
    totals: Totals,
    summary: str,
) -> None:
    """Write the page of ``verify``, if one is wanted. ``messages``: all of them again."""
    from ticdc_emit.consume.verify import INVARIANTS

    if path is None:
        return
    marks: defaultdict[tuple[Any, ...], list[str]] = defaultdict(list)
    for each in findings:
        marks[each.topic, each.partition, each.offset].append(str(each).removeprefix(f"{each.place} "))
    near = {
        (topic, partition, number)
        for topic, partition, offset in list(marks)[:_MOST_FINDINGS]
        for number in (range(offset - _BEFORE, offset + _AFTER) if offset is not None else ())
    }
    most, seen, sample = 0 if near else _share(totals.ends), Counter[Target](), list[Message]()
    for message in messages:
        seen[message[:2]] += 1
        if message[:3] in near or (seen[message[:2]] <= most and message.offset <= totals.ends.get(message[:2], -1)):
            sample.append(message)
    shown = _described(sample, config, marks, Totals())
    places = {message[:3] for message in sample}
    kinds = ((f"messages of {kind}", f"{count:,}") for kind, count in verifier.counts.items())
    checks = [(name, f"{verifier.found[name]:,}", text) for name, text in INVARIANTS.items()]
    page = Page(
        title=f"verify {', '.join(sorted({topic for topic, _ in totals.ends}))}",
        summary=summary,
        good=not findings and bool(verifier.counts),
        problems=[str(each) for each in findings if (each.topic, each.partition, each.offset) not in places],
        tables=[
            *totals.tables(config, kinds),
            PageTable("Checks", ("invariant", "findings", "what must hold"), checks),
        ],
        messages=shown,
        total=totals.messages,
        note=_ORDER,
    )
    write_whole(path, page.html())


def write_sent(
    options: Generate | Replay, config: ChangefeedConfig, report: RunReport | RunTotal, source_of: Any
) -> None:
    """Write the page of a command that has sent messages, if one is wanted. ``source_of``: that of ``topics``."""
    from ticdc_emit.pipeline.report import report_facts

    if options.report is None:
        return
    totals, shown, counts, note = Totals(), list[PageMessage](), report.delivery.per_partition, _ORDER
    sent = {target: deque[Message](maxlen=count.messages) for target, count in counts.items()}
    stored = config.storage is not None  # its messages do not say which run wrote them
    whole = not stored and report.messages <= _MOST_COUNTED
    newest = max((count.messages for count in counts.values()), default=0) if whole else _share(counts)
    try:
        topics = () if stored else sorted({topic for topic, _ in counts})
        for message in source_of(config, topics).messages(newest=newest):
            if stored or message[:2] in sent:
                sent.setdefault(message[:2], deque(maxlen=newest)).append(message)
        shown = _described(chain(*sent.values()), config, {}, totals if whole else Totals())
    except TicdcEmitError as error:
        note = f"No messages are shown, because they cannot be read here: {error.message}."
    if not whole:
        note += f" They are the newest. Changes are counted by table on Kafka, up to {_MOST_COUNTED:,} messages."
    acknowledged = [(*target, f"{count.messages:,}", f"{count.bytes:,}") for target, count in sorted(counts.items())]
    tables = totals.tables(config, report_facts(report))
    page = Page(
        title=f"{type(options).__name__.lower()} to {config.sink_uri}",
        summary=str(report).splitlines()[-1],
        tables=[*tables, PageTable("Acknowledged", ("topic", "partition", "messages", "bytes"), acknowledged)],
        messages=shown,
        total=report.messages,
        note=note,
    )
    write_whole(options.report, page.html())


def write_checked(path: Path | None, verdict: Verdict) -> None:
    """Write the page of ``check``, if one is wanted: all behaviours, and the smallest example of the first failure."""
    if path is None:
        return
    rows: list[tuple[object, ...]] = []
    for group, outcomes in groupby(verdict.outcomes, key=lambda each: each.behaviour.group):
        rows.append((group,))
        for each in outcomes:
            told = each.failure.wrong()[0] if each.failure else each.why or counted(each.examples, "example")
            rows.append((each.behaviour.name, each.state, told, each.behaviour.what))
    tables, shown, problems = [PageTable("Behaviours", ("behaviour", "state", "", "what happens"), rows)], [], []
    for each in verdict.failed[:1]:
        assert each.failure is not None
        diagnosis, example = each.failure.diagnosis, each.failure.example
        marks = {} if diagnosis.guilty is None else {diagnosis.guilty[:3]: diagnosis.special[1:] or diagnosis.special}
        arrival = example.arrival
        shown = _described(arrival.messages, arrival.config, marks, Totals(), arrival.schemas)
        tables += _expected_and_found(each.failure)
        problems = [f"{each.behaviour.name}: {each.behaviour.what}", *each.failure.lines()]
    page = Page(
        title="check",
        summary=verdict.summary,
        good=bool(verdict),
        problems=problems,
        tables=tables,
        messages=shown,
        note="The smallest example of the first failure, in order of arrival." if shown else "",
    )
    write_whole(path, page.html())


def _expected_and_found(failed: Failure) -> Iterator[PageTable]:
    from ticdc_emit.traffic.scenarios.comparison import rows_by_table  # here, as verify needs no encoder

    found = {} if failed.tables is None else rows_by_table(failed.tables)
    wrong = {(each.table, each.key, each.column) for each in failed.differences}  # without a column: the whole row
    for name, wanted in failed.example.shown.items():
        key, table = failed.example.keys.get(name, ()), ".".join(name)
        for title, rows in (("expected", list(wanted.values())), ("found", found.get(name, []))):
            names = list(dict.fromkeys(column for row in rows for column in row))
            marked = [
                (number, at)
                for number, row in enumerate(rows)
                for at, column in enumerate(names, 1)
                if {(table, tuple(row.get(each) for each in key), which) for which in (column, None)} & wrong
            ]
            cells = [
                [number, *("NULL" if row.get(column) is None else row[column] for column in names)]
                for number, row in enumerate(rows, 1)
            ]
            yield PageTable(f"{table} as {title}", ("", *names), cells, marked)


def _share(partitions: Collection[Target]) -> int:
    return max(_SAMPLE // max(len(partitions), 1), 4)


def _described(
    messages: Iterable[Message],
    config: ChangefeedConfig,
    marks: Mapping[tuple[Any, ...], Sequence[str]],
    totals: Totals,
    schemas: SchemaSource | None = None,
) -> list[PageMessage]:
    """Return messages as the page shows them; one of several rows has the kind of its first. Those of an example, which
    has ``schemas``, are in order of arrival, others in one order for all partitions.
    """
    tail, reached, shown = Tail(config, schemas=schemas), dict[Target, int](), list[tuple[int, PageMessage]]()
    for message in messages:
        lines, target = tail.lines(message), message[:2]
        for line in lines:
            totals.add(line.op, line.table, line.time_ms)
        first = lines[0]
        texts = (str(line).partition(f" {line.time} {line.op}")[2].strip() for line in lines)
        lane, text, found = "{}/{}".format(*target), f"{first.time} {'; '.join(texts)}", marks.get(message[:3], ())
        reached[target] = max(reached.get(target, 0), first.commit_ts or compose(first.time_ms or 0))
        shown.append((reached[target], PageMessage(lane, message.offset, first.op, text, first.commit_ts, found)))
    return [each for _, each in (shown if schemas is not None else sorted(shown, key=itemgetter(0)))]
