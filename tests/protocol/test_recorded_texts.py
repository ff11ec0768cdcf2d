"""Where a protocol document and TiCDC differ: what TiCDC's recorded messages and registrations have.

The tables in the other modules name the cases.
"""

from __future__ import annotations

import pytest
from vector_files import load_vector


@pytest.mark.parametrize(
    ("case", "variant", "text"),
    [
        ("floats", "avro", '{"type":"float","connect.parameters":{"tidb_type":"FLOAT"}}'),
        ("floats", "avro-ext", '{"default":"","name":"_tidb_op","type":"string"}'),
        ("floats", "avro-ext", '{"default":0,"name":"_tidb_commit_ts","type":"long"}'),
        ("bits", "avro", '"connect.parameters":{"length":"64","tidb_type":"BIT"}'),
        ("enums_sets", "avro", '"connect.parameters":{"allowed":"x,y,z","tidb_type":"SET"}'),
        ("enums_sets", "avro", '"allowed":"a\\\\,b,'),
        ("null_with_default", "avro", '"null"]}'),
        (
            "primary_key_types",
            "avro",
            '{"default":0,"name":"k","type":{"type":"int","connect.parameters":{"tidb_type":"YEAR"}}',
        ),
        ("decimals", "avro", '{"tidb_type":"DECIMAL"},"logicalType":"decimal","precision":10,"scale":2}'),
        ("vectors", "avro", '{"type":"string","connect.parameters":{"tidb_type":"TiDBVECTORFloat32"}}'),
        ("checksum_all_types", "avro-string", '"name":"_tidb_row_level_checksum","type":"string"}'),
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
        ("doc_canal_tp_int", "canal-json", '"data":[{"id":"1","c_tinyint":"0"'),
        ("doc_canal_types", "canal-json-compat", '"decimal(10,4)"'),
        ("checksum_all_types", "simple-json", '"checksum":{"version":'),
        ("large_messages", "simple-handlekey-none", '"handleKeyOnly":true'),
        ("large_messages", "simple-claimcheck-none", '"claimCheckLocation":"file:///claims/'),
        ("ddl_partitions", "simple-json", '"type":"QUERY","sql":"ALTER TABLE `test`.`'),
        ("ddl_rest", "simple-json", '"type":"QUERY"'),
    ],
)
def test_recorded_text(case: str, variant: str, text: str) -> None:
    recorded = next(each for each in load_vector(case)["variants"] if each["id"] == variant)
    texts = [post["schema"] for post in recorded.get("registrations") or ()]
    for message in recorded["messages"]:
        texts += [part["text"] for part in (message.get("key"), message.get("value")) if part and "text" in part]
    assert text in "\n".join(texts)


def test_recorded_ddl_that_debezium_does_not_have() -> None:
    vector = load_vector("ddl_rest")
    messages = next(each for each in vector["variants"] if each["id"] == "debezium")["messages"]
    silent = {vector["events"][message["event"]]["action"] for message in messages if message.get("none")}
    foreign_keys, times = {"drop foreign key", "add foreign key"}, {"alter table ttl", "alter table no_ttl"}
    assert silent == {"shard row ID", "modify auto id cache"} | foreign_keys | times
