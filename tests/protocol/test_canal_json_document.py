"""The "TiCDC Canal-JSON Protocol" document as tests: its examples, its type tables, its options and its statements.

The statements of the document were run through TiCDC (``doc_canal_tp_int`` and ``doc_canal_types`` of
``tests/vectors``; commit_ts and clock are those of the run). Where the document's own text differs from the
bytes that TiCDC sends, the bytes win:

====================================================== ============================================== ==================
the document says                                      the bytes                                      seen in
====================================================== ============================================== ==================
columns of sqlType, mysqlType, data, old stand in      table order                                    doc_canal_tp_int
alphabetical order
``data`` before ``old`` in a DML message               ``old`` before ``data`` (DDL and WATERMARK:    doc_canal_tp_int
                                                       ``data`` before ``old``)
comments in the JSON, a comma after the last member    plain JSON, no white space                     any
Canal: ``decimal(10, 4)``                              ``decimal(10,4)``, with content-compatible     doc_canal_types
``old`` of an UPDATE has all columns                   so by default; only the changed ones with      doc_canal_tp_int
                                                       only-output-updated-columns or
                                                       content-compatible
mysqlType has no parameters                            so by default; content-compatible prints them  doc_canal_types
``enable-tidb-extension`` is for Canal-JSON only       Avro and Debezium read it too                  doc_debezium
SQL of a DDL shown without what TiDB adds              printed as the event has it                    ddl_lifecycle
type code of a NULL in an unsigned column not said     the base code                                  integers_unsigned
====================================================== ============================================== ==================
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from conformance.table_infos import table_info_from_dict
from vector_files import load_vector

from ticdc_emit.config import load_changefeed
from ticdc_emit.pipeline.encode import encode_rows
from ticdc_emit.pipeline.plan import Plan, make_plan
from ticdc_emit.protocols import codec_for
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import physical_ms

_TP_INT = load_vector("doc_canal_tp_int")
_TYPES = load_vector("doc_canal_types")
_URI = "kafka://127.0.0.1:9092/topic-name?kafka-version=2.6.0&protocol=canal-json"
_BUILD_MS = 1_639_633_142_960
_KEYS = ["id", "database", "table", "pkNames", "isDdl", "type", "es", "ts", "sql", "sqlType", "mysqlType"]


@dataclass(frozen=True)
class _Ddl:
    """A DDL event as the codec reads it."""

    action: str
    query: str
    schema: str
    table: str
    commit_ts: int
    table_info: TableInfo | None = None
    pre_table_info: TableInfo | None = None


def _plan(info: TableInfo, options: str = "", toml: str | None = None) -> Plan:
    changefeed = load_changefeed(_URI + options, toml, time_zone="Asia/Shanghai")
    return make_plan(changefeed, {(info.schema, info.name): [(0, info)]}, {"topic-name": 1}, build_ts=_BUILD_MS)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return str(value["base64"] if isinstance(value, dict) else value)


def _messages(info: TableInfo, rows: list[dict[str, Any]], options: str = "", toml: str | None = None) -> list[str]:
    """Encode rows (op, commit_ts, before, after as in the vectors) in the generic form."""
    plan = _plan(info, options, toml)
    kind = pa.map_(pa.string(), pa.string())

    def image(which: str) -> pa.Array:
        found = [row[which] for row in rows]
        return pa.array([None if r is None else [(n, _text(v)) for n, v in r.items()] for r in found], kind)

    batch = pa.record_batch(
        {
            "op": [row["op"] for row in rows],
            "commit_ts": pa.array([row["commit_ts"] for row in rows], pa.uint64()),
            "before": image("before"),
            "after": image("after"),
        }
    )
    made = encode_rows(batch, plan.table(info.schema, info.name), plan).encoded
    assert made.keys is None  # a row's key is empty
    return [value.decode() for value in made.values.to_pylist()]


def _vector(vector: dict[str, Any], options: str = "", toml: str | None = None) -> list[dict[str, Any]]:
    info = table_info_from_dict(vector["events"][0]["table_info"])
    return [json.loads(text) for text in _messages(info, vector["events"][1:], options, toml)]


def _one(sql: str, row: dict[str, Any], options: str = "") -> dict[str, Any]:
    """Return the INSERT of one row into a table made by a CREATE TABLE."""
    info = catalog_from_sql(sql).table("test", "t")
    event = {"op": "insert", "commit_ts": 1 << 18, "before": None, "after": row}
    return dict(json.loads(_messages(info, [event], options)[0]))


# --- the examples ---------------------------------------------------------------------------------------------------

_DDL_COMMIT_TS = 163963309467037594


def test_ddl_example() -> None:
    codec = codec_for(load_changefeed(_URI + "&enable-tidb-extension=true"))
    event = _Ddl("drop schema", "drop database if exists test", "test", "", _DDL_COMMIT_TS)
    message = codec.ddl(event, 1639633095489)
    assert message is not None
    assert message.key is None
    assert message.commit_ts == _DDL_COMMIT_TS
    assert message.value.decode() == (
        '{"id":0,"database":"test","table":"","pkNames":null,"isDdl":true,"type":"QUERY",'
        f'"es":{physical_ms(_DDL_COMMIT_TS)},"ts":1639633095489,"sql":"drop database if exists test",'
        f'"sqlType":null,"mysqlType":null,"data":null,"old":null,"_tidb":{{"commitTs":{_DDL_COMMIT_TS}}}}}'
    )
    assert codec.options.protocol.spec.ddl_everywhere is False  # "sent to the partition with index 0"


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("create table", "CREATE"), ("drop table", "ERASE"), ("truncate table", "TRUNCATE"), ("rename table", "RENAME"),
        ("add index", "CINDEX"), ("drop index", "DINDEX"), ("add column", "ALTER"), ("modify column", "ALTER"),
        ("create schema", "QUERY"), ("drop schema", "QUERY"), ("create view", "QUERY"), ("exchange partition", "QUERY"),
    ],
)  # fmt: skip
def test_ddl_types(action: str, kind: str) -> None:
    for options in ("", "&enable-tidb-extension=true"):
        message = codec_for(load_changefeed(_URI + options)).ddl(_Ddl(action, "SQL", "d", "t", 1 << 18), 7)
        assert message is not None
        read = json.loads(message.value)
        assert list(read) == [*_KEYS, "data", "old", *(["_tidb"] if options else [])]
        assert (read["isDdl"], read["type"], read["sql"], read["es"], read["ts"]) == (True, kind, "SQL", 1, 7)


def test_watermark_example() -> None:
    codec = codec_for(load_changefeed(_URI + "&enable-tidb-extension=true"))
    message = codec.watermark(429918007904436226, 1640007050284)
    assert message is not None
    assert message.key is None
    assert message.value.decode() == (
        '{"id":0,"database":"","table":"","pkNames":null,"isDdl":false,"type":"TIDB_WATERMARK","es":1640007049196,'
        '"ts":1640007050284,"sql":"","sqlType":null,"mysqlType":null,"data":null,"old":null,'
        '"_tidb":{"watermarkTs":429918007904436226}}'
    )


def test_no_watermark_and_no_tidb_field_without_the_extension() -> None:
    for options in ("", "&enable-tidb-extension=false"):
        codec = codec_for(load_changefeed(_URI + options))
        assert codec.watermark(429918007904436226, 1640007050284) is None
        ddl = codec.ddl(_Ddl("create table", "SQL", "d", "t", 1 << 18), 7)
        assert ddl is not None
        assert "_tidb" not in json.loads(ddl.value)
        assert all("_tidb" not in message for message in _vector(_TP_INT, options))


def test_insert_example() -> None:
    """The document's INSERT into ``tp_int``; its row has id 2."""
    info = table_info_from_dict(_TP_INT["events"][0]["table_info"])
    row = {**_TP_INT["events"][1]["after"], "id": 2}
    event = {"op": "insert", "commit_ts": 163963314122145239, "before": None, "after": row}
    (text,) = _messages(info, [event], "&enable-tidb-extension=true")
    message = json.loads(text)
    assert list(message) == [*_KEYS, "old", "data", "_tidb"]  # the document prints data before old
    document = {
        "id": 0,
        "database": "test",
        "table": "tp_int",
        "pkNames": ["id"],
        "isDdl": False,
        "type": "INSERT",
        "es": physical_ms(163963314122145239),
        "ts": _BUILD_MS,
        "sql": "",
        "sqlType": {"c_bigint": -5, "c_int": 4, "c_mediumint": 4, "c_smallint": 5, "c_tinyint": -6, "id": 4},
        "mysqlType": {
            "c_bigint": "bigint", "c_int": "int", "c_mediumint": "mediumint", "c_smallint": "smallint",
            "c_tinyint": "tinyint", "id": "int",
        },
        "data": [
            {
                "c_bigint": "9223372036854775807", "c_int": "2147483647", "c_mediumint": "8388607",
                "c_smallint": "32767", "c_tinyint": "127", "id": "2",
            }
        ],
        "old": None,
        "_tidb": {"commitTs": 163963314122145239},
    }  # fmt: skip
    assert message == document
    order = ["id", "c_tinyint", "c_smallint", "c_mediumint", "c_int", "c_bigint"]  # the document sorts them
    assert [list(part) for part in (message["sqlType"], message["mysqlType"], message["data"][0])] == [order] * 3


_OLD = {"id": "1", "c_tinyint": "127", "c_smallint": "32767", "c_mediumint": "8388607", "c_int": "2147483647"}
_OLD["c_bigint"] = "9223372036854775807"


def test_update_example() -> None:
    update = _vector(_TP_INT)[1]
    assert (update["type"], update["data"]) == ("UPDATE", [{**_OLD, "c_int": "0", "c_tinyint": "0"}])
    assert update["old"] == [_OLD]  # "TiCDC: old has all columns"


@pytest.mark.parametrize("options", ["&only-output-updated-columns=true", "&content-compatible=true"])
def test_update_example_of_canal(options: str) -> None:
    update = _vector(_TP_INT, options)[1]
    assert update["data"] == [{**_OLD, "c_int": "0", "c_tinyint": "0"}]
    assert update["old"] == [{"c_tinyint": "127", "c_int": "2147483647"}]


def test_delete_example() -> None:
    delete = _vector(_TP_INT)[2]
    assert (delete["type"], delete["data"]) == ("DELETE", [{**_OLD, "c_int": "0", "c_tinyint": "0"}])
    assert delete["old"] is None  # since v5.4.0; earlier it repeated the data


_PLAIN_TYPES = {
    "c_binary": "binary", "c_bit": "bit", "c_char": "char", "c_decimal": "decimal", "c_enum": "enum", "c_set": "set",
    "c_varbinary": "varbinary", "c_varchar": "varchar", "id": "int",
}  # fmt: skip
_FULL_TYPES = {
    "c_binary": "binary(16)", "c_bit": "bit(64)", "c_char": "char(16)", "c_decimal": "decimal(10, 4)",
    "c_enum": "enum('a','b','c')", "c_set": "set('a','b','c')", "c_varbinary": "varbinary(16)",
    "c_varchar": "varchar(16)", "id": "int",
}  # fmt: skip


def test_mysql_type_example() -> None:
    insert = _vector(_TYPES)[0]
    assert insert["mysqlType"] == _PLAIN_TYPES
    assert (insert["isDdl"], insert["old"]) == (False, None)
    assert insert["data"][0] == {
        "id": "1", "c_decimal": "123.4560", "c_char": "abc", "c_varchar": "abc", "c_binary": "abc" + "\0" * 13,
        "c_varbinary": "abc", "c_enum": "1", "c_set": "3", "c_bit": "65",
    }  # fmt: skip


def test_mysql_type_example_of_canal() -> None:
    insert = _vector(_TYPES, "&content-compatible=true")[0]
    real = {**_FULL_TYPES, "c_decimal": "decimal(10,4)", "id": "int(11)"}  # the document: a space, and a bare int
    assert insert["mysqlType"] == real


# --- the bytes of the document's statements, for every option -------------------------------------------------------


@pytest.mark.parametrize("vector", [_TP_INT, _TYPES], ids=["tp_int", "types"])
@pytest.mark.parametrize(
    "variant",
    [
        "canal-json", "canal-json-ext", "canal-json-updated", "canal-json-compat", "canal-json-compat-ext",
        "canal-json-delete-key",
    ],
)  # fmt: skip
def test_real_bytes(vector: dict[str, Any], variant: str) -> None:
    found = next(each for each in vector["variants"] if each["id"] == variant)
    info = table_info_from_dict(vector["events"][0]["table_info"])
    changefeed = load_changefeed(found["sink_uri"], found.get("changefeed"), time_zone=vector["timezone"])
    assert catalog_from_sql(vector["steps"][0]["ddl"]).table("test", info.name).data_columns == info.data_columns
    options = found["sink_uri"].partition("protocol=canal-json")[2]
    texts = _messages(info, vector["events"][1:], options, found.get("changefeed"))
    expected = [message["value"]["text"] for message in found["messages"]]
    assert [text.replace(str(_BUILD_MS), str(vector["now_ms"])) for text in texts] == expected[1:]
    event = vector["events"][0]
    ddl = _Ddl(event["action"], event["query"], event["schema"], event["table"], event["commit_ts"])
    message = codec_for(changefeed).ddl(ddl, vector["now_ms"])
    assert message is not None
    assert message.value.decode() == expected[0]


# --- the type tables ------------------------------------------------------------------------------------------------

_SQL_TYPES = [
    ("boolean", "1", -6), ("float", "1.5", 7), ("double", "1.5", 8), ("decimal(5,1)", "1.5", 3), ("char(3)", "a", 1),
    ("varchar(3)", "a", 12), ("binary(3)", "YQ==", 2004), ("varbinary(3)", "YQ==", 2004), ("tinytext", "a", 2005),
    ("text", "a", 2005), ("mediumtext", "a", 2005), ("longtext", "a", 2005), ("tinyblob", "YQ==", 2004),
    ("blob", "YQ==", 2004), ("mediumblob", "YQ==", 2004), ("longblob", "YQ==", 2004), ("date", "2024-05-05", 91),
    ("datetime", "2024-05-05 00:00:00", 93), ("timestamp", "2024-05-05 00:00:00", 93), ("time", "12:00:00", 92),
    ("year", "2024", 12), ("enum('a')", "a", 4), ("set('a')", "a", -7), ("bit(1)", "1", -7), ("json", "[]", 12),
]  # fmt: skip


@pytest.mark.parametrize(("mysql", "value", "code"), _SQL_TYPES)
def test_sql_type(mysql: str, value: str, code: int) -> None:
    for given in (value, None):
        message = _one(f"create table test.t (c {mysql} null)", {"c": given})
        assert message["sqlType"] == {"c": code}
    assert len(_SQL_TYPES) == 25


_INTEGERS = [
    ("tinyint", -128, 127, -6), ("tinyint unsigned", 0, 127, -6), ("tinyint unsigned", 128, 255, 5),
    ("smallint", -32768, 32767, 5), ("smallint unsigned", 0, 32767, 5), ("smallint unsigned", 32768, 65535, 4),
    ("mediumint", -8388608, 8388607, 4), ("mediumint unsigned", 0, 8388607, 4),
    ("mediumint unsigned", 8388608, 16777215, 4), ("int", -2147483648, 2147483647, 4),
    ("int unsigned", 0, 2147483647, 4), ("int unsigned", 2147483648, 4294967295, -5),
    ("bigint", -9223372036854775808, 9223372036854775807, -5), ("bigint unsigned", 0, 9223372036854775807, -5),
    ("bigint unsigned", 9223372036854775808, 18446744073709551615, 3),
]  # fmt: skip


@pytest.mark.parametrize(("mysql", "low", "high", "code"), _INTEGERS)
def test_integer_sql_type(mysql: str, low: int, high: int, code: int) -> None:
    for value in (low, high):
        message = _one(f"create table test.t (c {mysql})", {"c": value})
        assert message["sqlType"] == {"c": code}
        assert message["mysqlType"] == {"c": mysql}
        assert message["data"] == [{"c": str(value)}]


def test_java_codes_are_those_of_the_document() -> None:
    codes = {1, 3, 4, 5, 7, 8, 12, 91, 92, 93, 2004, 2005, -5, -6, -7}
    assert {code for *_, code in (*_SQL_TYPES, *_INTEGERS)} == codes


def test_integer_sql_type_of_mixed_rows() -> None:
    """The code belongs to the row's own value, of an update to the new one; NULL has the base code."""
    info = catalog_from_sql("create table test.t (c tinyint unsigned)").table("test", "t")
    values = [0, 127, 128, 255, None]
    rows = [{"op": "insert", "commit_ts": 1 << 18, "before": None, "after": {"c": value}} for value in values]
    rows += [{"op": "delete", "commit_ts": 1 << 18, "before": {"c": value}, "after": None} for value in values]
    rows += [{"op": "update", "commit_ts": 1 << 18, "before": {"c": 5}, "after": {"c": value}} for value in values]
    found = [json.loads(text)["sqlType"]["c"] for text in _messages(info, rows)]
    assert found == [-6, -6, 5, 5, -6] * 3


# --- statements -----------------------------------------------------------------------------------------------------


def test_every_field_has_the_type_of_the_table() -> None:
    kinds: dict[str, type] = {
        "id": int, "database": str, "table": str, "pkNames": list, "isDdl": bool, "type": str, "es": int, "ts": int,
        "sql": str, "sqlType": dict, "mysqlType": dict, "data": list, "_tidb": dict,
    }  # fmt: skip
    for message in _vector(_TP_INT, "&enable-tidb-extension=true"):
        for name, kind in kinds.items():
            assert isinstance(message[name], kind), name
        assert message["id"] == 0
        assert message["sql"] == ""
        assert len(str(message["es"])) == len(str(message["ts"])) == 13
        assert message["es"] == message["_tidb"]["commitTs"] >> 18
        assert (message["old"] is None) == (message["type"] != "UPDATE")


def test_pk_names_are_all_columns_of_the_primary_key() -> None:
    row = {"a": 1, "b": 2, "c": 3}
    assert _one("create table test.t (a int, b int, c int, primary key (c, a))", row)["pkNames"] == ["a", "c"]
    assert _one("create table test.t (a int not null unique, b int, c int)", row)["pkNames"] == []


def test_delete_only_output_handle_key_columns() -> None:
    toml = "[sink]\ndelete-only-output-handle-key-columns = true\n"
    insert, update, delete = _vector(_TP_INT, toml=toml)
    assert (delete["data"], delete["sqlType"], delete["mysqlType"]) == ([{"id": "1"}], {"id": 4}, {"id": "int"})
    assert len(insert["data"][0]) == len(update["data"][0]) == len(update["old"][0]) == 6


def test_binary_values_are_latin1() -> None:
    every = bytes(range(256))
    row = {"c": base64.b64encode(every).decode()}
    assert _one("create table test.t (c varbinary(256))", row)["data"][0]["c"].encode("latin-1") == every


def test_values_are_strings_or_null() -> None:
    sql = "create table test.t (a int, b float, c decimal(5,2), d json, e varchar(9))"
    message = _one(sql, {"a": 1, "b": 3.0, "c": Decimal("1.50"), "d": None, "e": "null"})
    assert message["data"] == [{"a": "1", "b": "3", "c": "1.50", "d": None, "e": "null"}]
