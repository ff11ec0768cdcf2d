"""The "TiCDC Simple Protocol" document as tests: its examples, its type table, its options and its statements.

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

import io
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pytest
from vector_files import load_vector

from ticdc_emit import Encoder, restore_ddl
from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.bootstrap import BootstrapRules, Bootstraps
from ticdc_emit.pipeline.encode import encode_rows
from ticdc_emit.pipeline.plan import make_plan
from ticdc_emit.pipeline.python_rows import rows_to_batch
from ticdc_emit.protocols import codec_for
from ticdc_emit.protocols.simple.decoder import SimpleReader
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

_ROOT = Path(__file__).parents[2]
_VECTOR = load_vector("doc_simple_exact")
_MESSAGE = fastavro.parse_schema(json.loads((_ROOT / "schemas/simple_message.avsc").read_text(encoding="utf-8")))
_URI = "kafka://127.0.0.1:9092/topic-name?kafka-version=2.4.0"
_TOML = '[sink]\nprotocol = "simple"\n'
_CODEC = "[sink.kafka-config.codec-config]\n"
_SQL = "create table simple.user (id int primary key, name varchar(255), age int, score float)"


def _codec(encoding: str = "json") -> Any:
    return codec_for(load_changefeed(_URI, f'{_TOML}{_CODEC}encoding-format = "{encoding}"\n'))


def _table(sql: str, table_id: int = 148, version: int = 447984074911121426) -> TableInfo:
    (info,) = catalog_from_sql(sql).tables()
    return replace(info, id=table_id, update_ts=version)


def _rows(info: TableInfo, changes: Iterable[dict[str, Any]], build_ts: int = 7, encoding: str = "json") -> list[bytes]:
    changefeed = load_changefeed(_URI, f'{_TOML}{_CODEC}encoding-format = "{encoding}"\n')
    name = info.schema, info.name
    plan = make_plan(changefeed, {name: [(0, info)]}, {"topic-name": 1}, build_ts=build_ts)
    batch = rows_to_batch([{"commit_ts": 5, **change} for change in changes], info)
    made = encode_rows(batch, plan.table(*name), plan).encoded
    assert made.keys is None
    return [bytes(value) for value in made.values.to_pylist()]


def _compact(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


# --- the examples -----------------------------------------------------------------------------------------------------

_JOHN = {"id": 1, "name": "John Doe", "age": 25, "score": 90.5}
_SHOWN = {"age": "25", "id": "1", "name": "John Doe", "score": "90.5"}


def _column(name: str, kind: str, length: int, nullable: bool = True, charset: str = "binary") -> dict[str, Any]:
    collate = "utf8mb4_bin" if charset == "utf8mb4" else charset
    kinds = {"mysqlType": kind, "charset": charset, "collate": collate, "length": length}
    return {"name": name, "dataType": kinds, "nullable": nullable, "default": None}


_PRIMARY = {"name": "primary", "unique": True, "primary": True, "nullable": False, "columns": ["id"]}
_TABLE_SCHEMA: dict[str, Any] = {
    "schema": "simple",
    "table": "user",
    "tableID": 148,
    "version": 447984074911121426,
    "columns": [
        _column("id", "int", 11, nullable=False),
        _column("name", "varchar", 255, charset="utf8mb4"),
        _column("age", "int", 11),
        _column("score", "float", 12),
    ],
    "indexes": [_PRIMARY],
}
_ALTERED: dict[str, Any] = {
    **_TABLE_SCHEMA,
    "version": 447987408682614791,
    "columns": [*_TABLE_SCHEMA["columns"], _column("createTime", "timestamp", 19)],
}
_DDL = {
    "version": 1,
    "type": "ALTER",
    "sql": "ALTER TABLE `user` ADD COLUMN `createTime` TIMESTAMP",
    "commitTs": 447987408682614795,
    "buildTs": 1708936343598,
    "tableSchema": _ALTERED,
    "preTableSchema": _TABLE_SCHEMA,
}


def _dml(op: str, commit_ts: int, build_ts: int, **images: dict[str, str]) -> dict[str, Any]:
    return {
        "version": 1,
        "database": "simple",
        "table": "user",
        "tableID": 148,
        "type": op,
        "commitTs": commit_ts,
        "buildTs": build_ts,
        "schemaVersion": 447984074911121426,
        **images,
    }


_SCORED = {**_SHOWN, "score": "95"}
_INSERT = _dml("INSERT", 447984084414103554, 1708923662983, data=_SHOWN)
_UPDATE = _dml("UPDATE", 447984099186180098, 1708923719184, data=_SCORED, old=_SHOWN)
_DELETE = _dml("DELETE", 447984114259722243, 1708923776484, old=_SCORED)
_WATERMARK = {"version": 1, "type": "WATERMARK", "commitTs": 447984124732375041, "buildTs": 1708923816911}
_BOOTSTRAP = {
    "version": 1,
    "type": "BOOTSTRAP",
    "commitTs": 0,
    "buildTs": 1708924603278,
    "tableSchema": {**_TABLE_SCHEMA, "table": "new_user"},
}


def test_ddl_example() -> None:
    altered = _table(_SQL.removesuffix(")") + ", createTime timestamp null)", version=_ALTERED["version"])
    event = DdlEvent(
        action="add column",
        query=_DDL["sql"],
        schema="simple",
        table="user",
        commit_ts=_DDL["commitTs"],
        table_info=altered,
        pre_table_info=_table(_SQL),
    )
    message = _codec().ddl(event, _DDL["buildTs"])
    assert (message.key, message.value) == (None, _compact(_DDL))
    assert restore_ddl("alter table user add createTime timestamp") == _DDL["sql"]


@pytest.mark.parametrize(
    ("op", "before", "after", "document"),
    [
        ("c", None, _JOHN, _INSERT),
        ("u", _JOHN, {**_JOHN, "score": 95}, _UPDATE),
        ("d", {**_JOHN, "score": 95}, None, _DELETE),
    ],
)
def test_dml_examples(op: str, before: Any, after: Any, document: dict[str, Any]) -> None:
    change = {"op": op, "commit_ts": document["commitTs"], "before": before, "after": after}
    assert _rows(_table(_SQL), [change], document["buildTs"]) == [_compact(document)]


def test_watermark_example() -> None:
    message = _codec().watermark(_WATERMARK["commitTs"], _WATERMARK["buildTs"])
    assert (message.key, message.value) == (None, _compact(_WATERMARK))


def test_bootstrap_example() -> None:
    message = _codec().bootstrap(_table(_SQL.replace("user", "new_user")), _BOOTSTRAP["buildTs"])
    assert message.value == _compact(_BOOTSTRAP)


def test_the_examples_are_what_ticdc_sends() -> None:
    """The document's own numbers and names, put in the place of those of the run, make its messages."""
    variant = next(each for each in _VECTOR["variants"] if each["id"] == "simple-json")
    sent = [json.loads(message["value"]["text"]) for message in variant["messages"]]
    insert, update, delete, watermark, alter = sent[2:7]
    for real, document in ((insert, _INSERT), (update, _UPDATE), (delete, _DELETE), (watermark, _WATERMARK)):
        numbers = {name: document[name] for name in document if isinstance(document[name], int)}
        assert list(real) == list(document)
        assert {**real, **numbers} == document
    assert list(alter) == list(_DDL)
    for real, document in ((alter["tableSchema"], _ALTERED), (alter["preTableSchema"], _TABLE_SCHEMA)):
        assert list(real) == list(document)
        assert {**real, "tableID": 148, "version": document["version"]} == document
    assert alter["sql"] == "ALTER TABLE `simple`.`user` ADD COLUMN `createTime` TIMESTAMP"
    rename, bootstrap = sent[7:9]
    assert list(bootstrap) == list(_BOOTSTRAP)
    assert (bootstrap["type"], bootstrap["commitTs"], bootstrap["tableSchema"]["table"]) == ("BOOTSTRAP", 0, "new_user")
    # "the schema version number of a table does not change when RENAME TABLE is executed"
    assert rename["tableSchema"]["version"] == rename["preTableSchema"]["version"]
    assert rename["tableSchema"] == bootstrap["tableSchema"]


def test_column_and_index_definitions() -> None:
    message = json.loads(_codec().bootstrap(_table(_SQL), 7).value)
    schema = message["tableSchema"]
    assert (schema["columns"][0], schema["indexes"]) == (_TABLE_SCHEMA["columns"][0], [_PRIMARY])
    assert list(schema) == ["schema", "table", "tableID", "version", "columns", "indexes"]
    assert list(schema["columns"][0]) == ["name", "dataType", "nullable", "default"]
    assert list(schema["indexes"][0]) == ["name", "unique", "primary", "nullable", "columns"]


def _schema(sql: str, encoding: str = "json") -> Any:
    """Return the members of a BOOTSTRAP's schema, without the library."""
    value = _codec(encoding).bootstrap(_table(sql), 7).value
    if encoding == "json":
        return json.loads(value)["tableSchema"]
    read: Any = fastavro.schemaless_reader(io.BytesIO(value), _MESSAGE, None)
    return read["payload"]["tableSchema"]


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_indexes(encoding: str) -> None:
    schema = _schema(
        "create table d.t (a int not null, b int, unique key n (b), unique key u (a), key k (a, b))", encoding
    )
    shown = [
        (each["name"], each["unique"], each["primary"], each["nullable"], tuple(each["columns"]))
        for each in schema["indexes"]
    ]
    assert sorted(shown) == [
        ("k", False, False, True, ("a", "b")),
        ("n", True, False, True, ("b",)),
        ("primary", True, True, False, ("a",)),  # not in the document
        ("u", True, False, False, ("a",)),
    ]


@pytest.mark.parametrize(
    ("mysql", "json_default", "members"),
    [
        ("varchar(5) default 'x'", "x", {"length": 5}),
        ("int default 5", "5", {"length": 11}),
        ("int unsigned default 5", "5", {"length": 10, "unsigned": True}),
        ("bit(9) default b'101'", 5, {"length": 9, "unsigned": True}),
        ("decimal(5,2) default 1.50", "1.50", {"length": 5, "decimal": 2}),
        ("enum('a','b') default 'b'", "b", {"length": 1, "elements": ["a", "b"]}),
        ("int(5) zerofill", None, {"length": 5, "unsigned": True, "zerofill": True}),
        ("datetime(3)", None, {"length": 23, "decimal": 3}),
    ],
)
def test_data_type_and_default(mysql: str, json_default: Any, members: dict[str, Any]) -> None:
    (column,) = json.loads(_codec().bootstrap(_table(f"create table d.t (c {mysql})"), 7).value)["tableSchema"][
        "columns"
    ]
    assert column["default"] == json_default
    shown = {
        name: value for name, value in column["dataType"].items() if name not in ("mysqlType", "charset", "collate")
    }
    assert shown == members
    assert list(column["dataType"])[:3] == ["mysqlType", "charset", "collate"]


# --- message types ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["json", "avro"])
@pytest.mark.parametrize(
    ("sql", "kind", "schemas"),
    [
        ("create table d.t (id int primary key)", "CREATE", (True, False)),
        ("rename table d.u to d.v", "RENAME", (True, True)),
        ("alter table d.u add index k (a)", "CINDEX", (True, True)),
        ("alter table d.u drop index known", "DINDEX", (True, True)),
        ("drop table d.u", "ERASE", (True, True)),
        ("truncate table d.u", "TRUNCATE", (True, True)),
        ("alter table d.u add column b int", "ALTER", (True, True)),
        ("alter table d.u drop column b", "ALTER", (True, True)),
        ("alter table d.u modify column a bigint", "ALTER", (True, True)),
        ("create database other", "QUERY", (False, False)),
        ("drop database d", "QUERY", (False, False)),
        ("create view d.w as select id from d.u", "QUERY", (True, False)),
    ],
)
def test_ddl_types(sql: str, kind: str, schemas: tuple[bool, bool], encoding: Any) -> None:
    uri = f"memory://topic-name/?protocol=simple&encoding-format={encoding}"
    known = "create database d; create table d.u (id int primary key, a int, b int, key known (a))"
    sql = sql.replace("add column b", "add column c")
    sent = Encoder(uri, known, partitions=3, force_replicate=True).ddl(sql, 450000000262144000).to_pylist()
    assert [(message["partition"], message["key"]) for message in sent] == [(0, None), (1, None), (2, None)]
    (value,) = {message["value"] for message in sent}
    read: Any = SimpleReader(encoding).read(None, value)
    assert (read.message["type"], read.commit_ts) == (kind, 450000000262144000)
    text = "DROP TABLE `d`.`u`" if kind == "ERASE" else restore_ddl(sql)
    assert read.query == text
    assert tuple(read.message[name] is not None for name in ("tableSchema", "preTableSchema")) == schemas


def test_watermarks_go_to_all_partitions() -> None:
    sent = Encoder("memory://topic-name/?protocol=simple", _SQL, partitions=3).watermark(450000000262144000).to_pylist()
    assert [message["partition"] for message in sent] == [0, 1, 2]
    assert {json.loads(message["value"])["commitTs"] for message in sent} == {450000000262144000}


# --- the type table ---------------------------------------------------------------------------------------------------

_NAMESPACE = "com.pingcap.simple.avro."
_LONGEST = (1 << 64) - 1
# The mysqlType of the document, the type of the column, its value, its JSON text, its Avro branch and value.
_TYPES: list[tuple[str, str, Any, Any, str, Any]] = [
    ("tinyint", "tinyint", -128, "-128", "long", -128),
    ("tinyint unsigned", "tinyint unsigned", 255, "255", "long", 255),
    ("smallint", "smallint", 32767, "32767", "long", 32767),
    ("smallint unsigned", "smallint unsigned", 65535, "65535", "long", 65535),
    ("mediumint", "mediumint", -8388608, "-8388608", "long", -8388608),
    ("mediumint unsigned", "mediumint unsigned", 16777215, "16777215", "long", 16777215),
    ("int", "int", -2147483648, "-2147483648", "long", -2147483648),
    ("int unsigned", "int unsigned", 4294967295, "4294967295", "long", 4294967295),
    ("bigint", "bigint", -(1 << 63), str(-(1 << 63)), "long", -(1 << 63)),
    # the document: long, then string
    ("bigint unsigned", "bigint unsigned", (1 << 63) - 1, str((1 << 63) - 1), "UnsignedBigint", (1 << 63) - 1),
    ("bigint unsigned", "bigint unsigned", _LONGEST, str(_LONGEST), "UnsignedBigint", -1),
    ("float", "float", 0.1, "0.1", "float", 0.10000000149011612),
    ("double", "double", 0.1, "0.1", "double", 0.1),
    ("decimal", "decimal(10,4)", "-1.5", "-1.5000", "string", "-1.5000"),
    ("varchar", "varchar(5)", "é<", "é<", "string", "é<"),
    ("char", "char(5)", "é", "é", "string", "é"),
    ("varbinary", "varbinary(4)", b"\xff", "/w==", "bytes", b"\xff"),
    ("binary", "binary(3)", b"\xff", "/wAA", "bytes", b"\xff\0\0"),
    ("tinytext", "tinytext", "a", "a", "string", "a"),
    ("text", "text", "a", "a", "string", "a"),
    ("mediumtext", "mediumtext", "a", "a", "string", "a"),
    ("longtext", "longtext", "a", "a", "string", "a"),
    ("tinyblob", "tinyblob", b"a", "YQ==", "bytes", b"a"),
    ("blob", "blob", b"a", "YQ==", "bytes", b"a"),
    ("mediumblob", "mediumblob", b"a", "YQ==", "bytes", b"a"),
    ("longblob", "longblob", b"a", "YQ==", "bytes", b"a"),
    ("date", "date", "2024-05-05", "2024-05-05", "string", "2024-05-05"),
    ("datetime", "datetime", "2024-05-05 01:02:03", "2024-05-05 01:02:03", "string", "2024-05-05 01:02:03"),
    # the document: string
    (
        "timestamp", "timestamp", "2024-05-05 01:02:03", {"location": "UTC", "value": "2024-05-05 01:02:03"},
        "Timestamp", {"location": "UTC", "value": "2024-05-05 01:02:03"},
    ),
    ("time", "time", "-838:59:59", "-838:59:59", "string", "-838:59:59"),
    ("year", "year", 2024, "2024", "long", 2024),
    ("enum", "enum('a','b')", "b", "2", "long", 2),
    ("set", "set('a','b')", "a,b", "3", "long", 3),
    ("bit", "bit(10)", 513, "513", "long", 513),
    ("json", "json", '{"b":1,"a":[]}', '{"a": [], "b": 1}', "string", '{"a": [], "b": 1}'),
    ("bool", "bool", True, "1", "long", 1),
    ("vector", "vector(2)", [1, 0.5], "[1,0.5]", "string", "[1,0.5]"),  # not in the document
]  # fmt: skip


def _avro_cell(value: bytes) -> tuple[str, Any]:
    """Return branch and value of the column ``c`` of an INSERT."""
    read: Any = fastavro.schemaless_reader(io.BytesIO(value), _MESSAGE, None, return_record_name=True)
    cell = read[1]["payload"][1]["data"]["c"]
    if not isinstance(cell, tuple):
        return {int: "long", str: "string", bytes: "bytes", float: "floating"}[type(cell)], cell
    name, fields = cell
    return name.removeprefix(_NAMESPACE), fields if "location" in fields else fields["value"]


@pytest.mark.parametrize(("mysql_type", "sql", "value", "text", "branch", "avro"), _TYPES)
def test_type_table(mysql_type: str, sql: str, value: Any, text: Any, branch: str, avro: Any) -> None:
    info = _table(f"create table d.t (id int primary key, c {sql})")
    changes = [{"op": "c", "after": {"id": number, "c": given}} for number, given in enumerate((value, None))]
    cells = [json.loads(message)["data"]["c"] for message in _rows(info, changes)]
    assert cells == [text, None]
    shown, absent = (_rows(info, [change], encoding="avro")[0] for change in changes)
    found = _avro_cell(shown)
    assert found == ("floating" if branch in ("float", "double") else branch, avro)
    read: Any = fastavro.schemaless_reader(io.BytesIO(absent), _MESSAGE, None)
    assert read["payload"]["data"]["c"] is None
    name, _, sign = mysql_type.partition(" ")
    for encoding in ("json", "avro"):
        (column,) = _schema(f"create table d.t (c {sql})", encoding)["columns"]
        kind = column["dataType"]
        assert kind["mysqlType"] == {"bool": "tinyint"}.get(name, name)
        assert bool(kind.get("unsigned")) == (bool(sign) or name in ("bit", "year"))


def test_the_type_table_is_whole() -> None:
    document = """tinyint smallint mediumint int bigint float double decimal varchar char varbinary binary tinytext text
        mediumtext longtext tinyblob blob mediumblob longblob date datetime timestamp time year enum set bit json
        bool"""
    signed = {f"{name} unsigned" for name in ("tinyint", "smallint", "mediumint", "int", "bigint")}
    assert {mysql_type for mysql_type, *_ in _TYPES} == {*document.split(), *signed, "vector"}
    assert len(_TYPES) == 37  # the table's rows and VECTOR


# --- what the document does not say ----------------------------------------------------------------------------------


def _sent(case: str) -> list[dict[str, Any]]:
    """Return the JSON messages that TiCDC sent in a recorded case."""
    vector = load_vector(case)
    texts = [
        message["value"]["text"]
        for variant in vector["variants"]
        if variant["id"].startswith("simple") and "avro" not in variant["id"]
        for message in variant["messages"] or ()
        if "text" in (message.get("value") or ())
    ]
    return [json.loads(text) for text in texts if text.startswith("{")]


@pytest.mark.parametrize(
    ("case", "member", "shown"),
    [
        ("checksum_all_types", "checksum", ["version", "corrupted", "current", "previous"]),
        ("large_messages", "handleKeyOnly", True),
        ("large_messages", "claimCheckLocation", "file:///claims/00000000-0000-4000-8000-000000000000.json"),
    ],
)
def test_more_members_of_a_dml(case: str, member: str, shown: Any) -> None:
    found = [message[member] for message in _sent(case) if member in message]
    assert found
    assert all((list(each) if isinstance(each, dict) else each) == shown for each in found)


def test_rows_have_the_id_of_their_partition() -> None:
    messages = _sent("partitioned_table")
    tables = {message["tableSchema"]["tableID"] for message in messages if "tableSchema" in message}
    rows = {message["tableID"] for message in messages if "tableID" in message}
    assert len(rows) > 1
    assert not rows & tables


@pytest.mark.parametrize(
    ("case", "words"),
    [("ddl_partitions", "EXCHANGE PARTITION"), ("ddl_rest", "auto_id_cache"), ("ddl_rest", "remove ttl")],
)
def test_other_alterations_are_queries(case: str, words: str) -> None:
    assert {message["type"] for message in _sent(case) if words in message.get("sql", "")} == {"QUERY"}


# --- both encodings ---------------------------------------------------------------------------------------------------


def test_avro_messages_say_the_same() -> None:
    changes = [
        {"op": "c", "after": _JOHN},
        {"op": "u", "commit_ts": 6, "before": _JOHN, "after": {**_JOHN, "score": 95}},
        {"op": "d", "commit_ts": 7, "before": _JOHN},
    ]
    info = _table(_SQL)
    read_json, read_avro = SimpleReader("json").read, SimpleReader("avro").read
    for text, binary in zip(_rows(info, changes), _rows(info, changes, encoding="avro"), strict=True):
        one, other = read_json(b"", text), read_avro(b"", binary)
        assert replace(one, after=None, before=None) == replace(other, after=None, before=None)
    for make in ("watermark", "bootstrap"):
        given = (5, 7) if make == "watermark" else (info, 7)
        messages = [getattr(_codec(encoding), make)(*given).value for encoding in ("json", "avro")]
        assert read_json(None, messages[0]) == read_avro(None, messages[1])


def test_names_that_only_avro_has() -> None:
    fields = {
        each["name"].removeprefix(_NAMESPACE): [field["name"] for field in each["fields"]]
        for each in _MESSAGE  # type: ignore[index]
    }
    assert fields["TableSchema"] == ["database", "table", "tableID", "version", "columns", "indexes"]
    assert fields["Bootstrap"] == ["version", "buildTs", "tableSchema"]
    assert fields["Watermark"] == ["version", "commitTs", "buildTs"]


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


@pytest.mark.parametrize(
    ("options", "enabled"),
    [
        ("", True),
        ("send-bootstrap-interval-in-sec = 0\nsend-bootstrap-in-msg-count = 0\n", False),
        ("send-bootstrap-interval-in-sec = 0\n", False),  # the document: both
        ("send-bootstrap-in-msg-count = 0\n", False),
    ],
)
def test_bootstraps_can_be_switched_off(options: str, enabled: bool) -> None:
    assert BootstrapRules.of(load_changefeed(_URI, _TOML + options)).enabled is enabled


def _sent_at(options: str, rows: Iterable[tuple[int, int]], until: int) -> list[tuple[int, int]]:
    """Return the second and the number of partitions of each BOOTSTRAP; ``rows``: (second, count) of one table."""
    schedule, info = Bootstraps(BootstrapRules.of(load_changefeed(_URI, _TOML + options))), _table(_SQL)
    sent = []
    for second, count in rows:
        sent += schedule.rows(1, info, "topic-name", 3, second * 1_000, count)
    sent += schedule.advance(until * 1_000)
    return [(each.at_ms // 1_000, len(each.targets)) for each in sent]


def test_bootstraps_come_before_the_first_row_and_then_by_time() -> None:
    assert _sent_at("", [(2, 1)], 250) == [(2, 3), (125, 3), (245, 3)]


def test_bootstraps_come_by_the_number_of_rows() -> None:
    assert _sent_at("", [(2, 1), (3, 10_000)], 6) == [(2, 3), (5, 3)]
    assert _sent_at("", [(2, 10_000)], 6) == [(2, 3)]  # the first row is not counted
    assert _sent_at("send-bootstrap-in-msg-count = 5\n", [(2, 1), (3, 5)], 6) == [(2, 3), (5, 3)]
    assert _sent_at("send-bootstrap-interval-in-sec = 10\n", [(2, 1)], 30) == [(2, 3), (15, 3), (25, 3)]


def test_bootstraps_may_go_to_the_first_partition_only() -> None:
    assert _sent_at("send-bootstrap-to-all-partition = false\n", [(2, 1)], 130) == [(2, 1), (125, 1)]


def test_bootstraps_end_with_inactivity() -> None:
    sent = _sent_at("", [(0, 1)], 4_000)
    assert sent[-1][0] <= 1_830 < 1_800 + 120
    assert _sent_at("", [(0, 1), (4_000, 1)], 4_001)[-1] == (4_000, 3)  # until new rows come


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
