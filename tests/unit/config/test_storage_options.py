"""The options of storage sinks: TiCDC's defaults, bounds and refusals, by lineage."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from ticdc_emit.config import RELEASES, ChangefeedConfig, ConfigWarning, Protocol, load_changefeed
from ticdc_emit.config.storage import StorageConfig
from ticdc_emit.errors import ConfigError

URI = "s3://bucket/folder?protocol=canal-json"


def load(more: str = "", changefeed: Any = None, release: str = "next", uri: str = URI) -> ChangefeedConfig:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConfigWarning)
        return load_changefeed(uri + more, changefeed, release=release)


def storage(more: str = "", changefeed: Any = None, release: str = "next") -> StorageConfig:
    options = load(more, changefeed, release).storage
    assert options is not None
    return options


def refusal(more: str = "", changefeed: Any = None, release: str = "next", uri: str = URI) -> str:
    with pytest.raises(ConfigError) as refused:
        load(more, changefeed, release, uri)
    return refused.value.message


def of_table(**options: Any) -> dict[str, Any]:
    return {"sink": {"cloud-storage-config": {name.replace("_", "-"): value for name, value in options.items()}}}


def test_defaults() -> None:
    config = load()
    assert config.storage == StorageConfig()
    assert (config.codec.rows_only, config.codec.terminator, config.codec.max_message_bytes) == (
        True,
        "\r\n",
        (1 << 63) - 1,
    )
    assert load(uri="kafka://h:9092/t?protocol=canal-json").storage is None


def test_uri_and_file() -> None:
    given = of_table(worker_count=3, flush_interval="2s", file_size=2_000_000, output_column_id=True)
    read = storage("&worker-count=2&file-size=3000000", given)
    assert (read.worker_count, read.flush_interval_ms, read.file_size) == (2, 2_000, 3_000_000)
    assert read.output_column_id


@pytest.mark.parametrize(
    ("more", "release", "name", "value"),
    [
        ("&worker-count=600", "next", "worker_count", 512),
        ("&flush-interval=1ms", "next", "flush_interval_ms", 100),
        ("&flush-interval=1ms", "classic", "flush_interval_ms", 2_000),
        ("&flush-interval=11m", "classic", "flush_interval_ms", 600_000),
        ("&file-size=-1", "next", "file_size", 1024),
        ("&file-size=1", "classic", "file_size", 1 << 20),
        ("&file-size=99999999999", "next", "file_size", 512 << 20),
    ],
)
def test_bounds(more: str, release: str, name: str, value: int) -> None:
    if name == "worker_count":  # which changes no file
        assert storage(more, release=release).worker_count == value
        return
    with pytest.warns(ConfigWarning, match=f"{name.removesuffix('_ms').replace('_', '-')} is {value} (ms|bytes), not"):
        options = load_changefeed(URI + more, release=release).storage
    assert getattr(options, name) == value


@pytest.mark.parametrize("digits", [5, 21])
def test_digits_beyond_their_bounds(digits: int) -> None:
    with pytest.warns(ConfigWarning, match="file-index-digit is 20: TiCDC takes 6 to 20"):
        options = load_changefeed(URI, {"sink": {"file-index-digit": digits}}, release="next").storage
    assert options.file_index_digit == 20


def test_no_digits_are_those_of_the_default() -> None:
    assert storage("", {"sink": {"file-index-digit": 0}}).file_index_digit == 20


def test_partitions_that_overwrite_each_other_are_told() -> None:
    shared = {"sink": {"enable-partition-separator": False}}
    assert not storage("", shared, "next").enable_partition_separator
    with pytest.warns(ConfigWarning, match="one overwrites the other"):
        load_changefeed(URI, shared, release="classic")


def test_handle_keys_that_no_line_has_are_told() -> None:
    handles = {"sink": {"csv": {"output-handle-key": True}}}
    uri = "s3://bucket/folder?protocol=csv"
    assert load("", handles, "classic", uri).codec.csv.output_handle_key
    with pytest.warns(ConfigWarning, match="output-handle-key has no effect"):
        load_changefeed(uri, handles, release="next")


def test_a_date_separator_counts_only_in_lower_case() -> None:
    with pytest.warns(ConfigWarning, match="'Day' means none"):
        config = load_changefeed(URI, {"sink": {"date-separator": "Day"}})
    assert config.storage.date_separator == "none"


def test_options_without_effect() -> None:
    with pytest.warns(ConfigWarning, match="not used by this sink.*file-expiration-days"):
        load_changefeed(URI, of_table(file_cleanup_cron_spec="x y", file_expiration_days=1))


def test_every_release_has_csv() -> None:
    assert Protocol.CSV.releases == tuple(RELEASES)


def test_options_of_encoders_count_and_those_of_kafka_do_not() -> None:
    queues = {"sink": {"content-compatible": True, "kafka-config": {"partition-num": 7}}}
    with pytest.warns(ConfigWarning, match="partition-num"):
        config = load_changefeed(URI, queues)
    assert (config.codec.content_compatible, config.kafka.partition_num) == (True, 1)
    assert load("&content-compatible=true").codec.content_compatible


def test_dispatchers_and_column_selectors() -> None:
    rules = {"dispatchers": [{"matcher": ["a.*"], "topic": "x"}, {"matcher": ["b.*"], "target-schema": "c"}]}
    selectors = {"column-selectors": [{"matcher": ["a.*"], "columns": ["id"]}]}
    config = load("", {"sink": rules | selectors})
    assert [rule.matcher for rule in config.dispatchers] == [("b.*",)]
    assert len(config.column_selectors) == 1
    with pytest.warns(ConfigWarning, match="column-selectors have no effect"):
        config = load_changefeed(URI, {"sink": rules | selectors}, strict=False)
    assert (config.dispatchers, config.column_selectors) == ((), ())


def test_raw_changes_have_their_own_option() -> None:
    assert load("", of_table(output_raw_change_event=True)).output_raw_change_event
