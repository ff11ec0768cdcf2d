"""Load a changefeed's configuration from TiCDC's own two inputs, a sink URI and a changefeed file.

The order of the checks is TiCDC's: protocol and atomicity, large messages, registries, dispatchers, integrity
(``ReplicaConfig.ValidateAndAdjust``), delivery (``kafka.Options.Apply``), the encoder (``codec/common.Config``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any, TypedDict, TypeVar, Unpack
from zoneinfo import ZoneInfo, available_timezones

from ticdc_emit.config.binding import FILE_OPTIONS, UriParameters, read_options
from ticdc_emit.config.changefeed import DISPATCHER_NAMES, ChangefeedConfig, ColumnSelector, DispatchRule, Integrity
from ticdc_emit.config.codec import build_codec, read_glue, read_large_message_handle
from ticdc_emit.config.document import LENIENT, Section, quote, read_document, refused, warn_of_option, without_indices
from ticdc_emit.config.filters import read_filter
from ticdc_emit.config.kafka import build_embedded, build_kafka, build_stored
from ticdc_emit.config.protocols import Protocol, remedy_for_files
from ticdc_emit.config.releases import CLASSIC, Release, releases_with
from ticdc_emit.config.secrets import hides_arguments, printable
from ticdc_emit.config.storage import read_storage, refuse_unstored
from ticdc_emit.config.switches import OptionSwitches
from ticdc_emit.config.uri import SinkUri
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.hints import closest, did_you_mean
from ticdc_emit.sql.json_document import Doubles
from ticdc_emit.sql.lexer import sql_mode_of
from ticdc_emit.sql.words import to_lower

_Choice = TypeVar("_Choice", bound=str)
_TARGET = re.compile(r"(?:[^{}]|\{schema\}|\{table\})*")
_OTHER_OPTIONS = """
active-active-progress-interval active-active-sync-stats-interval bdr-mode case-sensitive
changefeed-error-stuck-duration check-gc-safe-point enable-active-active enable-sync-point enable-table-monitor
event-collector-batch-bytes event-collector-batch-count force-replicate ignore-ineligible-table memory-quota
performance-mode sql-mode sync-point-interval sync-point-retention consistent: compression encoding-worker-num
event-collector-batch-count flush-concurrency flush-interval flush-worker-num level max-log-size meta-flush-interval
storage use-file-backend consistent.memory-usage: event-cache-percentage memory-quota-percentage filter: do-dbs
do-tables ignore-dbs ignore-tables ignore-txn-start-ts rules filter.event-filters: ignore-delete-value-expr
ignore-event ignore-insert-value-expr ignore-sql ignore-update-new-value-expr ignore-update-old-value-expr
ignore-update-only-columns matcher integrity: corruption-handle-level integrity-check-level mounter: worker-num
scheduler: balance-score-threshold enable-splittable-check force-split max-traffic-percentage min-traffic-percentage
region-count-per-span region-count-refresh-interval region-per-span region-threshold scheduling-task-count-per-node
write-key-threshold sink: advance-timeout-in-sec case-sensitive date-separator enable-kafka-sink-v2
encoder-concurrency force-replicate integrity mysql-config protocol pulsar-config safe-mode terminator
transaction-atomicity sink.cloud-storage-config: file-cleanup-cron-spec file-expiration-days sink.column-selectors:
columns matcher sink.debezium: output-old-value sink.dispatchers: columns dispatcher index matcher partition
target-schema target-table topic sink.kafka-config: sasl-oauth-audience sasl-oauth-client-id sasl-oauth-client-secret
sasl-oauth-grant-type sasl-oauth-scopes sasl-oauth-token-url sink.kafka-config.codec-config: output-row-key
sink.kafka-config.glue-schema-registry-config: access-key region registry-name secret-access-key token sink.open:
output-old-value synced-status: checkpoint-interval synced-check-interval ticdc-emit: bdr_role ddl_text json_doubles
release sql_mode
"""
"""Options of the changefeed file that no record declares, after their tables: of TiCDC, which also has those of its
MySQL and Pulsar sinks, and of this library.
"""


def _known_options() -> Iterator[str]:
    table, listed = "", []
    for word in _OTHER_OPTIONS.split():
        if word.endswith(":"):
            table = word.replace(":", ".")
        else:
            listed.append(table + word)
    for option in (*FILE_OPTIONS, *listed):
        yield from accumulate(option.split("."), "{}.{}".format)


_KNOWN = frozenset(_known_options())


class LoadOptions(TypedDict, total=False):
    """The keyword arguments of :func:`~ticdc_emit.load_changefeed`; ``None`` stands for its default."""

    release: str | Release | None
    time_zone: str | None
    cluster_id: str | None
    integrity: bool | None
    force_replicate: bool | None
    strict: bool | None
    schema_registry: str | None


@hides_arguments
def load_changefeed(
    sink_uri: str,
    changefeed: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    own_registry: bool = False,
    **options: Unpack[LoadOptions],
) -> ChangefeedConfig:
    """Read, merge and validate a sink URI and a changefeed file.

    ``changefeed``: path of a TOML file, TOML text (a string with a newline or ``=``), or a mapping of the same shape.
    ``release``: such as ``8.5.3``, ``next-8.5.7`` or ``next`` (docs/releases.md); default: the file's ``[ticdc-emit]
    release``, else ``classic``. ``time_zone``: IANA name, default UTC. ``cluster_id``: of TiCDC's server, default
    ``default``. ``integrity`` and ``force_replicate`` override the changefeed's; ``integrity=True`` is ``correctness``.
    ``strict=False``: warn of unknown options in the file instead of refusing it. ``schema_registry``: URL to use if
    neither input names a registry. ``own_registry``: Avro needs no URL, as the caller has a registry.

    Raises :class:`~ticdc_emit.errors.ConfigError`; warns once (:class:`ConfigWarning`, also logged) of all ignored
    options, and of each option that TiCDC reads otherwise than its text says.
    """
    refuse_unknown("load_changefeed", options, LoadOptions)
    release, strict, force_replicate = options.get("release"), options.get("strict"), options.get("force_replicate")
    given_zone = options.get("time_zone")
    time_zone = "UTC" if given_zone is None else given_zone
    _check_time_zone(time_zone)
    uri = SinkUri.parse(sink_uri)
    root = read_document(changefeed)
    sink, own = root.at("sink"), root.at("ticdc-emit")
    in_file = own.text("release")
    held = Release.parse((in_file or CLASSIC) if release is None else release)
    doubles: tuple[Doubles, Doubles] = ("new", "old") if held.values.json_doubles == "new" else ("old", "new")
    chosen = _read_choice(own, "json_doubles", doubles)
    if chosen != held.values.json_doubles:
        held = held.but(held.name, values={"json_doubles": chosen})
    switches = held.options
    parameters = UriParameters(uri, switches)
    root.forget(switches.unknown)
    unknown = dict(root.unknown(_KNOWN))
    if unknown and (not LENIENT.get() if strict is None else strict):
        names = [_answered(*each) for each in unknown.items()]
        raise ConfigError(
            f"the changefeed file contained unknown configuration options: {', '.join(names)}",
            remedy="Correct or remove them, as cdc cli refuses the file. strict=False (--lenient) only warns",
            option=next(iter(unknown)),
        )
    protocol_in_file = sink.text("protocol") or ""
    protocol_text = parameters.text("protocol") or protocol_in_file
    _check_atomicity(parameters, sink, uri)
    protocol = Protocol.parse(protocol_text, held, stored=uri.stored)
    storage = None
    if uri.stored:
        if protocol_in_file and protocol_text != protocol_in_file:
            warn_of_option("The protocol of the sink URI counts, not that of the changefeed file")
        refuse_unstored(protocol, uri.scheme)
        storage = read_storage(parameters, root, protocol, held.storage, held.csv)
        for name in uri.storage_parameters:
            parameters.text(name)
    elif protocol.spec.is_written and not protocol.spec.queued:
        raise refused(
            "ErrSinkUnknownProtocol",
            f"unknown '{protocol_text}' message protocol for sink",
            option="protocol",
            remedy=remedy_for_files(protocol),
        )
    large_message_handle = read_large_message_handle(parameters, root, protocol, switches)
    glue = read_glue(root)
    dispatchers = _read_dispatchers(sink, switches)
    selectors = tuple(
        ColumnSelector(**read_options(ColumnSelector, None, table)) for table in sink.tables("column-selectors")
    )
    checks = _read_integrity(root, options.get("integrity"))
    if checks.enabled and selectors:
        raise refused(
            "ErrInvalidReplicaConfig",
            "integrity check enabled and column selector set, not allowed",
            option="column-selectors",
            remedy="Remove one of them",
        )
    forced_in_file = bool(root.boolean("force-replicate"))
    forced = forced_in_file if force_replicate is None else force_replicate

    if uri.stored:
        kafka = build_stored(uri)
        dispatchers, selectors = _without_topics(dispatchers, selectors, held)
    else:
        kafka = (build_embedded if uri.embedded else build_kafka)(uri, parameters, root)
    codec = build_codec(
        parameters,
        root,
        protocol=protocol,
        large_message_handle=large_message_handle,
        glue=glue,
        force_replicate=forced,
        row_checksum=checks.enabled,
        default_registry=options.get("schema_registry"),
        own_registry=own_registry,
        stored=uri.stored,
        switches=switches,
    )
    config = ChangefeedConfig(
        sink_uri=uri,
        codec=codec,
        kafka=kafka,
        storage=storage,
        dispatchers=dispatchers,
        column_selectors=selectors,
        force_replicate=forced,
        filter=read_filter(root, held.filtering),
        ddl_text=_read_choice(own, "ddl_text", ("restored", "as-given")),
        sql_mode=_read_sql_mode(own),
        bdr_role=_read_choice(own, "bdr_role", ("", "primary", "secondary")),
        integrity=checks,
        time_zone=time_zone,
        cluster_id=options.get("cluster_id") or "default",
        release=held,
        **read_options(ChangefeedConfig, None, root),
    )
    if storage is not None:
        config = replace(config, output_raw_change_event=storage.output_raw_change_event)
    limits = config.send_bootstrap_interval_in_sec, config.send_bootstrap_in_msg_count
    bootstraps = protocol.spec.bootstraps and protocol_text == protocol.value and min(limits) > 0
    config = replace(config, bootstrap_enabled=bootstraps)
    if config.output_raw_change_event and not (codec.output_old_value and protocol.spec.old_values):
        warn_of_option("output-raw-change-event without old values: consumers cannot see which row an update replaced")
    # last, after every option has been read
    _warn_unread(parameters, root, held, unknown)
    _warn_unknown_dispatchers(dispatchers)
    return config


def _read_choice(own: Section, name: str, choices: tuple[_Choice, ...]) -> _Choice:
    given = own.text(name)
    for choice in choices:
        if choice == (choices[0] if given is None else given):
            return choice
    shown = " or ".join(filter(None, choices))
    raise ConfigError(f"unknown {name} {given!r}", remedy=f"Give {shown}", option=f"ticdc-emit.{name}")


def _read_sql_mode(own: Section) -> str:
    given = own.text("sql_mode") or ""
    try:
        sql_mode_of(given)
    except SchemaError as error:
        raise ConfigError(error.message, remedy=error.remedy, option="ticdc-emit.sql_mode") from None
    return given


def _check_time_zone(time_zone: str) -> None:
    try:
        ZoneInfo(time_zone)
    except (OSError, ValueError, KeyError, TypeError):
        known = sorted(available_timezones())
        alike = [name for name in known if name.rpartition("/")[2].lower() == str(time_zone).lower()]
        hint = f"Did you mean {alike[0]}? " if alike else did_you_mean(str(time_zone), known)
        raise ConfigError(
            f"unknown time zone {time_zone!r}",
            remedy=f"{hint}Use an IANA name such as UTC or Asia/Shanghai",
            option="time_zone",
        ) from None


def _without_topics(
    dispatchers: tuple[DispatchRule, ...], selectors: tuple[ColumnSelector, ...], release: Release
) -> tuple[tuple[DispatchRule, ...], tuple[ColumnSelector, ...]]:
    """Return what a storage sink obeys of dispatchers, other names for tables, and of column selectors."""
    named = "target-schema" not in release.options.unknown
    kept = [replace(rule, topic="", partition="", columns=(), index="") for rule in dispatchers if named]
    if selectors and not release.storage.column_selectors:
        warn_of_option(f"column-selectors have no effect on a storage sink of {release.name}")
        selectors = ()
    return tuple(rule for rule in kept if rule.renames), selectors


def _check_atomicity(parameters: UriParameters, sink: Section, uri: SinkUri) -> None:
    """TiCDC's message queues have no transactions: only ``none`` passes."""
    in_file = sink.text("transaction-atomicity")
    level = parameters.text("transaction-atomicity") or in_file
    if level and level not in (("none", "table") if uri.stored else ("none",)):
        raise refused(
            "ErrSinkURIInvalid",
            f"sink uri invalid '{level} level atomicity is not supported by {uri.scheme} scheme'",
            option="transaction-atomicity",
            remedy="Remove it or set it to none",
        )


def _read_dispatchers(sink: Section, switches: OptionSwitches) -> tuple[DispatchRule, ...]:
    shows_targets = "target-schema" not in switches.unknown
    tables = sink.tables("dispatchers")
    rules = [DispatchRule(**read_options(DispatchRule, None, table)) for table in tables]
    for rule in rules:
        for option, text in (("target-schema", rule.target_schema), ("target-table", rule.target_table)):
            if not _TARGET.fullmatch(text):
                raise refused(
                    "ErrInvalidTableRoutingRule",
                    f"{option} {quote(text)} must contain only literal text, {{schema}}, and {{table}}",
                    option="dispatchers",
                    remedy="Remove other braces",
                )
    for place, (table, rule) in enumerate(zip(tables, rules, strict=True)):
        deprecated = table.text("dispatcher") or ""
        if deprecated and rule.partition:
            matcher, columns = (f"[{' '.join(names)}]" for names in (rule.matcher, rule.columns))
            shown = [matcher, deprecated, rule.partition, rule.index, columns, rule.topic]
            shown += [rule.target_schema, rule.target_table] if shows_targets else []
            raise refused(
                "ErrSinkInvalidConfig",
                "sink config invalid: dispatcher and partition cannot be configured both for "
                f"rule:&{{{' '.join(shown)}}}",
                option="dispatchers",
                remedy="Keep partition; dispatcher is its deprecated name",
            )
        rules[place] = replace(rule, partition=rule.partition or deprecated)
    return tuple(rules)


def _read_integrity(root: Section, override: bool | None) -> Integrity:
    table = root.at("integrity")
    level, handling = table.text("integrity-check-level"), table.text("corruption-handle-level")
    if override is not None:
        level = "correctness" if override else "none"
    level, handling = "none" if level is None else level, "warn" if handling is None else handling
    for option, value, values in (
        ("integrity-check-level", level, ("none", "correctness")),
        ("corruption-handle-level", handling, ("warn", "error")),
    ):
        if value not in values:
            # The reference leaves its template unfilled here.
            raise refused(
                "ErrInvalidReplicaConfig",
                "invalid replica config, %s",
                option=option,
                remedy=f"Set {option} to {' or '.join(values)}",
            )
    return Integrity(level, handling)


def _warn_unread(parameters: UriParameters, root: Section, release: Release, unknown: Mapping[str, str]) -> None:
    unread = [name for name in root.unread() if name not in unknown]
    ignored = [_answered(place, name) for place, name in unknown.items() if not name]
    places = [("sink URI", parameters.unread()), ("changefeed", unread + ignored)]
    listed = "; ".join(f"{place}: {printable(', '.join(names))}" for place, names in places if names)
    if listed:
        warn_of_option(f"Ignored options (unknown, or not used by this sink): {listed}")
    forgotten = dict.fromkeys([*parameters.forgotten(), *((place, name) for place, name in unknown.items() if name)])
    if forgotten:
        warn_of_option(
            f"Ignored options that {release.name} does not know: {'; '.join(_answered(*each) for each in forgotten)}"
        )


def _answered(place: str, forgotten: str) -> str:
    if forgotten:
        return f"{place} (known: {releases_with(lambda release: forgotten not in release.options.unknown)})"
    table, _, key = without_indices(place).rpartition(".")
    names = [name.rpartition(".") for name in sorted(_KNOWN)]
    meant = closest(key, [name for own, _, name in names if own == table])
    meant = meant or next((".".join(filter(None, (own, name))) for own, _, name in names if name == key), None)
    return printable(place) + (f" (did you mean {meant}?)" if meant else "")


def _warn_unknown_dispatchers(rules: tuple[DispatchRule, ...]) -> None:
    for name in dict.fromkeys(rule.partition for rule in rules):
        if name and to_lower(name) not in DISPATCHER_NAMES:
            hint = did_you_mean(name, DISPATCHER_NAMES) or f"Use one of: {', '.join(DISPATCHER_NAMES)}"
            warn_of_option(
                f"The partition dispatcher {name!r} is unknown: rows are spread by table, as in TiCDC. {hint.strip()}"
            )


def config_of(
    sink_uri: str | ChangefeedConfig,
    changefeed: str | os.PathLike[str] | Mapping[str, Any] | None,
    given: Mapping[str, Any],
    *,
    own_registry: bool = False,
    time_zone: str | None = None,
) -> ChangefeedConfig:
    """Return the configuration of a call: loaded with the ``given`` options, or a loaded one without any beside it."""
    options = {name: given[name] for name in LoadOptions.__annotations__ if given.get(name) is not None}
    if not isinstance(sink_uri, ChangefeedConfig):
        return load_changefeed(sink_uri, changefeed, own_registry=own_registry, **{"time_zone": time_zone} | options)
    if ignored := [*(["changefeed"] if changefeed is not None else ()), *options]:
        raise ConfigError(
            f"a loaded changefeed has its options already: {', '.join(ignored)} would be ignored",
            remedy="Give them to load_changefeed, or give a sink URI",
            option=ignored[0],
        )
    return sink_uri


def refuse_unknown(function: str, options: Mapping[str, Any], known: type) -> None:
    """Raise ``TypeError``, which names the ``function``, for an option that ``known`` does not have."""
    for name in options:
        if name not in known.__annotations__:
            hint = did_you_mean(name, known.__annotations__).strip()
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}. {hint}".rstrip(" ."))
