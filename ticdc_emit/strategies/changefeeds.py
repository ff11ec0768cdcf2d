"""Configurations of changefeeds, which TiCDC and this library accept without a warning.

Options affect content or target of messages, or the files of a storage sink; brokers and security are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from hypothesis import strategies as st

from ticdc_emit.config import CLASSIC, RELEASES, ChangefeedConfig, Release, load_changefeed
from ticdc_emit.config.load import LoadOptions, refuse_unknown
from ticdc_emit.config.protocols import (
    PROTOCOL_NAMES,
    QUEUED,
    STORED,
    Availability,
    Protocol,
    ProtocolSpec,
    parse_protocol_name,
    spec_of,
)
from ticdc_emit.errors import ConfigError, StrategyError
from ticdc_emit.hints import values as given_names
from ticdc_emit.strategies.columns import known_names
from ticdc_emit.traffic.json_objects import VERSION, Json, Members, json_line

if TYPE_CHECKING:
    from typing_extensions import Unpack

_TOPICS = ("", "{schema}", "{schema}_{table}", "events_{schema}_{table}")
_OWN_TOPICS = _TOPICS[2:]
_ROWS_PER_MESSAGE = (None, 1, 2, 5)
_COMPRESSION = "large-message-handle-compression"
_HANDLE_KEY_DELETES = "delete-only-output-handle-key-columns"
_CSV_FORMS: tuple[dict[str, str], ...] = (
    {},
    {"delimiter": "\t"},
    {"delimiter": "|", "quote": "'", "null": "NULL"},
    {"delimiter": "|+|", "null": ""},
    {"quote": ""},
    {"quote": "", "delimiter": ";"},
    {"quote": "", "delimiter": "|@|"},
)
"""Those from which a consumer gets every value back: without quotes, NULL is a text that no value is written as; a
delimiter consists of ASCII that no escape needs.
"""
_CSV_SWITCHES = ("include-commit-ts", "output-old-value", "output-field-header")
_TERMINATORS = ("\r\n", "\n", "<end>\n")
_DATE_SEPARATORS = ("day", "none", "year", "month")
_FLUSH_INTERVALS = ("5s", "2s", "1m", "100ms")  # the last one is too short for some releases
_FILE_BYTES = (64 << 20, 1 << 20, 1 << 10)
_INDEX_DIGITS = (20, 6, 9)
_TABLE_IDS = "use-table-id-as-path"


@dataclass(frozen=True)
class FeedOptions:
    """``sink_uri``: a sink URI with its options. ``changefeed``: the changefeed file, as a mapping."""

    sink_uri: str
    changefeed: dict[str, Any] = field(hash=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the options for JSON: ``version`` (1), ``sink_uri`` with its secrets, and ``changefeed``."""
        return {"version": VERSION, "sink_uri": self.sink_uri, "changefeed": self.changefeed}

    def to_json(self) -> str:
        """Return :meth:`to_dict` as one line of ASCII. Raises :class:`~ticdc_emit.errors.JsonError`."""
        return json_line(self.to_dict(), what="the changefeed")

    @classmethod
    def from_json(cls, data: Json) -> FeedOptions:
        """Return the options of :meth:`to_json`, unchecked. Raises :class:`~ticdc_emit.errors.JsonError`."""
        members = Members.of(data, "a changefeed")
        options = cls(members.get("sink_uri", str), members.get("changefeed", dict))
        members.finish()
        return options

    def load(self, **options: Unpack[LoadOptions]) -> ChangefeedConfig:
        """Return the configuration; ``options``: further arguments of :func:`~ticdc_emit.load_changefeed`."""
        refuse_unknown("load", options, LoadOptions)
        return load_changefeed(self.sink_uri, self.changefeed, **options)


@dataclass
class _DrawnOptions:
    uri: dict[str, Any]
    top: dict[str, Any]
    sink: dict[str, Any]


def changefeeds(
    *,
    protocols: str | Collection[str] | None = None,
    releases: str | Collection[str] | None = None,
    partitions: str | Collection[str] = ("table", "index-value", "default"),
    max_partitions: int = 4,
    force_replicate: bool = False,
    compression: bool = False,
    schema_registry: str = "http://127.0.0.1:8081",
    stored: bool = False,
) -> st.SearchStrategy[FeedOptions]:
    """Return configurations of in-memory sinks; with ``stored``, of storage sinks (``noop://``), whose files
    :meth:`History.files <ticdc_emit.History.files>` makes.

    ``protocols``: some of :data:`~ticdc_emit.strategies.PROTOCOLS`, ``simple-json`` or ``simple-avro``; ``None`` for
    all. A storage sink has ``csv`` and ``canal-json``, and no options of partitions and registries. ``releases``: those
    that may be used, default ``classic``, or ``next`` for a protocol that only it has. ``partitions``: the partition
    dispatchers; ``ts`` sends the changes of a row to different partitions. ``force_replicate``: tables without a handle
    key are replicated; Avro and some options exclude it. ``compression``: messages may be compressed with Snappy or
    LZ4. ``schema_registry``: the URL that Avro names. Raises :class:`~ticdc_emit.errors.StrategyError` for any other
    value, Avro with ``force_replicate``, and a protocol that none of the releases has.
    """
    try:
        release_names = None if releases is None else tuple(Release.parse(name).name for name in given_names(releases))
    except ConfigError as error:
        raise StrategyError(error.message, remedy=error.remedy, argument="releases") from None
    if protocols is None:
        protocols = [
            name
            for name in (_STORED if stored else PROTOCOLS)
            if (spec_of(name).force_replicate or not force_replicate) and _releases_of(name, release_names)
        ]
    known = _STORED if stored else PROTOCOL_NAMES
    protocol_names = known_names(protocols, known, what="protocols", argument="protocols")
    for name in protocol_names:
        if force_replicate and not spec_of(name).force_replicate:
            raise StrategyError(
                f"{name} does not go with force-replicate",
                remedy="Leave the protocol or force_replicate out",
                argument="force_replicate",
            )
        if not _releases_of(name, release_names):
            raise StrategyError(
                f"none of these releases has the protocol {name}",
                remedy="Leave the protocol out, or give a release that has it",
                argument="releases",
            )
    dispatchers = known_names(partitions, _DISPATCHERS, what="partition dispatchers", argument="partitions")
    if max_partitions < 1:
        raise StrategyError(
            f"max_partitions={max_partitions!r} is not at least 1", remedy="Give 1 or more", argument="max_partitions"
        )
    protocol_releases = {name: _releases_of(name, release_names) for name in protocol_names}
    if stored:
        return _storage_changefeeds(protocol_releases, force_replicate)
    return _changefeeds(protocol_releases, dispatchers, max_partitions, force_replicate, compression, schema_registry)


def _releases_of(name: str, releases: tuple[str, ...] | None) -> tuple[str, ...]:
    having = parse_protocol_name(name)[0].releases
    return having[:1] if releases is None else tuple(each for each in releases if each in having)


@st.composite
def _changefeeds(
    draw: st.DrawFn,
    protocols: Mapping[str, tuple[str, ...]],
    partitions: tuple[str, ...],
    max_partitions: int,
    force_replicate: bool,
    compression: bool,
    schema_registry: str,
) -> FeedOptions:
    protocol, release, options = _draw_head(draw, protocols, force_replicate)
    options.uri["partition-num"] = draw(st.integers(1, max_partitions))
    dispatcher = {"matcher": ["*.*"], "partition": draw(st.sampled_from(partitions))}
    if protocol.spec.registers_schemas:  # there is a subject per topic, and two tables cannot share one
        options.sink["schema-registry"] = schema_registry
        dispatcher["topic"] = draw(st.sampled_from(_OWN_TOPICS))
    elif topic := draw(st.sampled_from(_TOPICS)):
        dispatcher["topic"] = topic
    options.sink["dispatchers"] = [dispatcher]
    unknown = release.options.unknown
    without_effect = {"enable-tidb-extension"} if protocol.value in release.options.rows_only else frozenset()
    _draw_protocol_options(draw, options, protocol.spec, unknown | without_effect)
    if compression and protocol.spec.large_messages is not Availability.NEVER and _COMPRESSION not in unknown:
        form = draw(st.sampled_from(["none", "snappy", "lz4"]))
        if form != "none":
            handle = {"large-message-handle-option": "none", _COMPRESSION: form}
            options.sink["kafka-config"] = {"large-message-handle": handle}
    top = options.top | {"sink": options.sink}
    return FeedOptions(f"memory://changefeed/?{_query(options.uri)}", top)


def _draw_head(
    draw: st.DrawFn, protocols: Mapping[str, tuple[str, ...]], force_replicate: bool
) -> tuple[Protocol, Release, _DrawnOptions]:
    name = draw(st.sampled_from(tuple(protocols)))
    protocol, encoding = parse_protocol_name(name)
    release = RELEASES[draw(st.sampled_from(protocols[name]))]
    options = _DrawnOptions({"protocol": protocol.value}, {}, {})
    if encoding is not None:
        options.uri["encoding-format"] = encoding
    if release is not CLASSIC:
        options.top["ticdc-emit"] = {"release": release.name}
    if force_replicate:
        options.top["force-replicate"] = True
    return protocol, release, options


@st.composite
def _storage_changefeeds(
    draw: st.DrawFn, protocols: Mapping[str, tuple[str, ...]], force_replicate: bool
) -> FeedOptions:
    protocol, release, options = _draw_head(draw, protocols, force_replicate)
    unknown, least, csv = release.options.unknown, release.options, dict[str, Any]()
    if protocol is Protocol.CSV:  # with output-handle-key some tables would need a row_key with each row
        csv |= draw(st.sampled_from(_CSV_FORMS))
        csv |= {name: draw(st.booleans()) for name in _CSV_SWITCHES if f"csv.{name}" not in unknown}
        csv["binary-encoding-method"] = draw(st.sampled_from(["base64", "hex"]))
        if force_replicate:
            csv["output-old-value"] = True
        options.sink["csv"] = csv
    else:
        _draw_protocol_options(draw, options, protocol.spec, unknown)
    old_values = protocol is not Protocol.CSV or csv.get("output-old-value", False)
    storage: dict[str, Any] = {
        "flush-interval": draw(st.sampled_from(_FLUSH_INTERVALS[: 4 - (least.least_flush_ms > 100)])),
        "file-size": draw(st.sampled_from([size for size in _FILE_BYTES if size >= least.least_file_bytes])),
        "output-column-id": draw(st.booleans()),
        "output-raw-change-event": old_values and draw(st.booleans()),  # else the former key of a row is nowhere
    }
    if _TABLE_IDS not in unknown:
        storage[_TABLE_IDS] = draw(st.booleans())
    options.sink |= {
        "cloud-storage-config": storage,
        "date-separator": draw(st.sampled_from(_DATE_SEPARATORS)),
        # partitions of one folder overwrite each other's files where the release does not look for them
        "enable-partition-separator": release.storage.numbers == "from-index" or draw(st.booleans()),
        "file-index-digit": draw(st.sampled_from(_INDEX_DIGITS)),
        "terminator": draw(st.sampled_from(_TERMINATORS)),
    }
    if release.storage.dispatcher_ids and draw(st.booleans()):
        options.top["scheduler"] = {"enable-table-across-nodes": True}
    return FeedOptions(f"noop:///?{_query(options.uri)}", options.top | {"sink": options.sink})


def _query(parameters: Mapping[str, Any]) -> str:
    return urlencode({name: "true" if value is True else value for name, value in parameters.items()})


def _draw_protocol_options(
    draw: st.DrawFn, options: _DrawnOptions, spec: ProtocolSpec, unknown: frozenset[str]
) -> None:
    for name, values in spec.parameters:
        if name not in unknown and (value := draw(st.sampled_from(values))) != values[0]:
            options.uri[name] = value
    if spec.encodings and "encoding-format" not in options.uri:
        options.uri["encoding-format"] = draw(st.sampled_from(spec.encodings))
    if spec.bootstraps:
        options.sink["send-all-bootstrap-at-start"] = draw(st.booleans())
        options.sink["send-bootstrap-to-all-partition"] = draw(st.booleans())
        options.sink["send-bootstrap-in-msg-count"] = draw(st.integers(1, 10_000))
        options.sink["send-bootstrap-interval-in-sec"] = draw(st.integers(1, 120))
    table = spec.old_value_table
    if table is not None and f"{table}.output-old-value" not in unknown and draw(st.booleans()):
        options.sink[table] = {"output-old-value": draw(st.booleans())}
    if spec.packs_rows and (rows := draw(st.sampled_from(_ROWS_PER_MESSAGE))) is not None:
        options.uri["max-batch-size"] = rows
    if spec.handle_key_deletes and "force-replicate" not in options.top and _HANDLE_KEY_DELETES not in unknown:
        options.sink[_HANDLE_KEY_DELETES] = draw(st.booleans())
    lossless = options.uri.items() >= set(spec.lossless)
    has_checksums = spec.row_checksums and (not spec.extension or "enable-tidb-extension" in options.uri)
    if has_checksums and lossless and draw(st.booleans()):
        options.top["integrity"] = {"integrity-check-level": "correctness"}


_DISPATCHERS = ("default", "index-value", "table", "ts")

PROTOCOLS = tuple(protocol.value for protocol in QUEUED)
"""The protocols of :func:`changefeeds`."""
_STORED = tuple(protocol.value for protocol in STORED)
