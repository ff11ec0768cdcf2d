"""The "TiCDC Avro Protocol" document as tests: its examples, its type table, its options and its statements.

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

import io
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from vector_files import load_vector

from ticdc_emit import Encoder, restore_ddl
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ConfigError, IncompatibleSchemaError
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.tso import physical_ms

_URI = "kafka://127.0.0.1:9092/topic-name?protocol=avro"
_REGISTRY = "http://127.0.0.1:8081"
_COMMIT_TS = 450000000262144000
_EXTENDED = "&enable-tidb-extension=true"


class _Sent:
    """What a changefeed of one table registers and sends. ``keys`` and ``values`` are decoded by fastavro."""

    def __init__(self, sql: str, options: str = "", reject: str | None = None) -> None:
        self.registry = MemoryRegistry(reject=reject)
        uri = f"{_URI}{options}&schema-registry={_REGISTRY}"
        # the document shows tables without a key, which no changefeed of Avro has
        self.encoder = Encoder(replace(load_changefeed(uri), force_replicate=True), sql, registry=self.registry)
        self.raw: list[tuple[bytes | None, bytes | None]] = []
        self.commit_ts = _COMMIT_TS

    def change(self, op: str, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None) -> None:
        self.commit_ts += 1 << 18
        row = {"op": op, "commit_ts": self.commit_ts, "before": before, "after": after}
        made = self.encoder.encode([row]).to_pylist()
        self.raw += [(message["key"], message["value"]) for message in made]

    def texts(self, part: str) -> list[str]:
        return [post.schema for post in self.registry.posts if post.subject == f"topic-name-{part}"]

    def schema(self, part: str = "value") -> dict[str, Any]:
        return dict(json.loads(self.texts(part)[-1]))

    def _decoded(self, data: bytes | None) -> Any:
        if not data:
            return None
        schemas = {post.id: post.schema for post in self.registry.posts}
        assert data[0] == 0
        body = io.BytesIO(data[5:])
        parsed = fastavro.parse_schema(json.loads(schemas[int.from_bytes(data[1:5], "big")]))
        found = fastavro.schemaless_reader(body, parsed, None)
        assert body.read() == b""
        return found

    @property
    def keys(self) -> list[Any]:
        return [self._decoded(key) for key, _ in self.raw]

    @property
    def values(self) -> list[Any]:
        return [self._decoded(value) for _, value in self.raw]


def _inserted(sql: str, row: dict[str, Any], options: str = "") -> _Sent:
    sent = _Sent(sql, options)
    sent.change("c", after=row)
    return sent


def _column(mysql: str, value: Any, options: str = "") -> tuple[dict[str, Any], Any]:
    """Return the field of a NOT NULL column in the schema, and the decoded value."""
    sent = _inserted(f"create table test.t (c {mysql} not null)", {"c": value}, options)
    (field,) = sent.schema()["fields"]
    return field, sent.values[0]["c"]


# --- data format ------------------------------------------------------------------------------------------------------

_TABLE = "create table test.t (id int primary key, name varchar(10), unique key u (name))"
_ID = {"name": "id", "type": {"type": "int", "connect.parameters": {"tidb_type": "INT"}}}
_NAME = {
    "default": None,
    "name": "name",
    "type": ["null", {"connect.parameters": {"tidb_type": "TEXT"}, "type": "string"}],
}
_TOP = {"name": "t", "namespace": "default.test", "type": "record"}


def test_key_and_value_format() -> None:
    sent = _inserted(_TABLE, {"id": 1, "name": "a"})
    assert sent.schema("key") == {**_TOP, "fields": [_ID]}
    assert sent.schema() == {**_TOP, "fields": [_ID, _NAME]}
    assert (sent.keys, sent.values) == ([{"id": 1}], [{"id": 1, "name": "a"}])
    assert list(sent.schema()) == ["type", "name", "namespace", "fields"]


def test_value_format_with_extension() -> None:
    sent = _inserted(_TABLE, {"id": 1, "name": None}, _EXTENDED)
    extension = [("_tidb_op", "string", ""), ("_tidb_commit_ts", "long", 0), ("_tidb_commit_physical_time", "long", 0)]
    fields = [{"default": default, "name": name, "type": kind} for name, kind, default in extension]
    assert sent.schema() == {**_TOP, "fields": [_ID, _NAME, *fields]}
    assert sent.schema("key") == {**_TOP, "fields": [_ID]}
    without = [{name: part for name, part in field.items() if name != "default"} for field in fields]
    assert without == [
        {"name": "_tidb_op", "type": "string"},
        {"name": "_tidb_commit_ts", "type": "long"},
        {"name": "_tidb_commit_physical_time", "type": "long"},
    ]


def test_extension_fields() -> None:
    sent = _Sent(_TABLE.replace(", unique key u (name)", ""), _EXTENDED)  # a changed key would be two messages
    sent.change("c", after={"id": 1, "name": "a"})
    sent.change("u", before={"id": 1, "name": "a"}, after={"id": 1, "name": "b"})
    sent.change("d", before={"id": 1, "name": "b"})
    inserted, updated, deleted = sent.values
    assert (inserted["_tidb_op"], updated["_tidb_op"], deleted) == ("c", "u", None)
    assert sent.keys == [{"id": 1}] * 3
    stamps = [value["_tidb_commit_ts"] for value in (inserted, updated)]
    assert stamps == [_COMMIT_TS + (1 << 18), _COMMIT_TS + (2 << 18)]
    assert [value["_tidb_commit_physical_time"] for value in (inserted, updated)] == [physical_ms(ts) for ts in stamps]


@pytest.mark.parametrize("options", ["", "&enable-tidb-extension=false"])
def test_no_extension_fields_by_default(options: str) -> None:
    assert _inserted(_TABLE, {"id": 1, "name": "a"}, options).values == [{"id": 1, "name": "a"}]


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("(a int, b int not null, c int, primary key (c, a))", ["a", "c"]),
        ("(a int, b int not null, c int not null, unique key (a), unique key (c), key (b))", ["c"]),
        ("(a int not null, b int not null, c int not null, unique key (a, b), unique key (c))", ["c"]),
        ("(a int, b int, c int, unique key (a))", None),
    ],
)
def test_key_columns(table: str, key: list[str] | None) -> None:
    row = {"a": 1, "b": 2, "c": 3}
    sent = _inserted(f"create table test.t {table}", row)
    assert sent.keys == [None if key is None else {name: row[name] for name in key}]
    assert bool(sent.texts("key")) == (key is not None)
    assert sent.values == [row]


@pytest.mark.parametrize(
    ("schema", "table", "column", "names"),
    [
        ("test", "t", "c", ("default.test", "t", "c")),
        ("my-db", "order.items", "unit price", ("default.my_db", "order_items", "unit_price")),
        ("1db", "1t", "2nd", ("default._1db", "_1t", "_2nd")),
        ("db", "表", "é", ("default.db", "_", "_")),
    ],
)
def test_names(schema: str, table: str, column: str, names: tuple[str, str, str]) -> None:
    """{{TableName}}, {{Namespace}} and {{ColumnName}}; characters that Avro names cannot have become ``_``."""
    sent = _inserted(f"create table `{schema}`.`{table}` (`{column}` int primary key)", {column: 1})
    for part in ("key", "value"):
        made = sent.schema(part)
        assert (made["namespace"], made["name"], made["fields"][0]["name"]) == names


# --- column data format -----------------------------------------------------------------------------------------------

_BYTES = b"\0a\xff"
_TYPES: list[tuple[str, str, str, Any, Any]] = [
    ("bool", "INT", "int", True, 1),
    ("tinyint", "INT", "int", -128, -128),
    ("tinyint unsigned", "INT UNSIGNED", "int", 255, 255),
    ("smallint", "INT", "int", -32768, -32768),
    ("smallint unsigned", "INT UNSIGNED", "int", 65535, 65535),
    ("mediumint", "INT", "int", -8388608, -8388608),
    ("mediumint unsigned", "INT UNSIGNED", "int", 16777215, 16777215),
    ("int", "INT", "int", -2147483648, -2147483648),
    ("int unsigned", "INT UNSIGNED", "long", 4294967295, 4294967295),
    ("bigint", "BIGINT", "long", -(1 << 63), -(1 << 63)),
    ("bigint unsigned", "BIGINT UNSIGNED", "long", (1 << 63) - 1, (1 << 63) - 1),
    ("tinyblob", "BLOB", "bytes", _BYTES, _BYTES),
    ("blob", "BLOB", "bytes", _BYTES, _BYTES),
    ("mediumblob", "BLOB", "bytes", _BYTES, _BYTES),
    ("longblob", "BLOB", "bytes", _BYTES, _BYTES),
    ("binary(4)", "BLOB", "bytes", _BYTES, _BYTES + b"\0"),
    ("varbinary(4)", "BLOB", "bytes", _BYTES, _BYTES),
    ("tinytext", "TEXT", "string", "é<", "é<"),
    ("text", "TEXT", "string", "é<", "é<"),
    ("mediumtext", "TEXT", "string", "é<", "é<"),
    ("longtext", "TEXT", "string", "é<", "é<"),
    ("char(4)", "TEXT", "string", "é<", "é<"),
    ("varchar(4)", "TEXT", "string", "é<", "é<"),
    ("float", "FLOAT", "float", 0.25, 0.25),  # the document: double
    ("double", "DOUBLE", "double", 0.1, 0.1),
    ("date", "DATE", "string", "2024-05-05", "2024-05-05"),
    ("datetime(3)", "DATETIME", "string", "2024-05-05 01:02:03.5", "2024-05-05 01:02:03.500"),
    ("timestamp", "TIMESTAMP", "string", "2024-05-05 01:02:03", "2024-05-05 01:02:03"),
    ("time", "TIME", "string", "-838:59:59", "-838:59:59"),
    ("year", "YEAR", "int", 2024, 2024),
    ("bit(10)", "BIT", "bytes", 513, b"\x02\x01"),
    ("json", "JSON", "string", '{"b":1,"a":[1.0]}', '{"a": [1.0], "b": 1}'),
    ("enum('a','b')", "ENUM", "string", "b", "b"),
    ("set('a','b')", "SET", "string", "a,b", "a,b"),
    ("decimal(10,4)", "DECIMAL", "bytes", "-1.5", Decimal("-1.5000")),
    ("vector(2)", "TiDBVECTORFloat32", "string", "[1,0.5]", "[1,0.5]"),  # not in the document
]


@pytest.mark.parametrize(("mysql", "tidb_type", "avro_type", "value", "decoded"), _TYPES)
def test_type_table(mysql: str, tidb_type: str, avro_type: str, value: Any, decoded: Any) -> None:
    field, read = _column(mysql, value)
    assert field.pop("default", None) == (0 if mysql == "year" else None)  # TiDB gives YEAR that default
    assert list(field) == ["name", "type"]
    kind = field["type"]
    assert (kind["type"], kind["connect.parameters"]["tidb_type"]) == (avro_type, tidb_type)
    assert read == decoded
    assert type(read) is type(decoded)
    nullable = _Sent(f"create table test.t (id int primary key, c {mysql} null)")
    for number, given in enumerate((value, None)):
        nullable.change("c", after={"id": number, "c": given})
    assert nullable.schema()["fields"][1] == {"default": None, "name": "c", "type": ["null", kind]}
    assert [row["c"] for row in nullable.values] == [decoded, None]


def test_the_type_table_is_whole() -> None:
    document = """BOOL TINYINT SMALLINT MEDIUMINT INT BIGINT TINYBLOB BLOB MEDIUMBLOB LONGBLOB BINARY VARBINARY
        TINYTEXT TEXT MEDIUMTEXT LONGTEXT CHAR VARCHAR FLOAT DOUBLE DATE DATETIME TIMESTAMP TIME YEAR BIT JSON ENUM
        SET DECIMAL"""
    tested = {mysql.split()[0].split("(")[0].upper() for mysql, *_ in _TYPES}
    assert tested == {*document.split(), "VECTOR"}


@pytest.mark.parametrize(
    ("mysql", "value", "kind"),
    [
        ("bit(64)", 1, {"type": "bytes", "connect.parameters": {"length": "64", "tidb_type": "BIT"}}),
        ("enum('a','b','c')", "a", {"type": "string", "connect.parameters": {"allowed": "a,b,c", "tidb_type": "ENUM"}}),
        ("set('a','b','c')", "a", {"type": "string", "connect.parameters": {"allowed": "a,b,c", "tidb_type": "SET"}}),
        (
            "decimal(10, 4)",
            "1",
            {
                "type": "bytes",
                "connect.parameters": {"tidb_type": "DECIMAL"},
                "logicalType": "decimal",
                "precision": 10,
                "scale": 4,
            },
        ),
    ],
)
def test_extended_column_formats(mysql: str, value: Any, kind: dict[str, Any]) -> None:
    sent = _inserted(f"create table test.t (c {mysql} not null)", {"c": value})
    assert sent.schema()["fields"] == [{"name": "c", "type": kind}]
    assert json.dumps(kind, separators=(",", ":")) in sent.texts("value")[0]  # members in this order


def test_a_comma_in_an_element() -> None:
    field, value = _column("enum('a,b','c')", "a,b")
    assert (field["type"]["connect.parameters"]["allowed"], value) == ("a\\,b,c", "a,b")


@pytest.mark.parametrize(
    ("mysql", "value", "field"),
    [
        ("int null default 5", None, {"default": 5, "type": ["INT", "null"]}),
        ("int not null default 5", 7, {"default": 5, "type": ["INT"]}),
        ("varchar(5) null default 'x'", None, {"default": "x", "type": ["TEXT", "null"]}),
        ("varbinary(5) null default 'x<'", None, {"default": "eDw=", "type": ["BLOB", "null"]}),  # base64
        ("varbinary(5) not null default 'x<'", b"y", {"default": "eDw=", "type": ["BLOB"]}),
        ("decimal(5,2) null default 1", None, {"default": None, "type": ["null", "DECIMAL"]}),
        ("decimal(5,2) not null default 1", Decimal("2.00"), {"type": ["DECIMAL"]}),
    ],
)
def test_defaults(mysql: str, value: Any, field: dict[str, Any]) -> None:
    sent = _inserted(f"create table test.t (id int primary key, c {mysql})", {"id": 1, "c": value})
    made = sent.schema()["fields"][1]
    branches = made["type"] if isinstance(made["type"], list) else [made["type"]]
    named = [kind if isinstance(kind, str) else kind["connect.parameters"]["tidb_type"] for kind in branches]
    assert {**made, "type": named} == {**field, "name": "c"}
    assert sent.values == [{"id": 1, "c": value}]


# --- the two handling modes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", ["", "&avro-decimal-handling-mode=precise"])
def test_decimals_are_precise_bytes(options: str) -> None:
    field, value = _column("decimal(10,4)", "123.4567", options)
    assert (field["type"]["type"], field["type"]["logicalType"]) == ("bytes", "decimal")
    assert (value, str(value)) == (Decimal("123.4567"), "123.4567")


def test_decimals_are_strings() -> None:
    field, value = _column("decimal(10,4)", "123.4", "&avro-decimal-handling-mode=string")
    assert field["type"] == {"type": "string", "connect.parameters": {"tidb_type": "DECIMAL"}}
    assert value == "123.4000"


@pytest.mark.parametrize("options", ["", "&avro-bigint-unsigned-handling-mode=long"])
def test_unsigned_bigints_overflow_as_long(options: str) -> None:
    for given, shown in (((1 << 63) - 1, (1 << 63) - 1), (1 << 63, -(1 << 63)), ((1 << 64) - 1, -1)):
        field, value = _column("bigint unsigned", given, options)
        assert (field["type"]["type"], value) == ("long", shown)


def test_unsigned_bigints_are_strings() -> None:
    option = "&avro-bigint-unsigned-handling-mode=string"
    field, value = _column("bigint unsigned", (1 << 64) - 1, option)
    assert field["type"] == {"type": "string", "connect.parameters": {"tidb_type": "BIGINT UNSIGNED"}}
    assert value == "18446744073709551615"
    assert _column("bigint", -1, option)[0]["type"]["type"] == "long"  # signed ones stay


def test_the_document_example_with_both_modes() -> None:
    options = "&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
    changefeed = load_changefeed(_URI + options, _RULE, schema_registry=_REGISTRY)
    modes = changefeed.codec.avro_decimal_handling_mode, changefeed.codec.avro_bigint_unsigned_handling_mode
    assert modes == ("string", "string")


@pytest.mark.parametrize("option", ["avro-decimal-handling-mode=exact", "avro-bigint-unsigned-handling-mode=precise"])
def test_other_modes_are_refused(option: str) -> None:
    with pytest.raises(ConfigError, match=option.partition("=")[0]):
        load_changefeed(f"{_URI}&{option}", schema_registry=_REGISTRY)


# --- DDL and schema changes -------------------------------------------------------------------------------------------


def test_no_ddl_and_no_watermarks() -> None:
    for options in ("", _EXTENDED):
        encoder = _Sent(_TABLE, options).encoder
        assert encoder.ddl("alter table test.t add column c int", _COMMIT_TS).num_rows == 0
        assert encoder.watermark(_COMMIT_TS + (1 << 18)).num_rows == 0


def test_a_changed_schema_is_registered_with_the_next_row() -> None:
    sent = _Sent(_TABLE)
    sent.change("c", after={"id": 1, "name": "a"})
    sent.encoder.ddl("alter table test.t add column c int", sent.commit_ts + 1)
    assert [post.subject for post in sent.registry.posts] == ["topic-name-key", "topic-name-value"]
    sent.change("c", after={"id": 2, "name": "b", "c": 3})
    posts = [(post.subject, post.id) for post in sent.registry.posts]
    assert posts == [("topic-name-key", 1), ("topic-name-value", 2), ("topic-name-key", 1), ("topic-name-value", 3)]
    assert sent.values == [{"id": 1, "name": "a"}, {"id": 2, "name": "b", "c": 3}]
    sent.change("c", after={"id": 3, "name": "c", "c": None})
    assert len(sent.registry.posts) == 4  # nothing changed


def test_a_schema_that_is_not_compatible_stops_the_changefeed() -> None:
    """The document's example: a column that cannot be NULL, under BACKWARD."""
    sent = _Sent(_TABLE, reject="must")
    sent.change("c", after={"id": 1, "name": "a"})
    sent.encoder.ddl("alter table test.t add column must int not null", sent.commit_ts + 1)
    with pytest.raises(IncompatibleSchemaError) as caught:
        sent.change("c", after={"id": 2, "name": "b", "must": 5})
    assert caught.value.context["subject"] == "topic-name-value"
    assert len(sent.raw) == 1


# --- configuration ----------------------------------------------------------------------------------------------------

_RULE = "[sink]\ndispatchers = [ {matcher = ['*.*'], topic = \"tidb_{schema}_{table}\"}, ]\n"


@pytest.mark.parametrize("options", ["", _EXTENDED])
def test_the_documents_configuration(options: str) -> None:
    changefeed = load_changefeed(_URI + options, _RULE, schema_registry=_REGISTRY)
    assert changefeed.kafka.topic == "topic-name"
    assert changefeed.codec.enable_tidb_extension is bool(options)
    (rule,) = changefeed.dispatchers
    assert (rule.matcher, rule.topic) == (("*.*",), "tidb_{schema}_{table}")


def test_the_registry_address_with_a_password() -> None:
    url = "https://username:p%40ss@schema-registry-uri.com"
    for changefeed in (load_changefeed(_URI, schema_registry=url), load_changefeed(f"{_URI}&schema-registry={url}")):
        address = changefeed.codec.schema_registry
        assert address is not None
        assert "p%40ss" not in repr(changefeed)
        assert address.reveal().startswith("https://username:")


def test_a_registry_is_needed() -> None:
    with pytest.raises(ConfigError, match="schema-registry"):
        load_changefeed(_URI)


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


# --- the real bytes of what the document gets wrong -------------------------------------------------------------------


def _registered(case: str, variant: str) -> str:
    vector = load_vector(case)
    found = next(each for each in vector["variants"] if each["id"] == variant)
    return "\n".join(post["schema"] for post in found["registrations"])


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
    ],
)
def test_registered_text(case: str, variant: str, text: str) -> None:
    assert text in _registered(case, variant)


def test_a_delete_in_the_recorded_bytes() -> None:
    vector = load_vector("registry_refuses")
    deletes = [at for at, event in enumerate(vector["events"]) if event.get("op") == "delete"]
    messages = next(each for each in vector["variants"] if each["id"] == "avro-ext")["messages"]
    sent = [message for message in messages if message["event"] in deletes]
    assert sent
    assert all(message["key"] and message["value"] is None for message in sent)


def test_ddl_and_watermarks_for_tests() -> None:
    options = _EXTENDED + "&avro-enable-watermark=true"
    encoder = _Sent(_TABLE, options).encoder
    query = "alter table test.t add column c int"
    for row in encoder.ddl(query, _COMMIT_TS).to_pylist():
        assert (row["key"], row["value"][0]) == (None, 1)
        assert json.loads(row["value"][1:])["query"] == restore_ddl(query)
    for row in encoder.watermark(_COMMIT_TS).to_pylist():
        assert (row["key"], row["value"]) == (None, b"\2" + _COMMIT_TS.to_bytes(8, "big"))
    assert encoder.watermark(_COMMIT_TS).num_rows > 0
