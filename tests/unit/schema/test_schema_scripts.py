"""Scripts of other systems in TiDB's SQL: whole scripts, what is refused and where, and the names of dialects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit import catalog_from_sql
from ticdc_emit.errors import ConfigError, DdlError, SchemaError, TicdcEmitError, UnsupportedTypeError
from ticdc_emit.schema.frames.spark_types import spark_type
from ticdc_emit.schema.scripts import DIALECTS, SourceSchema, dialect_of, schema_sql, source_schema

SCRIPTS = Path(__file__).parent / "scripts"


def _scripts() -> Iterator[tuple[str, str, str, str]]:
    """Yield dialect, name, text and result of each script."""
    for path in sorted(SCRIPTS.glob("*.sql")):
        for part in ("\n" + path.read_text(encoding="utf-8")).split("\n=== ")[1:]:
            name, _, rest = part.partition("\n")
            text, _, result = rest.partition("\n--- becomes\n")
            yield (path.stem if path.stem == "postgres" else name.partition(":")[0]), name, text, result.strip()


ALL = list(_scripts())


@pytest.mark.parametrize(("dialect", "name", "text", "result"), ALL, ids=[each[1] for each in ALL])
def test_a_script_becomes_these_tables(dialect: str, name: str, text: str, result: str) -> None:
    """The result is TiDB's: the schema catalog accepts it whole. Lines of Windows make no difference."""
    assert schema_sql(text, dialect).strip() == result
    tables = source_schema(text, dialect).tables
    catalog = catalog_from_sql(result)
    assert [info.full_name for info in catalog.tables()] == [table.full_name for table in tables]
    for info, table in zip(catalog.tables(), tables, strict=True):
        assert [column.name for column in info.columns] == [column.name for column in table.columns]
    of_windows = schema_sql(text.replace("\n", "\r\n"), dialect).replace("\r", "")
    assert re.sub(r"\s+", " ", of_windows).strip() == re.sub(r"\s+", " ", result)


def test_a_schema_says_as_data_what_its_text_says() -> None:
    text = "CREATE TABLE t (a json[] CHECK (a <> '{}')); CREATE INDEX i ON t (a);"
    schema = source_schema(text, "postgres", schema="d")
    assert isinstance(schema, SourceSchema)
    assert [table.full_name for table in schema.tables] == ["d.t"]
    assert schema.assumptions == ("Statements that make no table were skipped: 1 CREATE INDEX.",)
    assert schema.tables[0].assumptions == (
        "`a` is JSON, which accepts lists, maps and structs.",
        "Left out: 1 CHECK constraint.",
    )


@pytest.mark.parametrize(
    ("given_name", "dialect"),
    [("PostgreSQL", "postgres"), ("SQL Server", "tsql"), ("MSSQL", "tsql"), ("BigQuery", "bigquery")],
)
def test_a_dialect_has_the_names_that_people_use(given_name: str, dialect: str) -> None:
    assert dialect_of(given_name) == dialect


def test_an_unknown_dialect_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as refused:
        schema_sql("CREATE TABLE t (a int)", "postgre")
    assert refused.value.remedy.startswith("Did you mean postgres? Choose one: athena, bigquery,")


@pytest.mark.parametrize("name", ["mysql", "TiDB", "MariaDB"])
def test_sql_that_tidb_reads_needs_no_dialect(name: str) -> None:
    with pytest.raises(ConfigError, match="TiDB reads its SQL as it is") as refused:
        schema_sql("CREATE TABLE t (a int)", name)
    assert refused.value.remedy == "Give the schema without a dialect"


_TYPES = """
    oracle: number(12,3) = DECIMAL(12,3); number(*,0) = DECIMAL(38,0); integer = DECIMAL(38,0); long = LONGTEXT
    oracle: binary_float = DOUBLE; date = DATETIME; raw(16) = VARBINARY(16)
    tsql: real = DOUBLE; decimal = DECIMAL(18,0); varchar(9000) = VARCHAR(9000); varbinary(max) = LONGBLOB
    tsql: binary(300) = VARBINARY(300); datetime = DATETIME(3); datetimeoffset(7) = DATETIME(6); sysname = VARCHAR(128)
    snowflake: real = DOUBLE; number = DECIMAL(38,0); bigint = DECIMAL(38,0); time = TIME(6)
    snowflake: vector(float, 3) = VECTOR(3); object = JSON; binary = LONGBLOB; timestamp_ntz(0) = DATETIME
    bigquery: numeric = DECIMAL(38,9); bignumeric = DECIMAL(65,30); float64 = DOUBLE; bytes(3) = VARBINARY(3)
    redshift: varchar(5) = VARCHAR(5); bpchar = VARCHAR(256); varbyte = VARBINARY(64000); super = JSON
    hive: decimal = DECIMAL(10,0); timestamp = DATETIME(6); struct<a: int> = JSON; char(3) = VARCHAR(3)
    clickhouse: LowCardinality(String) = LONGTEXT; UInt8 = TINYINT UNSIGNED; DateTime64(3) = DATETIME(3)
    postgres: varchar(20000) = LONGTEXT; numeric(5) = DECIMAL(5,0); pg_catalog.int2 = SMALLINT; text[] = JSON
"""


@pytest.mark.parametrize(
    ("dialect", "kind", "expected"),
    [
        (dialect.strip(), *map(str.strip, pair.split(" = ")))
        for line in _TYPES.strip().splitlines()
        for dialect, _, pairs in [line.partition(":")]
        for pair in pairs.split(";")
    ],
)
def test_a_type_becomes_the_one_that_holds_its_values(dialect: str, kind: str, expected: str) -> None:
    assert source_schema(f"CREATE TABLE t (c {kind})", dialect).tables[0].columns[0].type == expected


def test_what_is_nested_deeply_ends() -> None:
    script = f"CREATE TABLE t (a int, b int GENERATED ALWAYS AS ({'+'.join(['a'] * 5000)}) STORED)"
    assert source_schema(script, "postgres").tables[0].columns[1].generated == ""
    script = f"CREATE TABLE t (a int DEFAULT {'(' * 5000}1{')' * 5000})"
    with pytest.raises(DdlError, match="does not read"):
        schema_sql(script, "postgres")
    with pytest.raises(UnsupportedTypeError):
        schema_sql("CREATE DOMAIN d AS d; CREATE TABLE t (a d)", "postgres")


_SPARK_TYPES = (
    "BooleanType ByteType ShortType IntegerType LongType FloatType DoubleType StringType BinaryType DateType "
    "TimestampType TimestampNTZType DayTimeIntervalType VariantType"
)


def test_the_ddl_of_spark_becomes_what_its_frames_become() -> None:
    types = pytest.importorskip("pyspark.sql.types")
    kinds = [getattr(types, name)() for name in _SPARK_TYPES.split()]
    kinds += [types.DecimalType(20, 3), types.CharType(4), types.VarcharType(9), types.ArrayType(types.LongType())]
    kinds += [
        types.StructType([types.StructField("a", types.LongType())]),
        types.MapType(types.LongType(), types.DateType()),
    ]
    for kind in kinds:
        (table,) = source_schema(f"CREATE TABLE t (c {kind.simpleString()})", "spark").tables
        assert table.columns[0].type == spark_type(kind, column="c").text, kind


@pytest.mark.parametrize(
    ("dialect", "text", "kind", "message", "place", "column"),
    [
        (
            "postgres",
            "CREATE TABLE t (\n  a int,\n  b whatever(3)\n);",
            UnsupportedTypeError,
            "whatever(3)",
            (3, 3),
            "b",
        ),
        ("oracle", "CREATE TABLE t (\n  f BFILE\n);", UnsupportedTypeError, "BFILE", (2, 3), "F"),
        ("tsql", "CREATE TABLE t (a int, v sql_variant)", UnsupportedTypeError, "SQL_VARIANT", (1, 24), "v"),
        ("redshift", "CREATE TABLE t (h hllsketch);", UnsupportedTypeError, "HLLSKETCH", (1, 17), "h"),
        ("spark", "CREATE TABLE t (i INTERVAL YEAR TO MONTH)", UnsupportedTypeError, "INTERVAL", (1, 17), "i"),
        ("postgres", "CREATE TABLE t (a numeric(100,2));", UnsupportedTypeError, "DECIMAL(100, 2)", (1, 17), "a"),
        ("snowflake", "CREATE TABLE t (v VECTOR(FLOAT, 20000));", UnsupportedTypeError, "16,383", (1, 17), "V"),
        ("postgres", "SELECT 1;\nCREATE TABLE t (\n a int NOT NUL);", DdlError, "Expecting )", (3, 8), None),
        ("postgres", "CREATE TABLE t (a int, b);", DdlError, "no type", (1, 24), "b"),
        ("postgres", "CREATE TABLE t (a int\n  b int);", DdlError, "near b", (2, 3), None),
        ("postgres", "CREATE TABLE t (a int DEFAULT 'x);", DdlError, "cannot be read", None, None),
        ("postgres", "CREATE TABLE t (a int, A text);", DdlError, "twice", (1, 24), "a"),
        ("postgres", 'CREATE TABLE t (a int, "A" text);', DdlError, "twice", (1, 24), "A"),
        ("postgres", "CREATE TABLE t (a int);\nCREATE TABLE t (a int);", DdlError, "created twice", (2, 14), None),
        ("postgres", 'CREATE TABLE t (a int);\nCREATE TABLE "T" (a int);', DdlError, "ignores case", (2, 14), None),
        ("postgres", "CREATE TABLE t (a int, PRIMARY KEY (b));", SchemaError, "not a column", (1, 14), "b"),
        ("postgres", "CREATE TABLE t (a json PRIMARY KEY);", SchemaError, "cannot be in a key", (1, 17), "a"),
        (
            "postgres",
            "CREATE TABLE t (a int);\nALTER TABLE t ALTER b SET NOT NULL;",
            DdlError,
            "no column b",
            (2, 21),
            "b",
        ),
        ("postgres", "CREATE TABLE t (a int);\nALTER TABLE t DROP a;", DdlError, "drops or renames", (2, 1), None),
        ("postgres", "CREATE TABLE t (LIKE other);", DdlError, "LIKE another", (1, 1), None),
        ("postgres", f"CREATE TABLE {'t' * 65} (a int);", SchemaError, "incorrect table name", (1, 14), None),
        ("bigquery", "SELECT 1", DdlError, "the script makes no table.", None, None),
        ("hive", "CREATE TABLE t AS SELECT 1", DdlError, "left out, because their columns have no types", None, None),
        ("postgres", "dump/schema.sql", DdlError, "is a path", None, None),
    ],
)
def test_what_is_refused_names_its_place(
    dialect: str, text: str, kind: type[SchemaError], message: str, place: tuple[int, int] | None, column: str | None
) -> None:
    with pytest.raises(kind) as refused:
        schema_sql(text, dialect)
    assert message in refused.value.message
    assert refused.value.remedy
    assert refused.value.context.get("column") == column
    if place is not None:
        assert refused.value.context["place"] == f"line {place[0]}, column {place[1]}"


_ENDS = "| |;|'|/*|(|CREATE|CREATE TABLE|CREATE TABLE t|ALTER TABLE|CREATE TABLE t (|CREATE TABLE t ()|COMMENT ON"
_MORE_ENDS = (
    "DROP TABLE|USE|SET SCHEMA|CREATE TYPE|CREATE UNIQUE INDEX|CREATE SCHEMA|\x00|CREATE DOMAIN|SET search_path ="
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_ends_early_is_an_error_of_ours(dialect: str) -> None:
    for text in (*_ENDS.split("|"), *_MORE_ENDS.split("|")):
        with pytest.raises(TicdcEmitError):
            schema_sql(text, dialect)
        for script in ("CREATE TABLE t (a int primary key);\n" + text, text + "\nCREATE TABLE t (a int);"):
            with suppress(TicdcEmitError):
                schema_sql(script, dialect)


_PIECES = [*"(),;'\"[`1#.", "$$", "/*", "--", "NULL", "DEFAULT", "AS", "KEY", "CONSTRAINT", ""]


@given(st.sampled_from(ALL), st.sampled_from(DIALECTS), st.booleans(), st.data())
def test_a_damaged_script_gives_tables_of_tidb_or_an_error_of_ours(
    script: tuple[str, str, str, str], other: str, of_its_own: bool, data: st.DataObject
) -> None:
    dialect, _, text, _ = script
    words = re.findall(r"\w+|\s+|.", text, re.DOTALL)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(words) - 1))
        words[place] = data.draw(st.sampled_from(_PIECES) | st.sampled_from(words))
    with suppress(TicdcEmitError):
        assert source_schema("".join(words), dialect if of_its_own else other).tables
