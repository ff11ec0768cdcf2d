"""``ticdc-emit tail`` and ``verify``: messages of Kafka topics, of files of a ``jsonl://`` sink, or of a storage sink,
of which each table's folder is a topic.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from rich.text import Text

from ticdc_emit.cli import signals
from ticdc_emit.cli.console import print_json, result_console, say, step
from ticdc_emit.cli.schema_files import schema_of_file
from ticdc_emit.config import ChangefeedConfig, mask_uri
from ticdc_emit.config.protocols import protocol_document, protocol_parameters, spec_of
from ticdc_emit.config.secrets import printable
from ticdc_emit.consume.readers import guess_protocol
from ticdc_emit.consume.storage_folder import FolderReader, folder_findings
from ticdc_emit.consume.tail import Tail, TailLine
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.errors import ConfigError, DeliveryError, UnknownTopicError
from ticdc_emit.hints import counted, did_you_mean
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.routing.topics import TopicExpression
from ticdc_emit.storage.paths import METADATA

if TYPE_CHECKING:
    from rich.console import Console

    from ticdc_emit.cli.app import Tail as TailOptions
    from ticdc_emit.cli.app import Verify
    from ticdc_emit.cli.options import TopicOptions
    from ticdc_emit.consume.invariants import Finding, Seen
    from ticdc_emit.consume.verify import Verifier


_POLL_S = 0.5
_POLL_STORAGE_S = 2.0
"""As often as TiCDC writes its checkpoint."""


@dataclass
class TopicSource:
    """Messages of a changefeed. ``partitions``: of each topic; for Kafka, known after the first message. ``foreign``:
    topics of another protocol, left out. ``waiting``: files of a storage sink above its checkpoint.
    """

    config: ChangefeedConfig
    choice: TopicChoice
    folder: Path | None = None
    partitions: dict[str, int] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    by_uri: bool = False
    waiting: int = 0

    def claims(self, options: TailOptions | Verify) -> Callable[[str], bytes] | None:
        """Return what gets an object of the changefeed's claim-check storage; ``None`` if none is wanted, or there."""
        store = ClaimStore.of(self.config.codec.large_message_handle) if options.claims else None
        return None if store is None else store.get

    def messages(self, *, newest: int | None = None, follow: bool = False) -> Iterator[Message]:
        """Yield the messages by partition, ``newest`` of each; ``follow``: wait for new ones. Foreign topics are left
        out.
        """
        if self.config.storage is not None:
            return self._from_storage(newest, follow)
        messages = self._from_kafka(newest, follow) if self.folder is None else self._from_files(newest, follow)
        return self._of_protocol(messages)

    def earlier_messages(self, newest: int) -> Iterator[Message]:
        """Yield messages from before the newest ones which show the schemas of tables."""
        if self.config.storage is not None:
            return FolderReader(self.config).schema_files()
        return self.messages(newest=newest + _LOOK_BACK)

    def checkpoint(self) -> int | None:
        """Return the checkpoint of a storage sink; ``None`` without one, or if it cannot be read."""
        if self.config.storage is None:
            return None
        with suppress(DecodeError):
            return FolderReader(self.config).checkpoint()
        return None

    def used_partitions(self) -> dict[str, int]:
        """Return how many partitions of each topic the changefeed sends to: of its default topic ``partition-num``.
        Of topics that no sink URI describes, it is not known.
        """
        if not self.by_uri and self.folder is None and self.config.storage is None:
            return {}
        default, partition_num = self.config.kafka.topic, self.config.kafka.partition_num
        return {
            topic: min(count, partition_num) if topic == default and partition_num is not None else count
            for topic, count in self.partitions.items()
        }

    def looked_at(self) -> str:
        """Return a description of the topics that were read or, if there are none, of those that were looked for."""
        return ", ".join(self.partitions) or str(self.choice) or self._place()

    def _of_protocol(self, messages: Iterator[Message]) -> Iterator[Message]:
        name, checked = self.config.codec.form, set[str]()
        for message in messages:
            topic = message.topic
            if topic not in checked:
                other = guess_protocol(message)
                checked.add(topic)
                if other is not None and other != name:
                    self._refuse(topic, other, name)
            if topic not in self.foreign:
                yield message
        for topic in checked:
            if len(self.foreign) == len(checked):
                raise self._other_protocol(topic, name)

    def _refuse(self, topic: str, other: str, name: str) -> None:
        known = topic in self.foreign
        self.foreign[topic] = other
        if len(self.partitions) <= 1 or not self.choice.expressions:
            raise self._other_protocol(topic, name)
        if not known:
            say(f"topic {topic} is left out: its messages look like {other}, not like {name}")

    def _other_protocol(self, topic: str, name: str) -> ConfigError:
        other = self.foreign[topic]
        parameters = urlencode(protocol_parameters(other))
        return ConfigError(
            f"the messages of topic {topic} look like {other}, not like {name}",
            remedy=f"Set {parameters} in the sink URI" if self.by_uri else f"Use --protocol {other}",
            option="protocol",
        )

    def _from_kafka(self, newest: int | None, follow: bool) -> Iterator[Message]:
        from ticdc_emit.delivery.kafka import KafkaSink
        from ticdc_emit.delivery.kafka_reader import stream_topics

        settings = KafkaSink.of(self.config.kafka).connection_settings()
        return stream_topics(settings, self.choice.among, newest=newest, follow=follow, partitions=self.partitions)

    def _from_files(self, newest: int | None, follow: bool) -> Iterator[Message]:
        from ticdc_emit.delivery.files import FileReader

        assert self.folder is not None
        if not self.folder.exists():
            raise self._nothing("there is no such file or folder")
        files = FileReader(self.folder)
        there = files.partitions()
        if not follow:
            if not there:
                raise self._nothing("no file of a topic partition was found")
            self.choice.require_named(there, path=str(self.folder))
        self.partitions.update({topic: count for topic, count in there.items() if self._wants(topic)})
        messages = (message for message in files.read() if self._wants(message.topic))
        yield from messages if newest is None else _newest(messages, newest)
        while follow:
            time.sleep(_POLL_S)
            yield from (message for message in files.read() if self._wants(message.topic))

    def _nothing(self, cause: str) -> DeliveryError:
        return DeliveryError(cause, remedy="Give a file or folder that a jsonl:// sink wrote", path=str(self.folder))

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the files of a storage sink as a whole."""
        if self.config.storage is not None:
            for finding in folder_findings(self.config, StorageSink.of(self.config).folder()):
                if self._wants(finding.topic):
                    yield finding

    def _from_storage(self, newest: int | None, follow: bool) -> Iterator[Message]:
        reader, there = FolderReader(self.config, skips_missing=True), set[str]()
        yield from self._of_tables(reader.read(newest=newest), there)
        self.waiting = reader.waiting
        if not follow and not there and not self.waiting:
            raise DeliveryError(
                "the folder has no files of a storage sink",
                remedy="Give the sink URI of the changefeed that writes there",
                path=self._place(),
            )
        if not follow:
            self.choice.require_named(there, path=self._place())
        while follow:
            time.sleep(_POLL_S if self.config.sink_uri.scheme == "file" else _POLL_STORAGE_S)
            yield from self._of_tables(reader.read(), there)

    def _of_tables(self, messages: Iterator[Message], there: set[str]) -> Iterator[Message]:
        for message in messages:
            there.add(message.topic)
            if self._wants(message.topic):
                if message.topic != METADATA:
                    self.partitions[message.topic] = 1
                yield message

    def _place(self) -> str:
        return mask_uri(self.config.sink_uri.storage.reveal())

    def _wants(self, topic: str) -> bool:
        return not self.choice.named or topic in self.choice.named


def open_source(options: TopicOptions) -> TopicSource:
    """Return where to read. Raises :class:`~ticdc_emit.errors.ConfigError` for options that do not name one source."""
    given = [name for name in ("path", "sink_uri", "brokers") if getattr(options, name) is not None]
    if len(given) != 1:
        raise ConfigError(
            "several sources to read from are given" if given else "no source to read from is given",
            remedy="Give exactly one source: PATH, --brokers with --topic, or --sink-uri",
            option="sink-uri",
        )
    named = options.protocol if options.sink_uri is not None and options.config is None else None
    # as in TiCDC, a protocol in the URI wins
    document = options.config if named is None else protocol_document(named)
    config = options.load(_uri(options), document, schema_registry=options.schema_registry)
    if options.path is not None and config.storage is None:
        return TopicSource(config, TopicChoice.of(config, options.topics), options.path)
    return source_of(config, options.topics, by_uri=options.sink_uri is not None)


def source_of(config: ChangefeedConfig, topics: Sequence[str] = (), *, by_uri: bool = True) -> TopicSource:
    """Return where to read what a changefeed sends. Raises :class:`~ticdc_emit.errors.ConfigError` if nothing can."""
    choice = TopicChoice.of(config, topics)
    if config.sink_uri.scheme == "jsonl":
        return TopicSource(config, choice, Path(config.sink_uri.path), by_uri=True)
    if config.sink_uri.scheme in ("memory", "stdout"):
        raise ConfigError(
            f"messages of {config.sink_uri.scheme}:// end with the process that writes them",
            remedy="Send to kafka:// or jsonl:// to read them from another process",
            option="sink-uri",
        )
    return TopicSource(config, choice, by_uri=by_uri)


def _uri(options: TopicOptions) -> str:
    if options.sink_uri is not None:
        return options.sink_uri
    if options.protocol is None and options.config is None:
        raise ConfigError("no protocol given", remedy="Give --protocol, or --sink-uri", option="protocol")
    parameters = {} if options.protocol is None else protocol_parameters(options.protocol)
    query = urlencode(parameters)
    if options.path is not None:
        stored = (options.path / METADATA).is_file() or (options.protocol and not spec_of(options.protocol).queued)
        return f"{'file' if stored else 'jsonl'}://{options.path.resolve()}?{query}"
    if not options.topics:
        raise ConfigError("no topic given", remedy="Give --topic", option="topic")
    return f"kafka://{options.brokers}/{options.topics[0]}?{query}"


def _newest(messages: Iterator[Message], count: int) -> Iterator[Message]:
    """Yield the last messages of each partition. Those of one partition come in a row."""
    for _, each in groupby(messages, key=itemgetter(0, 1)):
        yield from deque(each, maxlen=count)


_INTERNAL = "__"  # __consumer_offsets and its like
_MOST_SHOWN = 10


@dataclass(frozen=True)
class TopicChoice:
    """``named``: topics that must all exist; without it one of ``default`` and what ``expressions`` match must."""

    named: tuple[str, ...] = ()
    default: str = ""
    expressions: tuple[TopicExpression, ...] = ()

    @classmethod
    def of(cls, config: ChangefeedConfig, named: Sequence[str]) -> TopicChoice:
        """Return the named topics, else the default one and those of dispatchers. Raises ``ConfigError``."""
        if named:
            return cls(tuple(named))
        texts = dict.fromkeys(rule.topic for rule in config.dispatchers if rule.topic)
        expressions = tuple(
            TopicExpression.parse(text, config.codec.protocol, config.release.routing) for text in texts
        )
        return cls((), config.kafka.topic, expressions)

    def among(self, existing: Collection[str]) -> list[str]:
        """Return the topics to read; raises :class:`~ticdc_emit.errors.UnknownTopicError` if they do not exist."""
        self.require_named(existing)
        if self.named:
            return list(dict.fromkeys(self.named))
        matching = [
            topic
            for topic in sorted(existing)
            if topic == self.default
            or (not topic.startswith(_INTERNAL) and any(each.matches(topic) for each in self.expressions))
        ]
        if not matching:
            raise missing_topic(self.default, existing, also=[each.text for each in self.expressions])
        return matching

    def require_named(self, existing: Collection[str], **place: str) -> None:
        for topic in self.named:
            if topic not in existing:
                raise missing_topic(topic, existing, **place)

    def __str__(self) -> str:
        return ", ".join(self.named or dict.fromkeys([self.default, *(each.text for each in self.expressions)]))


def missing_topic(topic: str, existing: Collection[str], also: Sequence[str] = (), **place: str) -> UnknownTopicError:
    """Return the error for a topic that does not exist. ``also``: expressions that match no topic either."""
    shown = sorted(name for name in existing if not name.startswith(_INTERNAL))
    more = f" and {len(shown) - _MOST_SHOWN:,} more" if len(shown) > _MOST_SHOWN else ""
    there = f"Existing topics: {', '.join(shown[:_MOST_SHOWN])}{more}" if shown else "There are no topics yet"
    none_of = f", and no topic matches {', '.join(also)}" if also else ""
    return UnknownTopicError(
        f"the topic {topic} does not exist{none_of}",
        remedy=f"{did_you_mean(topic, shown)}{there}",
        topic=topic,
        **place,
    )


_NEWEST = 10
_LOOK_BACK = 20_000
"""The number of a partition's messages in which TiCDC repeats the schema of every changing table: twice its BOOTSTRAP
interval.
"""
_STYLES = {
    "insert": "green",
    "update": "yellow",
    "delete": "red",
    "ddl": "magenta",
    "watermark": "dim",
    "bootstrap": "cyan",
    "unreadable": "bold red",
}


def tail(options: TailOptions) -> int:
    if options.follow:
        signals.endless()
    source = open_source(options)
    if options.start not in (None, "beginning"):
        raise ConfigError(
            f"cannot read from {options.start!r}", remedy="Write beginning, or --last N for the newest", option="from"
        )
    newest = options.last
    if newest is None and options.start is None and (options.follow or not (options.tables or options.ops)):
        newest = _NEWEST
    tail = Tail(
        source.config,
        tables=options.tables,
        ops=options.ops,
        claims=source.claims(options),
        earlier=None if newest is None else lambda: source.earlier_messages(newest),
    )
    read = shown = 0
    console = result_console()
    for message in source.messages(newest=newest, follow=options.follow):
        read += 1
        for line in tail.lines(message):
            shown += 1
            if options.as_json:
                print_json(line.to_dict(), flush=options.follow)
            else:
                console.print(Text.assemble(*_parts(line)))
    if read and not shown:
        say(f"no message in {source.looked_at()} matches --table or --op ({read:,} read)")
    elif not shown:
        say(f"no messages in {source.looked_at()}")
    return 0


def _parts(line: TailLine) -> Iterator[str | tuple[str, str]]:
    style = _STYLES[line.op]
    yield line.place, "dim"
    yield f" {line.time} "
    yield line.op, style
    if line.table:
        yield f" {printable(line.table)}"
    for name, value in line.key.items():
        yield printable(f" {name}={value}"), "bold"
    if line.said:
        yield f" {printable(line.said)}"


_KINDS = {
    "row": "row",
    "ddl": "DDL message",
    "watermark": "watermark",
    "bootstrap": "BOOTSTRAP message",
    "nameless": "nameless DELETE",
    "unreadable": "unreadable message",
}


def verify(options: Verify) -> int:
    """Read all messages that exist now and print the problems; return 1 if there are any."""
    from ticdc_emit.cli.report_page import Totals, write_verified
    from ticdc_emit.consume.expected import ExpectedChanges
    from ticdc_emit.consume.verify import Verifier

    source = open_source(options)
    expected = None
    if options.expect:
        expected = ExpectedChanges.read(source.config, map(Path, options.expect), whole=not options.topics)
    checkpoint, newer, totals = source.checkpoint(), 0, Totals()

    def watch(message: Message, seen: Seen | None) -> None:
        nonlocal newer
        if options.report is not None:
            totals.see(message, seen)
        if checkpoint is not None and seen is not None and seen.row is not None:
            newer += (seen.row.commit_ts or 0) > checkpoint

    watched = options.report is not None or checkpoint is not None
    verifier = Verifier(
        source.config,
        claims=source.claims(options),
        most=options.show,
        watch=watch if watched else None,
        empty_source=options.empty_source,
        expected=expected,
        schema=schema_of_file(options.schema, None),
    )
    with step("reading", quiet=options.as_json):
        verifier.see_all(source.messages())
        verifier.add(source.findings())
    findings = verifier.finish(source.used_partitions())
    summary = _summary(verifier, source.looked_at())
    write_verified(options.report, source.config, source.messages(), verifier, findings, totals, summary)
    if options.as_json:
        of_storage = {
            "checkpoint": checkpoint,
            "rows_after_checkpoint": newer,
            "files_after_checkpoint": source.waiting,
        }
        print_json(
            {
                "messages": dict(verifier.counts),
                "partitions": source.used_partitions() or source.partitions,
                "topics_left_out": source.foreign,
                **({} if source.config.storage is None else of_storage),
                "proof": verifier.proof()._asdict(),
                "found": dict(verifier.found),
                "findings": [vars(finding) for finding in findings],
            }
        )
    else:
        _print_findings(result_console(), findings, verifier, summary)
        every = {(topic, number) for topic, count in source.partitions.items() for number in range(count)}
        for topic, number in () if source.used_partitions() else sorted(every.difference(verifier.targets)):
            say(f"partition {number} of {topic} has no messages: give --sink-uri with partition-num if it must")
        if newer or source.waiting:
            waiting = f"{counted(source.waiting, 'schema or index file')} were not read" if source.waiting else ""
            rows = f"{counted(newer, 'row')} may come again" if newer else ""
            say(f"newer than the checkpoint: {' and '.join(filter(None, (rows, waiting)))}")
    return 1 if findings or not (verifier.counts or options.allow_empty) else 0


def _print_findings(console: Console, findings: list[Finding], verifier: Verifier, summary: str) -> None:
    from ticdc_emit.consume.verify import INVARIANTS

    for finding in findings:
        console.print(Text(printable(str(finding))))
    for name, count in verifier.found.items():
        console.print(Text(f"{name}: {count:,} ({INVARIANTS[name]})", "red"))
    style = "bold red" if verifier.found else "bold green" if verifier.counts else "bold yellow"
    console.print(Text(summary, style))
    proof = verifier.proof()
    if proof.proved:
        console.print(Text(f"Proved: {'; '.join(proof.proved)}"))
    if proof.not_shown:
        console.print(Text(f"Not shown: {printable('; '.join(proof.not_shown))}", "dim"))


def _summary(verifier: Verifier, topics: str) -> str:
    if not verifier.counts:
        return f"no messages in {topics}: nothing was checked"
    counts = ", ".join(counted(count, _KINDS[kind]) for kind, count in verifier.counts.items())
    total = sum(verifier.found.values())
    return f"Checked {counts}: {counted(total, 'problem') if total else 'no problems'} found"
