"""The options of TiCDC's storage sink: each with its default, its meaning and its checks. Units are in the names.

A new option is a field here and its use in ``storage/``. Options of the encoders count in both inputs, as TiCDC's sink
reads them; its server removes some from the file of a storage changefeed. Source: pingcap/tiflow
``pkg/sink/cloudstorage/config.go``, ``pkg/config/sink.go``; pingcap/ticdc ``pkg/cloudstorage/config.go``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from ticdc_emit.config.binding import UriParameters, declare, read_options
from ticdc_emit.config.document import GoSyntaxError, Section, parse_duration_ms, quote, refused, warn_of_option
from ticdc_emit.config.protocols import STORED, Protocol
from ticdc_emit.config.switches import CsvSwitches, OptionSwitches, StorageSwitches
from ticdc_emit.errors import ConfigError

STORAGE_TABLE = "sink.cloud-storage-config"
DateSeparator = Literal["none", "year", "month", "day"]
"""Which part of the date is a folder."""
MAX_BYTES = (1 << 63) - 1
"""The size limit of a row: no row is ever too large for a file."""

_DATE_SEPARATORS = ("none", "year", "month", "day")
_MOST_WORKERS, _MOST_FLUSH_MS, _MOST_FILE_BYTES = 512, 600_000, 512 << 20
LEAST_DIGITS, MOST_DIGITS = 6, 20
_CRLF = "\r\n"


def _storage_refused(cause: str, option: str, remedy: str) -> ConfigError:
    return refused("ErrStorageSinkInvalidConfig", f"storage sink config invalid: {cause}", option=option, remedy=remedy)


def _check_positive(key: str) -> Any:
    def check(number: int, switches: OptionSwitches) -> int:
        if number <= 0:
            cause = f"invalid {key} {number}, it must be greater than 0"
            raise _storage_refused(cause, key, "Give 1 or more")
        return number

    return check


def _read_workers(number: int, switches: OptionSwitches) -> int:
    workers: int = _check_positive("worker-count")(number, switches)
    return min(workers, _MOST_WORKERS)


def _within(option: str, value: int, least: int, most: int, unit: str) -> int:
    used = min(max(value, least), most)
    if used != value:
        warn_of_option(f"{option} is {used} {unit}, not {value}: TiCDC takes {least} to {most}")
    return used


def _read_flush_interval(text: str, switches: OptionSwitches) -> int:
    try:
        interval = parse_duration_ms(text)
    except GoSyntaxError as error:
        raise _storage_refused(str(error), "flush-interval", "Write a duration such as 5s") from None
    return _within("flush-interval", interval, switches.least_flush_ms, _MOST_FLUSH_MS, "ms")


def _read_file_size(size: int, switches: OptionSwitches) -> int:
    return _within("file-size", size, switches.least_file_bytes, _MOST_FILE_BYTES, "bytes")


def _check_folder(text: str, switches: OptionSwitches) -> str:
    if not text.startswith("/"):
        cause = f"invalid spool-base-dir {quote(text)}, it must be an absolute path"
        raise _storage_refused(cause, "spool-base-dir", "Give an absolute path")
    return text


@dataclass(frozen=True)
class StorageConfig:
    """The options of a storage sink. Those of its workers and its spool change no file and are only checked."""

    worker_count: int = declare(16, "worker-count", STORAGE_TABLE, reader="storage", parse=_read_workers)
    flush_interval_ms: int = declare(
        5_000, "flush-interval", STORAGE_TABLE, reader="storage", kind=str, parse=_read_flush_interval
    )
    """How long rows wait at most until they are in a file."""
    file_size: int = declare(64 << 20, "file-size", STORAGE_TABLE, reader="storage", parse=_read_file_size)
    """The bytes of rows at which a file ends, after the transaction that reaches them."""
    flush_concurrency: int = declare(1, "flush-concurrency", STORAGE_TABLE, in_uri=False)
    output_column_id: bool = declare(False, "output-column-id", STORAGE_TABLE, in_uri=False)
    """Whether schema files show the ids of columns."""
    output_raw_change_event: bool = declare(False, "output-raw-change-event", STORAGE_TABLE, in_uri=False)
    use_table_id_as_path: bool = declare(False, "use-table-id-as-path", STORAGE_TABLE)
    """Whether the folder of a table is named after its id."""
    spool_disk_quota: int = declare(
        10 << 30, "spool-disk-quota", STORAGE_TABLE, reader="storage", parse=_check_positive("spool-disk-quota")
    )
    spool_base_dir: str = declare("", "spool-base-dir", STORAGE_TABLE, parse=_check_folder)
    enable_partition_separator: bool = declare(True, "enable-partition-separator", "sink", in_uri=False)
    """Whether each partition of a table has a folder of its own."""
    file_index_digit: int = declare(20, "file-index-digit", "sink", in_uri=False)
    """The digits of the number in a file's name."""
    enable_table_across_nodes: bool = declare(False, "enable-table-across-nodes", "scheduler", in_uri=False)
    """Whether the names of files contain the id of the dispatcher that wrote them."""
    date_separator: DateSeparator = "day"


def refuse_unstored(protocol: Protocol, scheme: str) -> None:
    """Raise :class:`~ticdc_emit.errors.ConfigError` for a protocol whose rows are never files."""
    if not protocol.spec.stored:
        messages = ". For messages as lines of JSON, write jsonl:// instead of file://" if scheme == "file" else ""
        raise refused(
            "ErrSinkUnknownProtocol",
            f"unknown '{protocol}' message protocol for sink",
            option="protocol",
            remedy=f"A storage sink has {' or '.join(STORED)}{messages}",
        )


def read_storage(
    uri: UriParameters, root: Section, protocol: Protocol, switches: StorageSwitches, csv: CsvSwitches
) -> StorageConfig:
    """Read and validate the options of a storage sink, and warn of those that make other files than they seem to."""
    given = read_options(StorageConfig, uri, root)
    given["date_separator"] = _read_date_separator(root)
    config = StorageConfig(**given)
    if not 1 <= config.flush_concurrency <= _MOST_WORKERS:
        config = replace(config, flush_concurrency=1)
    if not LEAST_DIGITS <= config.file_index_digit <= MOST_DIGITS:
        if config.file_index_digit:
            warn_of_option(f"file-index-digit is {MOST_DIGITS}: TiCDC takes {LEAST_DIGITS} to {MOST_DIGITS}")
        config = replace(config, file_index_digit=MOST_DIGITS)
    if not config.enable_partition_separator and switches.numbers == "from-index":
        warn_of_option(
            "enable-partition-separator is false: the partitions of a table share a folder, and in this release their "
            "files have the same names, so that one overwrites the other (tiflow#11979)"
        )
    if protocol is Protocol.CSV and csv.handle_keys == "left-out" and root.at("sink.csv").boolean("output-handle-key"):
        warn_of_option("output-handle-key has no effect in this release: CSV lines lack the handle key")
    if root.at("sink").boolean("delete-only-output-handle-key-columns") and protocol is Protocol.CSV:
        raise refused(
            "ErrSinkInvalidConfig",
            "sink config invalid: CSV protocol always output all columns for the delete event, "
            "do not set `delete-only-output-handle-key-columns` to true",
            option="delete-only-output-handle-key-columns",
            remedy="Remove it",
        )
    return config


def read_terminator(root: Section) -> str:
    """Return the text after each row. An empty one in the file counts: then rows run together."""
    text = root.at("sink").text("terminator")
    return _CRLF if text is None else text


def _read_date_separator(root: Section) -> DateSeparator:
    text = root.at("sink").text("date-separator") or "day"
    if text.lower() not in _DATE_SEPARATORS:
        raise refused(
            "ErrStorageSinkInvalidDateSeparator",
            f"date separator in storage sink is invalid%!(EXTRA string={text})",
            option="date-separator",
            remedy=f"Use one of: {', '.join(_DATE_SEPARATORS)}",
        )
    if text not in _DATE_SEPARATORS:
        warn_of_option(
            f"The date separator {text!r} means none: paths have no date, as in TiCDC. Write it in lower case"
        )
        return "none"
    return cast("DateSeparator", text)
