"""Scripts of other systems in TiDB's SQL: whole scripts, what is refused and where, lexical details of each dialect."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from ticdc_emit import catalog_from_sql
from ticdc_emit.errors import ConfigError, DdlError, SchemaError, TicdcEmitError, UnsupportedTypeError
from ticdc_emit.schema.frames.spark_types import spark_type
from ticdc_emit.source_schemas import DIALECTS, SourceSchema, schema_sql, source_schema
from ticdc_emit.source_schemas.dialects import dialect_of
from ticdc_emit.source_schemas.source_script import statements

SCRIPTS = Path(__file__).parent / "scripts"


class Script(NamedTuple):
    dialect: str
    name: str
    text: str
    kind: str
    result: str


def _scripts() -> list[Script]:
    found = []
    for path in sorted(SCRIPTS.glob("*.sql")):
        for part in ("\n" + path.read_text(encoding="utf-8")).split("\n=== ")[1:]:
            name, _, rest = part.partition("\n")
            text, kind, result = re.split(r"\n--- (becomes|is refused)\n", rest)
            found.append(Script(path.stem, name, text, kind, result.strip()))
    return found


def _described(error: TicdcEmitError) -> str:
    context = error.context
    return (
        f"{type(error).__name__}: {error.message} "
        f"[{context.get('table')}, {context.get('column')}, {context.get('place')}]"
    )


@pytest.mark.parametrize("script", _scripts(), ids=lambda script: f"{script.dialect}: {script.name}")
def test_a_script_becomes_these_tables(script: Script) -> None:
    """The result is TiDB's: the schema catalog accepts it whole."""
    if script.kind == "is refused":
        with pytest.raises(SchemaError) as refused:
            schema_sql(script.text, script.dialect)
        assert _described(refused.value) == script.result
        return
    result = schema_sql(script.text, script.dialect)
    assert result.strip() == script.result
    tables = source_schema(script.text, script.dialect).tables
    catalog = catalog_from_sql(result)
    assert [info.full_name for info in catalog.tables()] == [table.full_name for table in tables]
    for info, table in zip(catalog.tables(), tables, strict=True):
        assert [column.name for column in info.columns] == [column.name for column in table.columns]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_has_scripts_of_its_own(dialect: str) -> None:
    assert len([script for script in _scripts() if script.dialect == dialect]) >= 10


@pytest.mark.parametrize("script", _scripts(), ids=lambda script: f"{script.dialect}: {script.name}")
def test_lines_of_windows_make_no_difference(script: Script) -> None:
    text = script.text.replace("\n", "\r\n")
    if script.kind == "becomes":
        result = schema_sql(text, script.dialect).replace("\r", "")
        assert re.sub(r"\s+", " ", result).strip() == re.sub(r"\s+", " ", script.result)


def test_a_schema_says_as_data_what_its_text_says() -> None:
    schema = source_schema(
        "CREATE TABLE t (a json[] CHECK (a <> '{}')); CREATE INDEX i ON t (a);", "postgres", schema="d"
    )
    assert isinstance(schema, SourceSchema)
    assert [table.full_name for table in schema.tables] == ["d.t"]
    assert schema.assumptions == ("Statements that make no table were skipped: 1 CREATE INDEX.",)
    assert schema.tables[0].assumptions == (
        "`a` is JSON, which accepts lists, maps and structs.",
        "Left out: 1 CHECK constraint.",
    )


@pytest.mark.parametrize(
    ("given", "dialect"),
    [
        ("PostgreSQL", "postgres"),
        ("postgres", "postgres"),
        ("SQL Server", "tsql"),
        ("MSSQL", "tsql"),
        ("Databricks", "spark"),
        ("BigQuery", "bigquery"),
    ],
)
def test_a_dialect_has_the_names_that_people_use(given: str, dialect: str) -> None:
    assert dialect_of(given) == dialect


def test_an_unknown_dialect_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as refused:
        schema_sql("CREATE TABLE t (a int)", "postgre")
    assert refused.value.remedy.startswith("Did you mean postgres? Choose one: postgres, oracle, tsql,")


@pytest.mark.parametrize("name", ["mysql", "TiDB", "MariaDB"])
def test_sql_that_tidb_reads_needs_no_dialect(name: str) -> None:
    with pytest.raises(ConfigError, match="TiDB reads its SQL as it is") as refused:
        schema_sql("CREATE TABLE t (a int)", name)
    assert refused.value.remedy == "Give the schema without a dialect"


def test_a_fraction_of_many_digits_is_no_whole_number() -> None:
    table = source_schema(
        f"CREATE TABLE t (a int DEFAULT 1.{'0' * 40}1, b int DEFAULT 1.{'0' * 40})", "postgres"
    ).tables[0]
    assert [column.default is None for column in table.columns] == [True, False]


def test_a_sum_of_thousands_is_no_generated_column() -> None:
    script = f"CREATE TABLE t (a int, b int GENERATED ALWAYS AS ({'+'.join(['a'] * 5000)}) STORED)"
    assert source_schema(script, "postgres").tables[0].columns[1].generated == ""


_SPARK_TYPES = (
    "BooleanType ByteType ShortType IntegerType LongType FloatType DoubleType StringType BinaryType DateType "
    "TimestampType TimestampNTZType DayTimeIntervalType NullType VariantType"
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


# -- what is refused ---------------------------------------------------------------------------------------------------


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
        ("tsql", "CREATE TABLE t (a int, v sql_variant)", UnsupportedTypeError, "sql_variant", (1, 24), "v"),
        ("redshift", "CREATE TABLE t (h hllsketch);", UnsupportedTypeError, "hllsketch", (1, 17), "h"),
        (
            "spark",
            "CREATE TABLE t (i INTERVAL YEAR TO MONTH)",
            UnsupportedTypeError,
            "INTERVAL YEAR TO MONTH",
            (1, 17),
            "i",
        ),
        ("postgres", "CREATE TABLE t (a numeric(100,2));", UnsupportedTypeError, "numeric(100,2)", (1, 17), "a"),
        ("snowflake", "CREATE TABLE t (v VECTOR(FLOAT, 20000));", UnsupportedTypeError, "16,383", (1, 17), "V"),
        ("postgres", "CREATE TABLE t (a int NOT NUL);", DdlError, "expected NULL, found NUL", (1, 27), "a"),
        ("postgres", "CREATE TABLE t (a int, b);", DdlError, "expected a column type, found the end", (1, 25), "b"),
        (
            "postgres",
            "CREATE TABLE t (a int\n  b int);",
            DdlError,
            "expected an option of a column, found b",
            (2, 3),
            "a",
        ),
        ("postgres", "CREATE TABLE t (a int;", DdlError, "expected a closing bracket", (1, 22), None),
        ("postgres", "SELECT 1;\nCREATE TABLE t (a int DEFAULT 'x);", DdlError, "cannot be read", (2, 1), None),
        ("postgres", "CREATE TABLE t (a int);\n/* open", DdlError, "a comment never ends", (2, 1), None),
        ("postgres", "CREATE TABLE t (a int, A text);", DdlError, "twice", (1, 24), "a"),
        ("postgres", 'CREATE TABLE t (a int, "A" text);', DdlError, "twice", (1, 24), "A"),
        ("postgres", "CREATE TABLE t (a int);\nCREATE TABLE t (a int);", DdlError, "created twice", (2, 14), None),
        ("postgres", 'CREATE TABLE t (a int);\nCREATE TABLE "T" (a int);', DdlError, "ignores case", (2, 14), None),
        ("postgres", "CREATE TABLE t (a int, PRIMARY KEY (b));", SchemaError, "no column b", (1, 14), "b"),
        ("postgres", "CREATE TABLE t (a json PRIMARY KEY);", SchemaError, "cannot be in a key", (1, 17), "a"),
        (
            "postgres",
            "CREATE TABLE t (a int);\nALTER TABLE t DROP x, ALTER b SET NOT NULL;",
            DdlError,
            "no column b",
            (2, 29),
            "b",
        ),
        ("postgres", "CREATE TABLE t (LIKE other);", DdlError, "other is not a table", (1, 22), None),
        ("postgres", f"CREATE TABLE {'t' * 65} (a int);", SchemaError, "is not a name", (1, 14), None),
        ("postgres", f"CREATE TABLE t ({'a' * 65} int);", SchemaError, "refuses the column name", (1, 17), "a" * 65),
        ("oracle", "CREATE TABLE t (a NUMBER, PRIMARY KEY a);", DdlError, "expected (, found the end", (1, 40), None),
        ("bigquery", "SELECT 1", DdlError, "the script makes no table.", None, None),
        ("hive", "CREATE TABLE t AS SELECT 1", DdlError, "left out, because their columns have no types", None, None),
        ("spark", "CREATE TABLE ${db}.t (a INT)", DdlError, "expected a table", (1, 14), None),
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


def test_a_path_is_refused() -> None:
    with pytest.raises(DdlError, match="is a path"):
        schema_sql("dump/schema.sql", "postgres")


# -- where statements end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "script", "texts"),
    [
        ("postgres", "a $$;$$; b $x$ $$;$$ ;$x$; c E'\\';'", ["a $$;$$", "b $x$ $$;$$ ;$x$", "c E'\\';'"]),
        ("postgres", "\\connect x\na; /* ; /* ; */ */ b 'it'';s' -- ;\n;\n\\q", ["a", "b 'it'';s' -- ;"]),
        ("postgres", "COPY t FROM stdin;\n1;2\n\\.\na", ["a"]),
        ("postgres", "COPY t FROM stdin WITH (FORMAT csv);\n;", []),
        (
            "oracle",
            "rem ; it's\na q'[;']' ;\nBEGIN x; y; END;\n/\nb\n/\nc",
            ["a q'[;']'", "BEGIN x; y; END;\n", "b\n", "c"],
        ),
        ("oracle", "CREATE OR REPLACE TRIGGER t BEGIN x; END;", ["CREATE OR REPLACE TRIGGER t BEGIN x; END;"]),
        ("tsql", "a\nGO\nb [;];\nGO 5\nc", ["a", "b [;]", "c"]),
        ("tsql", "CREATE TABLE a (x int) CREATE TABLE b (\n)", ["CREATE TABLE a (x int)", "CREATE TABLE b (\n)"]),
        (
            "tsql",
            "CREATE PROC p AS x; CREATE TABLE y (a int);\nGO\nz",
            ["CREATE PROC p AS x; CREATE TABLE y (a int);", "z"],
        ),
        ("snowflake", "a 'it\\';s'; // ;\nb $$;$$", ["a 'it\\';s'", "b $$;$$"]),
        ("bigquery", "a '''; ' ;'''; # ;\nb `;` \"\\\";\"", ["a '''; ' ;'''", 'b `;` "\\";"']),
        ("spark", "a\n-- COMMAND ----------\nb; c 'x\\'; y'", ["a", "b", "c 'x\\'; y'"]),
        ("hive", "a '\\;'; b", ["a '\\;'", "b"]),
        ("redshift", ";;a;;", ["a"]),
        ("redshift", "\ufeffa", ["a"]),
    ],
)
def test_statements_end_where_the_systems_client_ends_them(dialect: str, script: str, texts: list[str]) -> None:
    found = [statement.text for statement in statements(script, DIALECTS[dialect])]
    assert [" ".join(text.split()) for text in found] == [" ".join(text.split()) for text in texts]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        ";",
        "'",
        "/*",
        "(",
        "CREATE",
        "CREATE TABLE",
        "CREATE TABLE t",
        "ALTER TABLE",
        "CREATE TABLE t (",
        "CREATE TABLE t ()",
        "COMMENT ON",
        "DROP TABLE",
        "USE",
        "SET SCHEMA",
        "CREATE TYPE",
        "CREATE UNIQUE INDEX",
        "EXEC sp_addextendedproperty",
        "CREATE SCHEMA",
        "\x00",
    ],
)
def test_what_ends_early_is_an_error_of_ours(dialect: str, text: str) -> None:
    with pytest.raises(TicdcEmitError):
        schema_sql(text, dialect)
    for script in ("CREATE TABLE t (a int primary key);\n" + text, text + "\nCREATE TABLE t (a int);"):
        with suppress(TicdcEmitError):
            schema_sql(script, dialect)
