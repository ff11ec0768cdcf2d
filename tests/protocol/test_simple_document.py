"""The "TiCDC Simple Protocol" document: where it and TiCDC differ, and its options as tests.

The statements of the document were run through TiCDC (``doc_simple_exact`` of ``tests/vectors``). Where the
document's own text differs from the bytes that TiCDC sends, the bytes win:

================================================== ============================================== =====================
the document says                                  the bytes                                      seen in
================================================== ============================================== =====================
mysqlType ``tinyint unsigned`` ...                 ``tinyint`` ... with ``unsigned``: true        integers_unsigned
mysqlType ``bool``                                 ``tinyint`` of length 1                        type_aliases
bigint unsigned is an Avro ``long``, from 2^63 on  always a record ``UnsignedBigint`` of one      integers_unsigned
``string``                                         ``long``, which wraps from 2^63 on
timestamp is a ``string``                          JSON: an object, Avro: a record ``Timestamp``, times_utc
                                                   of ``location`` and ``value``
``default`` is a String                            a BIT's is a number, in Avro its raw bytes     bits
VECTOR is not in the type table                    ``vector``, a ``string``                       vectors
values of JSON messages not said                   text or null; base64 for binary types, the     binaries, enums_sets
                                                   number of an ENUM, the bit mask of a SET
dataType is name, charset, collation and length    also ``decimal``, ``elements``, ``unsigned``,  doc_simple_exact,
                                                   ``zerofill``; a length of 0 is left out        decimals, enums_sets
DML members                                        also ``checksum``, ``handleKeyOnly``,          checksum_all_types,
                                                   ``claimCheckLocation``                         large_messages
all DDL but CREATE have ``preTableSchema``         not those of databases, nor CREATE VIEW        ddl_rest
every DDL has ``tableSchema``                      not those of databases                         ddl_lifecycle
other ALTER TABLE statements are ALTER             EXCHANGE PARTITION and options such as         ddl_partitions,
                                                   ``auto_id_cache`` are QUERY                    ddl_rest
``tableID`` is the ID of the table                 in a DML, that of the row's partition          partitioned_table
a primary index is a primary key                   also, as ``primary``, the first unique index   unique_not_null_handle
                                                   without NULLs of a table without primary key
the fields of both encodings are the same          Avro: TableSchema has ``database``, BOOTSTRAP  doc_simple_exact
                                                   no ``commitTs``, only DECIMAL a ``decimal``
"TiCDC sends DDL events to the corresponding       DML events; DDL go to all partitions           (routing)
partition" (of DML)
set both bootstrap options to 0 to disable         one is enough                                  (configuration)
a BOOTSTRAP every 120 seconds or 10000 messages    looked at every 5 s; the first row is not      (schedule)
                                                   counted; idle tables go on for 30 minutes
``send-all-bootstrap-at-start`` is not mentioned   an option, off by default                      (configuration)
================================================== ============================================== =====================
"""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.deliver.bootstrap import BootstrapRules
from ticdc_emit.protocols import codec_for

_URI = "kafka://127.0.0.1:9092/topic-name?kafka-version=2.4.0"
_TOML = '[sink]\nprotocol = "simple"\n'
_CODEC = "[sink.kafka-config.codec-config]\n"
_SQL = "create table simple.user (id int primary key, name varchar(255), age int, score float)"


_JOHN = {"id": 1, "name": "John Doe", "age": 25, "score": 90.5}


# --- configuration ----------------------------------------------------------------------------------------------------


def test_the_documents_configuration() -> None:
    changefeed = load_changefeed(
        _URI,
        _TOML
        + "send-bootstrap-interval-in-sec = 120\nsend-bootstrap-in-msg-count = 10000\n"
        + f'send-bootstrap-to-all-partition = true\n{_CODEC}encoding-format = "json"\n',
    )
    assert changefeed.kafka.topic == "topic-name"
    assert (changefeed.codec.protocol.value, changefeed.codec.encoding_format) == ("simple", "json")
    stated = BootstrapRules.of(changefeed)
    assert stated == BootstrapRules.of(load_changefeed(_URI, _TOML))  # they are the defaults
    assert (stated.interval_ms, stated.message_count, stated.to_all_partitions) == (120_000, 10_000, True)
    assert (stated.idle_ms, stated.at_start) == (30 * 60_000, False)


def test_encoding_formats() -> None:
    assert load_changefeed(_URI, _TOML).codec.encoding_format == "json"
    assert load_changefeed(_URI, f'{_TOML}{_CODEC}encoding-format = "avro"\n').codec.encoding_format == "avro"
    assert load_changefeed(f"{_URI}&protocol=simple&encoding-format=avro").codec.encoding_format == "avro"
    with pytest.raises(ConfigError, match="encoding"):
        load_changefeed(_URI, f'{_TOML}{_CODEC}encoding-format = "protobuf"\n')


# --- message consumption ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_a_consumer_from_the_beginning_and_from_the_middle(encoding: Any) -> None:
    encoder = Encoder(
        f"memory://topic-name/?protocol=simple&encoding-format={encoding}",
        "create database simple",
        force_replicate=True,
    )
    insert = {"op": "c", "commit_ts": 450000000524288000, "after": _JOHN}
    batches = [encoder.ddl(_SQL, 450000000262144000), encoder.encode([insert], table="simple.user")]
    batches.append(encoder.ddl("alter table simple.user add column city varchar(9)", 450000000786432000))
    later = {"op": "c", "commit_ts": 450000001048576000, "after": {**_JOHN, "id": 2, "city": "x"}}
    batches.append(encoder.encode([later], table="simple.user"))
    sent = [
        Message("topic-name", 0, 0, message["key"], message["value"])
        for each in batches
        for message in each.to_pylist()
    ]

    whole = ReferenceConsumer(encoder.config)
    whole.take_all(sent)
    whole.finish()
    texts = {"id": "1", "name": "John Doe", "age": "25", "score": "90.5"}
    rows = {("1",): {**texts, "city": None}, ("2",): {**texts, "id": "2", "city": "x"}}
    assert whole.tables == {("simple", "user"): rows}
    (info,) = encoder.catalog.tables()
    shown = codec_for(encoder.config).bootstrap(info, 7)
    assert shown is not None
    for bootstrapped in (False, True):
        joined = ReferenceConsumer(encoder.config)
        joined.take(sent[-1])
        if bootstrapped:
            joined.take(Message("topic-name", 0, 0, shown.key, shown.value))
        joined.finish()
        assert joined.tables == ({("simple", "user"): {("2",): rows["2",]}} if bootstrapped else {})
        assert joined.skipped == (not bootstrapped)
