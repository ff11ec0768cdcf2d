"""The "TiCDC Debezium Protocol" document as tests: its examples, its options, its notes on types and its statements.

Where the document's own text differs from what TiCDC sends, the bytes win:

====================================================== ============================================== ==================
the document says                                      the bytes                                      seen in
====================================================== ============================================== ==================
key of a row: ``"optional":true``                      ``false``: a handle key has no NULLs           cluster_id
key of a row: ``fields`` first, ``type`` last          ``type``, ``name``, ``optional``, ``fields``   any
value of a row: ``op`` before ``before``, ``after``    so; a DELETE has ``after`` before ``before``   any
keys hold "primary key or unique index columns"        the handle key; none: an empty payload         no_primary_key
``schema.version`` is text                             a number                                       any
DDL: ``schema.name`` is                                ``io.debezium.connector.mysql.                 any
``{cluster}.{schema}.{table}.SchemaChangeValue``       SchemaChangeValue``
DDL: ``source`` in the schema is ``field`` first       ``type`` first, as in the schema of a row      any
RENAME: ``id`` is ``"test"."table2","test"."table1"``  the old name first                             rename_tables
INT: ``"length":0``                                    null                                           cluster_id
``"defaultCharsetName":""``                            the table's, say ``utf8mb4``                   cluster_id
``primaryKeyColumnNames`` is text                      a list of texts                                any
``enumValues`` is ``['e1','e2']``                      a list of texts with quotes: ``["'e1'"]``      doc_debezium_notes
ENUM ``("c,\\'d','g,''h")`` becomes                    a quote inside stays single: ``'g,'h'``;       doc_debezium_notes
``('c,'d', 'g,''h')``                                  a comma in ``allowed`` is ``\\,``
TIME default '1000-00-00 01:00:00.000' becomes         tableChanges show it whole; it means one hour  doc_debezium_notes
"1000-00-00"
utf8_unicode_ci: no ``charsetName``                    ``utf8``                                       doc_debezium_notes
FLOAT: wrong flen                                      null, unless digits of the fraction are given; doc_debezium_notes
                                                       FLOAT(p > 24) is DOUBLE                        floats
every DDL is an event                                  not foreign keys, TTL, shard bits, auto-id     ddl_rest
                                                       cache
DDL and WATERMARK events from v9.0.0 on                already before                                 watermarks
DATE, DATETIME that do not exist not said              NULL; in a NOT NULL column 0                   times_ny
years below 100 not said                               0069 is 2069, 0070 is 1970                     times_partial_zero
TIMESTAMP before 1970-01-01 00:00:01 not said          1970-01-01T00:00:00Z; as TiCDC compares them,  times_ny: zeros
                                                       by the changefeed's clocks
NULL in a column with a DEFAULT not said               the default                                    null_with_default
BIGINT UNSIGNED not said                               wraps: 18446744073709551615 is -1              doc_debezium
``output-old-value`` not mentioned                     false: an UPDATE has no ``before`` at all      doc_debezium
``source`` has commit_ts and cluster_id                its schema has neither, but ``sequence``,      any
                                                       which no payload has
====================================================== ============================================== ==================
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from vector_files import load_vector

from ticdc_emit import Encoder, restore_ddl
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import SchemaError
from ticdc_emit.tso import physical_ms

_URI = "kafka://127.0.0.1:9092/topic-name?kafka-version=2.4.0&protocol=debezium"
_EXTENDED = "&enable-tidb-extension=true"
_NO_SCHEMA = "&debezium-disable-schema=true"
_BUILD_MS = 1701326309000
_CLUSTER = "test_cluster"
_COMMIT_TS = 450000000262144000


class _Sent:
    """What a changefeed sends: its keys and values as JSON, each with the bytes that it came from."""

    def __init__(self, sql: str, options: str = "", toml: str | None = None, zone: str = "UTC") -> None:
        named: dict[str, Any] = {"cluster_id": _CLUSTER, "time_zone": zone}
        self.encoder = Encoder(_URI + options, sql, changefeed=toml, build_ts=_BUILD_MS, force_replicate=True, **named)
        self.raw: list[tuple[bytes, bytes]] = []

    def change(self, op: str, before: Any = None, after: Any = None, commit_ts: int = _COMMIT_TS) -> None:
        row = {"op": op, "commit_ts": commit_ts, "before": before, "after": after}
        self._take(self.encoder.encode([row]).to_pylist())

    def ddl(self, query: str, commit_ts: int = _COMMIT_TS) -> int:
        """Return the number of messages; one of them is kept."""
        return self._copies(self.encoder.ddl(query, commit_ts).to_pylist())

    def watermark(self, ts: int) -> int:
        return self._copies(self.encoder.watermark(ts).to_pylist())

    def _copies(self, made: list[dict[str, Any]]) -> int:
        assert len({(message["key"], message["value"]) for message in made}) <= 1
        assert [message["partition"] for message in made] == list(range(len(made)))
        self._take(made[:1])
        return len(made)

    def _take(self, made: list[dict[str, Any]]) -> None:
        self.raw += [(message["key"], message["value"]) for message in made]

    @property
    def keys(self) -> list[Any]:
        return [json.loads(key) for key, _ in self.raw]

    @property
    def values(self) -> list[Any]:
        return [json.loads(value) for _, value in self.raw]

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The columns of the last DDL's table."""
        (change,) = self.values[-1]["payload"]["tableChanges"]
        return list(change["table"]["columns"])


def _inserted(sql: str, row: dict[str, Any], options: str = "", toml: str | None = None, zone: str = "UTC") -> _Sent:
    sent = _Sent(sql, options, toml, zone)
    sent.change("c", after=row)
    return sent


def _row_fields(value: dict[str, Any]) -> list[dict[str, Any]]:
    before, after = value["schema"]["fields"][:2]
    assert (before["field"], after["field"], before["fields"]) == ("before", "after", after["fields"])
    return list(after["fields"])


def _created(columns: str, table: str = "test.table1") -> _Sent:
    sent = _Sent("create database if not exists test")
    sent.ddl(f"create table {table} ({columns})")
    return sent


# --- the examples -----------------------------------------------------------------------------------------------------


def _source(table: str, commit_ts: int, db: str = "test") -> dict[str, Any]:
    return {
        "version": "2.4.0.Final", "connector": "TiCDC", "name": _CLUSTER, "ts_ms": 0, "snapshot": "false", "db": db,
        "table": table, "server_id": 0, "gtid": None, "file": "", "pos": 0, "row": 0, "thread": 0, "query": None,
        "commit_ts": commit_ts, "cluster_id": _CLUSTER,
    }  # fmt: skip


def _leaves(kinds: str) -> list[dict[str, Any]]:
    """Return fields written as ``name type``, with a question mark behind those that are optional."""
    words = [each.split() for each in kinds.split(",")]
    return [{"type": kind.rstrip("?"), "optional": kind.endswith("?"), "field": name} for name, kind in words]


_SNAPSHOT = {
    "type": "string", "optional": True, "name": "io.debezium.data.Enum", "version": 1,
    "parameters": {"allowed": "true,last,false,incremental"}, "default": "false", "field": "snapshot",
}  # fmt: skip
_SOURCE_SCHEMA = {
    "type": "struct",
    "fields": [
        *_leaves("version string,connector string,name string,ts_ms int64"),
        _SNAPSHOT,
        *_leaves("db string,sequence string?,table string?,server_id int64,gtid string?,file string,pos int64"),
        *_leaves("row int32,thread int64?,query string?"),
    ],
    "optional": False,
    "name": "io.debezium.connector.mysql.Source",
    "field": "source",
}
_TRANSACTION = {
    "type": "struct",
    "fields": _leaves("id string,total_order int64,data_collection_order int64"),
    "optional": True,
    "name": "event.block",
    "version": 1,
    "field": "transaction",
}
_ENVELOPE = [_SOURCE_SCHEMA, *_leaves("op string,ts_ms int64?"), _TRANSACTION]


def test_key_of_a_row() -> None:
    sent = _inserted("create table test.table1 (tiny tinyint primary key)", {"tiny": 1})
    assert sent.keys == [
        {
            "payload": {"tiny": 1},
            "schema": {
                "fields": [{"field": "tiny", "optional": False, "type": "int16"}],  # the document: true
                "name": "test_cluster.test.table1.Key",
                "optional": False,
                "type": "struct",
            },
        }
    ]


def test_value_of_a_row() -> None:
    sent = _Sent("create table test.table1 (tiny tinyint)")
    sent.change("u", {"tiny": 2}, {"tiny": 1}, commit_ts=1)
    image = {
        "type": "struct",
        "optional": True,
        "name": "test_cluster.test.table1.Value",
        "fields": [{"type": "int16", "optional": True, "field": "tiny"}],
    }
    assert sent.values == [
        {
            "payload": {
                "source": _source("table1", 1),
                "ts_ms": _BUILD_MS,
                "transaction": None,
                "op": "u",
                "before": {"tiny": 2},
                "after": {"tiny": 1},
            },
            "schema": {
                "type": "struct",
                "optional": False,
                "name": "test_cluster.test.table1.Envelope",
                "version": 1,
                "fields": [{**image, "field": "before"}, {**image, "field": "after"}, *_ENVELOPE],
            },
        }
    ]


def _texts(field: str, optional: bool = True) -> dict[str, Any]:
    return {"field": field, "optional": optional, "type": "array", "items": {"type": "string", "optional": False}}


_COLUMN_SCHEMA = {
    "name": "io.debezium.connector.schema.Column",
    "optional": False,
    "type": "struct",
    "version": 1,
    "fields": [
        *_leaves("name string,jdbcType int32,nativeType int32?,typeName string,typeExpression string?"),
        *_leaves("charsetName string?,length int32?,scale int32?,position int32,optional boolean?"),
        *_leaves("autoIncremented boolean?,generated boolean?,comment string?,defaultValueExpression string?"),
        _texts("enumValues"),
    ],
}
_TABLE_SCHEMA = {
    "field": "table",
    "optional": True,
    "type": "struct",
    "name": "io.debezium.connector.schema.Table",
    "version": 1,
    "fields": [
        *_leaves("defaultCharsetName string?"),
        _texts("primaryKeyColumnNames"),
        {"field": "columns", "optional": False, "type": "array", "items": _COLUMN_SCHEMA},
        *_leaves("comment string?"),
    ],
}
_CHANGE_SCHEMA = {
    "name": "io.debezium.connector.schema.Change",
    "optional": False,
    "type": "struct",
    "version": 1,
    "fields": [*_leaves("type string,id string"), _TABLE_SCHEMA],
}
_DDL_SCHEMA = {
    "optional": False,
    "type": "struct",
    "version": 1,
    "name": "io.debezium.connector.mysql.SchemaChangeValue",
    "fields": [
        _SOURCE_SCHEMA,
        *_leaves("ts_ms int64,databaseName string?,schemaName string?,ddl string?"),
        {"field": "tableChanges", "optional": False, "type": "array", "items": _CHANGE_SCHEMA},
    ],
}
_RENAME = "RENAME TABLE test.table1 to test.table2"


def test_ddl() -> None:
    sent = _Sent("create table test.table1 (id int primary key)")
    sent.ddl(_RENAME, commit_ts=1)
    key_schema = {
        "type": "struct",
        "name": "io.debezium.connector.mysql.SchemaChangeKey",
        "optional": False,
        "version": 1,
        "fields": [{"field": "databaseName", "optional": False, "type": "string"}],
    }
    assert sent.keys == [{"payload": {"databaseName": "test"}, "schema": key_schema}]
    column = {
        "name": "id", "jdbcType": 4, "nativeType": None, "comment": None, "defaultValueExpression": None,
        "enumValues": None, "typeName": "INT", "typeExpression": "INT", "charsetName": None,
        "length": None,  # the document: 0
        "scale": None, "position": 1, "optional": False, "autoIncremented": False, "generated": False,
    }  # fmt: skip
    table = {
        "defaultCharsetName": "utf8mb4",  # the document: empty
        "primaryKeyColumnNames": ["id"],
        "columns": [column],
        "comment": None,
    }
    change = {"type": "ALTER", "id": '"test"."table1","test"."table2"', "table": table}  # the document: table2 first
    assert sent.values == [
        {
            "payload": {
                "source": _source("table2", 1),  # the document: table1
                "ts_ms": _BUILD_MS,
                "databaseName": "test",
                "schemaName": None,
                "ddl": restore_ddl(_RENAME),  # the document: _RENAME itself
                "tableChanges": [change],
            },
            "schema": _DDL_SCHEMA,
        }
    ]


def test_watermark() -> None:
    sent = _Sent("create table test.table1 (tiny tinyint)", _EXTENDED)
    sent.watermark(3)
    key_schema = {"fields": [], "optional": False, "name": "test_cluster.watermark.Key", "type": "struct"}
    assert sent.keys == [{"payload": {}, "schema": key_schema}]
    assert sent.values == [
        {
            "payload": {"source": _source("", 3, db=""), "op": "m", "ts_ms": _BUILD_MS, "transaction": None},
            "schema": {
                "type": "struct",
                "optional": False,
                "name": "test_cluster.watermark.Envelope",
                "version": 1,
                "fields": _ENVELOPE,
            },
        }
    ]


def test_order_of_members() -> None:
    sent = _Sent("create table test.table1 (tiny tinyint primary key)")
    for op, before, after in (("c", None, {"tiny": 1}), ("u", {"tiny": 1}, {"tiny": 1}), ("d", {"tiny": 1}, None)):
        sent.change(op, before, after)
    assert all(list(part) == ["payload", "schema"] for part in (*sent.keys, *sent.values))
    assert list(sent.keys[0]["schema"]) == ["type", "name", "optional", "fields"]
    shared = ["source", "ts_ms", "transaction", "op"]
    orders = [list(value["payload"]) for value in sent.values]
    assert orders == [[*shared, "before", "after"]] * 2 + [[*shared, "after", "before"]]


# --- events -----------------------------------------------------------------------------------------------------------


def test_ddl_and_watermarks_go_to_every_partition() -> None:
    sent = _Sent("create table test.table1 (tiny tinyint)", f"{_EXTENDED}&partition-num=5")
    assert (sent.ddl("alter table test.table1 add column a int"), sent.watermark(_COMMIT_TS + 1)) == (5, 5)


@pytest.mark.parametrize("options", ["", "&enable-tidb-extension=false"])
def test_watermarks_need_the_extension(options: str) -> None:
    sent = _Sent("create table test.table1 (tiny tinyint)", options)
    assert sent.watermark(_COMMIT_TS) == 0
    assert sent.ddl("alter table test.table1 add column a int", _COMMIT_TS + 1) > 0  # DDL does not


def test_operations() -> None:
    """``op`` of the three changes; ``before`` of an INSERT and ``after`` of a DELETE are null."""
    sent, row = _Sent("create table test.table1 (tiny tinyint primary key)", _NO_SCHEMA), {"tiny": 1}
    for op, before, after in (("c", None, row), ("u", row, row), ("d", row, None)):
        sent.change(op, before, after)
    payloads = [value["payload"] for value in sent.values]
    shown = [(payload["op"], payload["before"], payload["after"]) for payload in payloads]
    assert shown == [("c", None, row), ("u", row, row), ("d", row, None)]


@pytest.mark.parametrize("options", ["", _EXTENDED])
def test_source(options: str) -> None:
    """CommitTs and ClusterID are there with and without the extension, in the payload only."""
    sent = _inserted("create table `my-db`.`Tb` (a int)", {"a": 1}, options)
    source, value = sent.values[0]["payload"]["source"], sent.values[0]
    assert (source["commit_ts"], source["cluster_id"], source["name"]) == (_COMMIT_TS, _CLUSTER, _CLUSTER)
    assert source["ts_ms"] == physical_ms(_COMMIT_TS)
    assert (source["db"], source["table"]) == ("my-db", "Tb")
    assert value["payload"]["ts_ms"] == _BUILD_MS
    (schema,) = [field for field in value["schema"]["fields"] if field["field"] == "source"]
    told = {field["field"] for field in schema["fields"]}
    assert (set(source) - told, told - set(source)) == ({"commit_ts", "cluster_id"}, {"sequence"})


@pytest.mark.parametrize(
    ("table", "prefix"),
    [
        ("`test`.`t`", "test_cluster.test.t"),
        ("`my-db`.`t`", "test_cluster.my_db.t"),
        ("`1db`.`order items`", "test_cluster._1db.order_items"),
    ],
)
def test_schema_names(table: str, prefix: str) -> None:
    """``{cluster-name}.{schema-name}.{table-name}.Key`` and ``.Envelope``."""
    sent = _inserted(f"create table {table} (a int primary key)", {"a": 1})
    assert sent.keys[0]["schema"]["name"] == f"{prefix}.Key"
    assert sent.values[0]["schema"]["name"] == f"{prefix}.Envelope"
    assert {each["name"] for each in sent.values[0]["schema"]["fields"][:2]} == {f"{prefix}.Value"}


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("(a int, b int not null, c int, primary key (c, a))", {"a", "c"}),
        ("(a int, b int not null, c int not null, unique key (a), unique key (c))", {"c"}),
        ("(a int, b int, c int, unique key (a))", set()),
    ],
)
def test_key_columns(table: str, key: set[str]) -> None:
    sent = _inserted(f"create table test.t {table}", {"a": 1, "b": 2, "c": 3})
    assert set(sent.keys[0]["payload"]) == key
    assert {field["field"] for field in sent.keys[0]["schema"]["fields"]} == key
    assert not any(field["optional"] for field in sent.keys[0]["schema"]["fields"])


def test_columns_of_a_table() -> None:
    columns = "id int auto_increment primary key, d decimal(10,4) default 1.5, e enum('e1','e2') charset latin1"
    (shown, *others) = _created(f"{columns}, v varchar(9) not null comment 'said'").columns
    assert (shown["autoIncremented"], shown["generated"], shown["optional"]) == (True, True, False)
    told = [
        "position",
        "jdbcType",
        "length",
        "scale",
        "optional",
        "defaultValueExpression",
        "enumValues",
        "charsetName",
    ]
    assert [[column[name] for name in told] for column in others] == [
        [2, 3, 10, 4, True, "1.5", None, None],
        [3, 1, 1, None, True, None, ["'e1'", "'e2'"], "latin1"],
        [4, 12, 9, None, False, None, None, "utf8mb4"],
    ]
    assert [column["comment"] for column in others] == [None] * 3  # that of a column that the statement defines


@pytest.mark.parametrize(
    ("query", "changes"),
    [
        ("create table test.b (id int primary key)", [("CREATE", '"test"."b"', True)]),
        ("alter table test.a add column c int", [("ALTER", '"test"."a"', True)]),
        ("alter table test.a add index (x)", [("ALTER", '"test"."a"', True)]),
        ("rename table test.a to test.b", [("ALTER", '"test"."a","test"."b"', True)]),
        ("drop table test.a", [("DROP", '"test"."a"', False)]),
        ("truncate table test.a", []),
        ("create database d", []),
        ("drop database test", []),
    ],
)
def test_kinds_of_table_changes(query: str, changes: list[tuple[str, str, bool]]) -> None:
    sent = _Sent("create table test.a (id int primary key, x int)")
    assert sent.ddl(query) > 0
    payload = sent.values[0]["payload"]
    assert [(each["type"], each["id"], each["table"] is not None) for each in payload["tableChanges"]] == changes
    assert payload["ddl"] == restore_ddl(query)
    assert payload["databaseName"] == payload["source"]["db"] == sent.keys[0]["payload"]["databaseName"]


@pytest.mark.parametrize(
    "query",
    [
        "alter table test.a add constraint f foreign key (x) references test.a (id)",
        "alter table test.a ttl = `d` + interval 1 day",
        "alter table test.a shard_row_id_bits = 4",
        "alter table test.a auto_id_cache 100",
    ],
)
def test_ddl_that_is_not_sent(query: str) -> None:
    sent = _Sent("create table test.a (id int, x int, d datetime, key (x), unique key (id))")
    assert sent.ddl(query) == 0


# --- options ----------------------------------------------------------------------------------------------------------


def test_the_documents_configuration() -> None:
    changefeed = load_changefeed(_URI)
    assert (changefeed.kafka.topic, changefeed.codec.protocol.value) == ("topic-name", "debezium")


@pytest.mark.parametrize(
    ("options", "toml"),
    [(_NO_SCHEMA, None), ("", "[sink]\ndebezium-disable-schema = true\n"), (_NO_SCHEMA + _EXTENDED, None)],
)
def test_no_schema(options: str, toml: str | None) -> None:
    """``debezium-disable-schema`` in the sink URI or the configuration file; payloads stay as they are."""
    messages = []
    for settings in (("", None), (options, toml)):
        sent = _inserted("create table test.table1 (tiny tinyint primary key)", {"tiny": 1}, *settings)
        sent.ddl("alter table test.table1 add column a int", _COMMIT_TS + 1)
        messages.append([*sent.keys, *sent.values])
    assert messages[1] == [{"payload": message["payload"]} for message in messages[0]]


def test_no_schema_of_a_watermark() -> None:
    sent = _Sent("create table test.table1 (tiny tinyint)", _NO_SCHEMA + _EXTENDED)
    assert sent.watermark(_COMMIT_TS) > 0
    assert (list(sent.keys[0]), list(sent.values[0])) == (["payload"], ["payload"])


@pytest.mark.parametrize(
    ("mysql", "tidb_type"),
    [
        ("tinyint", "tinyint"), ("tinyint(1)", "tinyint"), ("int unsigned", "int unsigned"), ("bigint", "bigint"),
        ("varchar(5)", "varchar"), ("varbinary(5)", "varbinary"), ("char(5)", "char"), ("binary(5)", "binary"),
        ("text", "text"), ("blob", "blob"), ("decimal(5,2) unsigned", "decimal"), ("float unsigned", "float unsigned"),
        ("real", "double"), ("year", "year"), ("bit(3)", "bit"), ("json", "json"), ("enum('a')", "enum"),
        ("set('a')", "set"), ("date", "date"), ("datetime", "datetime"), ("timestamp", "timestamp"), ("time", "time"),
        ("vector", "vector"),
    ],
)  # fmt: skip
def test_tidb_type(mysql: str, tidb_type: str) -> None:
    """It stands in ``schema.fields[1].fields[n]``, and is there with the extension only."""
    table = f"create table test.t (c {mysql} null)"
    (with_extension,) = _row_fields(_inserted(table, {"c": None}, _EXTENDED).values[0])
    (without,) = _row_fields(_inserted(table, {"c": None}).values[0])
    assert with_extension == {"tidb_type": tidb_type, **without}
    assert next(iter(with_extension)) == "tidb_type"
    assert "tidb_type" not in without


@pytest.mark.parametrize(("toml", "there"), [("true", True), ("false", False)])
def test_old_values(toml: str, there: bool) -> None:
    sent, row = _Sent("create table test.t (a int)", "", f"[sink.debezium]\noutput-old-value = {toml}\n"), {"a": 1}
    for op, before, after in (("c", None, row), ("u", row, row), ("d", row, None)):
        sent.change(op, before, after)
    assert ["before" in value["payload"] for value in sent.values] == [True, there, True]
    assert sent.values[2]["payload"]["before"] == row


# --- data types -------------------------------------------------------------------------------------------------------

_SCHEMAS = {
    "Bits": {"type": "bytes", "name": "io.debezium.data.Bits", "version": 1, "parameters": {"length": "10"}},
    "Enum": {"type": "string", "name": "io.debezium.data.Enum", "version": 1, "parameters": {"allowed": "a,b"}},
    "EnumSet": {"type": "string", "name": "io.debezium.data.EnumSet", "version": 1, "parameters": {"allowed": "a,b"}},
    "Vector": {"type": "string", "name": "io.debezium.data.TiDBVectorFloat32"},
}


def _time(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "name": f"io.debezium.time.{name}", "version": 1}


_BYTES = b"\0a\xff"
_BASE64 = base64.b64encode(_BYTES).decode()
_TYPES: list[tuple[str, dict[str, Any], Any, Any]] = [
    ("tinyint", {"type": "int16"}, -128, -128),
    ("tinyint unsigned", {"type": "int16"}, 255, 255),
    ("boolean", {"type": "int16"}, True, 1),
    ("smallint", {"type": "int16"}, -32768, -32768),
    ("smallint unsigned", {"type": "int32"}, 65535, 65535),
    ("mediumint", {"type": "int32"}, -8388608, -8388608),
    ("int", {"type": "int32"}, -2147483648, -2147483648),
    ("int unsigned", {"type": "int64"}, 4294967295, 4294967295),
    ("bigint", {"type": "int64"}, -(1 << 63), -(1 << 63)),
    ("bigint unsigned", {"type": "int64"}, (1 << 64) - 1, -1),
    ("bit(1)", {"type": "boolean"}, 1, True),
    ("bit(10)", _SCHEMAS["Bits"], 513, base64.b64encode(b"\x01\x02").decode()),
    ("float", {"type": "float"}, 5.61, 5.61),
    ("float(7,2)", {"type": "double"}, 5.61, 5.61),
    ("float(30)", {"type": "double"}, 5.61, 5.61),
    ("double", {"type": "double"}, 0.1, 0.1),
    ("real", {"type": "double"}, 0.1, 0.1),
    ("decimal(20,2)", {"type": "double"}, "123456789012345678.99", 123456789012345678.99),
    ("numeric(12,3)", {"type": "double"}, "-1.5", -1.5),
    ("char(4)", {"type": "string"}, "é<", "é<"),
    ("varchar(4)", {"type": "string"}, "é<", "é<"),
    ("text", {"type": "string"}, "é<", "é<"),
    ("binary(3)", {"type": "string"}, _BYTES, _BASE64),
    ("varbinary(4)", {"type": "string"}, _BYTES, _BASE64),
    ("varchar(4) charset binary", {"type": "string"}, _BYTES, _BASE64),
    ("tinyblob", {"type": "string"}, _BYTES, _BASE64),
    ("blob", {"type": "string"}, _BYTES, _BASE64),
    ("mediumblob", {"type": "string"}, _BYTES, _BASE64),
    ("longblob", {"type": "string"}, _BYTES, _BASE64),
    ("enum('a','b')", _SCHEMAS["Enum"], "b", "b"),
    ("set('a','b')", _SCHEMAS["EnumSet"], "a,b", "a,b"),
    (
        "json",
        {"type": "string", "name": "io.debezium.data.Json", "version": 1},
        '{"b":1,"a":1.0}',
        '{"a": 1.0, "b": 1}',
    ),
    ("vector(2)", _SCHEMAS["Vector"], "[1,0.5]", "[1,0.5]"),
    ("date", _time("int32", "Date"), "1970-01-02", 1),
    ("datetime", _time("int64", "Timestamp"), "1970-01-01 00:00:01", 1000),
    ("datetime(3)", _time("int64", "Timestamp"), "1970-01-01 00:00:01.5", 1500),
    ("datetime(6)", _time("int64", "MicroTimestamp"), "1970-01-01 00:00:01.5", 1500000),
    ("timestamp(3)", _time("string", "ZonedTimestamp"), "2024-05-05 01:02:03.5", "2024-05-05T01:02:03.500Z"),
    ("time(2)", _time("int64", "MicroTime"), "-00:00:01.5", -1500000),
    ("year", _time("int32", "Year"), 2024, 2024),
]


@pytest.mark.parametrize(("mysql", "schema", "value", "shown"), _TYPES)
def test_types(mysql: str, schema: dict[str, Any], value: Any, shown: Any) -> None:
    sent = _Sent(f"create table test.t (c {mysql} null)")
    for given in (value, None):
        sent.change("c", after={"c": given})
    (field,) = _row_fields(sent.values[0])
    assert field == {**schema, "optional": True, "field": "c"}
    cells = [row["payload"]["after"]["c"] for row in sent.values]
    assert cells == [shown, None]
    assert isinstance(cells[0], bool) == isinstance(shown, bool)
    required = _inserted(f"create table test.t (c {mysql} not null)", {"c": value}).values[0]
    (named,) = _row_fields(required)
    assert {name: part for name, part in named.items() if name != "default"} == {**field, "optional": False}


@pytest.mark.parametrize(
    ("mysql", "value", "shown"),
    [
        ("date", "0000-00-00", (None, 0)),
        ("date", "2024-00-00", (None, 0)),
        ("date", "0069-12-31", (36524, 36524)),  # 2069
        ("date", "0070-01-01", (0, 0)),  # 1970
        ("date", "0099-12-31", (10956, 10956)),  # 1999
        ("date", "0100-01-01", (-683003, -683003)),
        ("datetime", "0000-00-00 00:00:00", (None, 0)),
        ("datetime", "0069-12-31 00:00:00", (36524 * 86_400_000,) * 2),
        ("timestamp", "0000-00-00 00:00:00", ("1970-01-01T00:00:00Z",) * 2),
        ("timestamp(3)", "1969-12-31 19:00:02.5", ("1970-01-01T00:00:00Z",) * 2),  # New York's, not before 1970 in UTC
        ("timestamp", "1970-01-01 00:00:00", ("1970-01-01T00:00:00Z",) * 2),
        ("timestamp", "1970-01-01 00:00:01", ("1970-01-01T05:00:01Z",) * 2),
        ("timestamp(1)", "2024-07-01 00:00:00.5", ("2024-07-01T04:00:00.5Z",) * 2),
    ],
)
def test_moments_at_the_edge(mysql: str, value: str, shown: tuple[Any, Any]) -> None:
    """In a column that can be NULL, and in one that cannot."""
    cells = []
    for null in ("null", "not null"):
        sent = _inserted(f"create table test.t (c {mysql} {null})", {"c": value}, zone="America/New_York")
        cells.append(sent.values[0]["payload"]["after"]["c"])
    assert tuple(cells) == shown


@pytest.mark.parametrize("kind", ["geometry", "point", "linestring", "polygon", "geometrycollection"])
def test_no_spatial_types(kind: str) -> None:
    with pytest.raises(SchemaError):
        _Sent(f"create table test.t (c {kind})")


def test_floats_are_the_shortest_text() -> None:
    """Debezium prints 5.610000133514404, TiCDC does not."""
    sent = _inserted("create table test.t (c float)", {"c": 5.61})
    assert b'"after":{"c":5.61}' in sent.raw[0][1]


def test_real_and_boolean() -> None:
    columns = _created("r real, b boolean").columns
    shown = [(column["typeName"], column["jdbcType"], column["length"]) for column in columns]
    assert shown == [("DOUBLE", 8, None), ("TINYINT", 5, 1)]


@pytest.mark.parametrize("kind", ["blob", "text", "json"])
def test_no_defaults_of_large_columns(kind: str) -> None:
    sent = _inserted(f"create table test.t (c {kind})", {"c": None})
    assert "default" not in _row_fields(sent.values[0])[0]
    assert _created(f"c {kind}").columns[0]["defaultValueExpression"] is None


def test_elements_of_an_enum() -> None:
    (column,) = _created(r"e enum('c,\'d','g,''h')").columns
    assert column["enumValues"] == ["'c,'d'", "'g,'h'"]
    (field,) = _row_fields(_inserted(r"create table test.t (e enum('c,\'d','g,''h'))", {"e": "c,'d"}).values[0])
    assert field["parameters"] == {"allowed": r"c\,'d,g\,'h"}


def test_a_time_default_with_a_date() -> None:
    definition = "c time default '1000-00-00 01:00:00.000'"
    (column,) = _created(definition).columns
    assert column["defaultValueExpression"] == "1000-00-00 01:00:00.000"
    sent = _inserted(f"create table test.t ({definition})", {"c": None})
    assert (_row_fields(sent.values[0])[0]["default"], sent.values[0]["payload"]["after"]["c"]) == (3_600_000_000,) * 2


def test_charset_of_a_collation() -> None:
    (column,) = _created("c varchar(9) collate utf8_unicode_ci").columns
    assert column["charsetName"] == "utf8"


@pytest.mark.parametrize(
    ("mysql", "length", "scale"),
    [("float", None, None), ("float(10)", None, None), ("float(30)", None, None), ("float(7,4)", 7, 4)],
)
def test_length_of_a_float(mysql: str, length: int | None, scale: int | None) -> None:
    (column,) = _created(f"c {mysql}").columns
    assert (column["length"], column["scale"]) == (length, scale)


@pytest.mark.parametrize(
    ("definition", "default", "null"),
    [("int default 5", 5, 5), ("varchar(9) default 'x'", "x", "x"), ("year default 2023", 2023, "2023")],
)
def test_a_null_is_the_default(definition: str, default: Any, null: Any) -> None:
    sent = _inserted(f"create table test.t (c {definition})", {"c": None})
    assert (_row_fields(sent.values[0])[0]["default"], sent.values[0]["payload"]["after"]["c"]) == (default, null)


# --- the real bytes of what the document gets wrong -------------------------------------------------------------------


def _recorded(case: str, variant: str) -> str:
    vector = load_vector(case)
    messages = next(each for each in vector["variants"] if each["id"] == variant)["messages"]
    parts = [message[part]["text"] for message in messages if "value" in message for part in ("key", "value")]
    return "\n".join(parts)


@pytest.mark.parametrize(
    ("case", "variant", "text"),
    [
        ("cluster_id", "debezium", '"optional":false,"fields":[{"type":"int16","optional":false,"field":"tiny"}]'),
        ("no_primary_key", "debezium", '{"payload":{},"schema":{"type":"struct","name":'),
        ("cluster_id", "debezium", '"version":1,"name":"io.debezium.connector.mysql.SchemaChangeValue"'),
        ("rename_tables", "debezium-noschema", r'"id":"\"test\".\"m1\",\"d2\".\"n1\""'),
        ("cluster_id", "debezium", '"charsetName":null,"length":null,"scale":null'),
        ("cluster_id", "debezium", '"defaultCharsetName":"utf8mb4","primaryKeyColumnNames":["tiny"]'),
        ("doc_debezium_notes", "debezium", r""""enumValues":["'c,'d'","'g,'h'","'i\\j'"]"""),
        ("doc_debezium_notes", "debezium", r'''"allowed":"c\\,'d,g\\,'h,i\\j"'''),
        ("doc_debezium_notes", "debezium", '"defaultValueExpression":"1000-00-00 01:00:00.000"'),
        ("doc_debezium_notes", "debezium", '"charsetName":"utf8","length":10'),
        (
            "doc_debezium_notes",
            "debezium",
            '"typeName":"FLOAT","typeExpression":"FLOAT","charsetName":null,"length":null',
        ),
        ("watermarks", "debezium-ext", '"op":"m"'),
        ("null_with_default", "debezium-noschema", '"after":{"id":1,"a":5}'),
        ("doc_debezium", "debezium-noschema", '"h":-1'),
        ("doc_debezium", "debezium-noold", '"op":"u","after":'),
        ("doc_debezium", "debezium-noold", '"op":"d","after":null,"before":'),
    ],
)
def test_recorded_text(case: str, variant: str, text: str) -> None:
    assert text in _recorded(case, variant)


def test_recorded_ddl_that_is_not_sent() -> None:
    vector = load_vector("ddl_rest")
    messages = next(each for each in vector["variants"] if each["id"] == "debezium")["messages"]
    silent = {vector["events"][message["event"]]["action"] for message in messages if message.get("none")}
    assert silent == {
        "drop foreign key",
        "add foreign key",
        "shard row ID",
        "modify auto id cache",
        "alter table ttl",
        "alter table no_ttl",
    }
