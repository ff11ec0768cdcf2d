"""The reference consumer against the truth: every protocol and its main options, in the order of partitions or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from delivered import (
    HISTORY,
    LARGE,
    PLAIN,
    ROWS_ONLY,
    ZONE,
    config_of,
    consumer_of,
    interleaved,
    messages_of,
    redelivered,
    ts,
)

from ticdc_emit.protocols.events import DecodeError, RowEvent
from ticdc_emit.traffic.history import History

EXT = "&enable-tidb-extension=true"
WAITING = [
    f"protocol=canal-json{EXT}",
    f"protocol=canal-json{EXT}&only-output-updated-columns=true",
    f"protocol=canal-json{EXT}&content-compatible=true",
    "protocol=simple",
    "protocol=simple&encoding-format=avro",
    f"protocol=debezium{EXT}",
    f"protocol=debezium{EXT}&debezium-disable-schema=true",
]
ARRIVING = [
    "protocol=canal-json",
    "protocol=canal-json&content-compatible=true",
    "protocol=debezium",
    "protocol=debezium&debezium-disable-schema=true",
]
AVRO = [
    "protocol=avro",
    f"protocol=avro{EXT}",
    f"protocol=avro{EXT}&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string",
]
FILES = [
    (f"protocol=canal-json{EXT}", "[sink]\ndelete-only-output-handle-key-columns = true\n"),
    ("protocol=simple", "[sink]\ndelete-only-output-handle-key-columns = true\n"),
    (f"protocol=debezium{EXT}", "[sink.debezium]\noutput-old-value = false\n"),
    ("protocol=simple", "[integrity]\nintegrity-check-level = 'correctness'\n"),
    (AVRO[2], "[integrity]\nintegrity-check-level = 'correctness'\n"),
    (f"protocol=canal-json{EXT}", "[sink]\ndispatchers = [{matcher = ['*.*'], partition = 'index-value'}]\n"),
    (
        "protocol=simple",
        "[sink]\ndispatchers = [{matcher = ['*.*'], topic = 'cdc_{schema}_{table}', partition = 'ts'}]\n",
    ),
]


def _same(history: History, uri: str, changefeed: str | None = None, *, seed: int | None = 0) -> None:
    config = config_of(uri, changefeed)
    messages, schemas = messages_of(history, config)
    consumer = consumer_of(history, config, schemas)
    consumer.take_all(messages if seed is None else interleaved(redelivered(messages, seed), seed))
    consumer.finish()
    assert consumer.tables == history.tables()
    assert consumer.skipped == 0


@pytest.mark.parametrize("uri", WAITING)
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_rows_and_ddl(uri: str, seed: int | None) -> None:
    _same(HISTORY, uri, seed=seed)


@pytest.mark.parametrize("uri", WAITING)
def test_columns_are_in_table_order(uri: str) -> None:
    config = config_of(uri)
    messages, _ = messages_of(HISTORY, config)
    consumer = consumer_of(HISTORY, config)
    consumer.take_all(messages)
    consumer.finish()
    assert {tuple(row) for row in consumer.tables["test", "pair"].values()} == {("added", "a", "b", "w")}
    assert {tuple(row) for row in consumer.tables["test", "t"].values()} == {
        tuple(name for name in PLAIN if name != "doc")
    }


@pytest.mark.parametrize("uri", ARRIVING)
def test_rows_and_ddl_as_they_arrive(uri: str) -> None:
    config = config_of(uri, partitions=1)
    messages, _ = messages_of(HISTORY, config)
    for seed in (None, 1, 2):
        consumer = consumer_of(HISTORY, config)
        consumer.take_all(messages if seed is None else redelivered(messages, seed))
        consumer.finish()
        assert consumer.tables == HISTORY.tables()


@pytest.mark.parametrize("uri", ARRIVING + AVRO)
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_rows_as_they_arrive(uri: str, seed: int | None) -> None:
    _same(ROWS_ONLY, uri, seed=seed)


@pytest.mark.parametrize(("uri", "changefeed"), FILES)
def test_options_of_the_changefeed_file(uri: str, changefeed: str) -> None:
    _same(ROWS_ONLY if "avro" in uri else HISTORY, uri, changefeed)


@pytest.mark.parametrize("compression", ["snappy", "lz4"])
@pytest.mark.parametrize("uri", [WAITING[0], WAITING[3], WAITING[4], WAITING[5]])
def test_compression(uri: str, compression: str) -> None:
    file = f"[sink.kafka-config.large-message-handle]\nlarge-message-handle-compression = '{compression}'\n"
    _same(ROWS_ONLY, uri, file)


def _large(option: str, rest: str = "") -> str:
    head = "[sink.kafka-config.large-message-handle]\n"
    return f"{head}large-message-handle-option = '{option}'\n{rest}"


@pytest.mark.parametrize("raw", ["true", "false"])
@pytest.mark.parametrize("uri", [WAITING[0], WAITING[3], WAITING[4]])
def test_claim_check(uri: str, raw: str, tmp_path: Path) -> None:
    rest = f"claim-check-storage-uri = 'file://{tmp_path}'\nclaim-check-raw-value = {raw}\n"
    config = config_of(f"{uri}&max-message-bytes=3000", _large("claim-check", rest), time_zone="UTC")
    messages, _ = messages_of(LARGE, config)
    consumer = consumer_of(LARGE, config)
    consumer.take_all(messages)
    assert consumer.tables == LARGE.tables()
    assert any(tmp_path.iterdir())


@pytest.mark.parametrize("uri", [WAITING[0], WAITING[3], WAITING[4]])
def test_handle_key_only(uri: str) -> None:
    config = config_of(f"{uri}&max-message-bytes=3000", _large("handle-key-only"), time_zone="UTC")
    messages, _ = messages_of(LARGE, config)
    rows = {(row["commit_ts"], row["after"]["id"]): row["after"] for row in LARGE.rows}
    asked = []

    def whole(event: RowEvent) -> dict[str, str | None]:
        asked.append(event)
        return rows[event.commit_ts, str(event.after["id"])]

    consumer = consumer_of(LARGE, config, lookup=whole)
    consumer.take_all(messages)
    assert consumer.tables == LARGE.tables()
    assert len(asked) == 4

    consumer = consumer_of(LARGE, config)
    with pytest.raises(DecodeError, match="only the handle key"):
        consumer.take_all(messages)


def test_a_checksum_that_the_schema_makes_doubtful() -> None:
    """``allowed`` is ``a\\,b``: one element with a comma, or two of which the first ends with a backslash."""
    row = {"schema": "test", "table": "t", "op": "c", "commit_ts": ts(1), "before": None}
    rows = [{**row, "after": {"id": "1", "e": "b"}}]
    history = History(r"create table test.t (id int primary key, e enum('a\\','b'))", rows, (), time_zone=ZONE)
    _same(history, AVRO[2], "[integrity]\nintegrity-check-level = 'correctness'\n", seed=None)


def test_an_enum_whose_first_label_has_a_comma_is_added() -> None:
    """Rows that were there have the first label, which ``allowed`` shows as ``a\\,b``."""
    row = {"schema": "test", "table": "t", "op": "c", "before": None}
    rows = [
        {**row, "commit_ts": ts(1), "after": {"id": "1"}},
        {**row, "commit_ts": ts(3), "after": {"id": "2", "e": "c"}},
    ]
    ddl = ((ts(2), "alter table test.t add column e enum('a,b','c') not null"),)
    _same(History("create table test.t (id int primary key)", rows, ddl, time_zone=ZONE), AVRO[1], seed=None)
