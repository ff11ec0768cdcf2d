"""The "TiCDC Avro Protocol" document: where it and TiCDC differ, and its options as tests.

Where the document's own text differs from what TiCDC registers and sends, the bytes win:

====================================================== ============================================== ==================
the document says                                      the bytes                                      seen in
====================================================== ============================================== ==================
FLOAT: AVRO_TYPE ``double``                            ``float``                                      floats
members ``name``, ``type`` ...; ``connect.parameters`` ``default``, ``name``, ``type``; ``type``      any
before ``type`` in a column                            before ``connect.parameters``
BIT: ``tidb_type`` before ``length``, ENUM and SET:    the other way round (sorted)                   bits, enums_sets
before ``allowed``
extension fields without a default                     ``""``, 0 and 0                                any
a column that can be NULL: ``"default":null`` and      so without a DEFAULT; with one, that is the    null_with_default
``["null", T]``                                        default and ``[T, "null"]`` the type
other columns have no default                          theirs, if they have a DEFAULT; YEAR always    primary_key_types
                                                       has one (0), precise DECIMAL never
``"tidb_type":"ENUM/SET"``                             ``ENUM`` or ``SET``                            enums_sets
``allowed`` is the elements with commas between        a comma inside an element is ``\\,``            enums_sets
DECIMAL's ``connect.parameters`` end in a comma, and   plain JSON, no white space                     decimals
so do lists of fields
VECTOR is not in the type table                        ``string``, ``TiDBVECTORFloat32``              vectors
keys hold "primary key columns or unique index         the handle key: the primary key, else one      handle_choice
columns"                                               unique index without NULLs
``_tidb_op`` of a delete not said                      a delete has a key and a null value            registry_refuses
defaults of the two handling modes not said            ``precise`` and ``long``                       options_protocol
topic rules without {schema} and {table} are refused   one topic for all tables is taken              any
"does not generate DDL events"                         so by default; avro-enable-watermark (a test   ddl_lifecycle
                                                       option) sends DDL and watermarks
row checksums not mentioned                            three more extension fields, and columns in    checksum_all_types
                                                       the order of their ids
``--schema-registry`` is a flag of ``cdc cli``         ``schema-registry``, also in the sink URI      (configuration)
====================================================== ============================================== ==================
"""

from __future__ import annotations

import pytest

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ConfigError, IncompatibleSchemaError
from ticdc_emit.registry.base import MemoryRegistry

_URI = "kafka://127.0.0.1:9092/topic-name?protocol=avro"
_REGISTRY = "http://127.0.0.1:8081"
_COMMIT_TS = 450000000262144000
_EXTENDED = "&enable-tidb-extension=true"


_TABLE = "create table test.t (id int primary key, name varchar(10), unique key u (name))"


@pytest.mark.parametrize("option", ["avro-decimal-handling-mode=exact", "avro-bigint-unsigned-handling-mode=precise"])
def test_other_modes_are_refused(option: str) -> None:
    with pytest.raises(ConfigError, match=option.partition("=")[0]):
        load_changefeed(f"{_URI}&{option}", schema_registry=_REGISTRY)


def test_no_ddl_and_no_watermarks() -> None:
    for options in ("", _EXTENDED):
        encoder = Encoder(_URI + options, _TABLE, registry=MemoryRegistry(), schema_registry=_REGISTRY)
        assert encoder.ddl("alter table test.t add column c int", _COMMIT_TS).num_rows == 0
        assert encoder.watermark(_COMMIT_TS + (1 << 18)).num_rows == 0


def test_a_schema_that_is_not_compatible_stops_the_changefeed() -> None:
    """The document's example: a column that cannot be NULL, under BACKWARD."""
    encoder = Encoder(_URI, _TABLE, registry=MemoryRegistry(reject="must"), schema_registry=_REGISTRY)
    encoder.encode([{"op": "c", "commit_ts": _COMMIT_TS, "after": {"id": 1, "name": "a"}}])
    encoder.ddl("alter table test.t add column must int not null", _COMMIT_TS + 1)
    with pytest.raises(IncompatibleSchemaError) as caught:
        encoder.encode([{"op": "c", "commit_ts": _COMMIT_TS + 2, "after": {"id": 2, "name": "b", "must": 5}}])
    assert caught.value.context["subject"] == "topic-name-value"


_RULE = "[sink]\ndispatchers = [ {matcher = ['*.*'], topic = \"tidb_{schema}_{table}\"}, ]\n"


@pytest.mark.parametrize("options", ["", _EXTENDED])
def test_the_documents_configuration(options: str) -> None:
    changefeed = load_changefeed(_URI + options, _RULE, schema_registry=_REGISTRY)
    assert changefeed.kafka.topic == "topic-name"
    assert changefeed.codec.enable_tidb_extension is bool(options)
    (rule,) = changefeed.dispatchers
    assert (rule.matcher, rule.topic) == (("*.*",), "tidb_{schema}_{table}")


def test_subjects_are_named_after_the_topic() -> None:
    registry = MemoryRegistry()
    uri = "kafka://127.0.0.1:9092/tidb.test.t?protocol=avro"
    encoder = Encoder(uri, _TABLE, registry=registry, schema_registry=_REGISTRY)
    encoder.encode([{"op": "c", "commit_ts": _COMMIT_TS, "after": {"id": 1, "name": "a"}}])
    assert [post.subject for post in registry.posts] == ["tidb_test_t-key", "tidb_test_t-value"]


def test_one_topic_for_all_tables_is_taken() -> None:
    fixed = "[sink]\ndispatchers = [{matcher = ['*.*'], topic = 'fixed'}]\n"
    assert load_changefeed(_URI, fixed, schema_registry=_REGISTRY).dispatchers[0].topic == "fixed"
    registry = MemoryRegistry()
    tables = "create table test.t (id int primary key); create table test.u (a int primary key)"
    encoder = Encoder(_URI, tables, registry=registry, schema_registry=_REGISTRY)
    for table, row in (("test.t", {"id": 1}), ("test.u", {"a": 1})):
        encoder.encode([{"op": "c", "commit_ts": _COMMIT_TS, "after": row}], table=table)
    assert [post.subject for post in registry.posts] == ["topic-name-key", "topic-name-value"] * 2
