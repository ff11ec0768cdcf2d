"""What Spark, DuckDB and ClickHouse read of each option of `[sink.csv]`: the table of docs/storage.md."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from embedded_clickhouse import ClickHouse

from ticdc_emit.config import load_changefeed
from ticdc_emit.traffic.history import History

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TS = 450_000_000_262_144_000
SCHEMA = "create table shop.words (id varchar(10) primary key, word varchar(60), bytes varbinary(60), n int)"
WORDS: dict[str, str | None] = {
    "null": None,
    "empty": "",
    "quotes": "say \"a\", it's 'b'",
    "breaks": "x\r\ny\nz",
    "backslash": "c:\\new\\tab\\",
    "delimiters": "a,b;c\td|+|e",
    "marker": "\\N",
    "marker 2": "NULL",
}
CRLF, LF = {"terminator": "\r\n"}, {"terminator": "\n"}
FORMS: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "the default terminator": ({}, CRLF),
    "a line feed": ({}, LF),
    "another terminator": ({}, {"terminator": "<end>\n"}),
    "a delimiter": ({"delimiter": ";"}, LF),
    "tabs": ({"delimiter": "\t"}, LF),
    "three characters": ({"delimiter": "|+|"}, LF),
    "single quotes": ({"quote": "'"}, LF),
    "no quotes": ({"quote": ""}, LF),
    "no quotes and tabs": ({"quote": "", "delimiter": "\t"}, LF),
    "another null": ({"null": "NULL"}, LF),
    "an empty null": ({"null": ""}, LF),
    "hexadecimal digits": ({"binary-encoding-method": "hex"}, LF),
    "a header": ({"output-field-header": True}, LF),
    "old values": ({"output-old-value": True}, LF),
}
Row = tuple[str, str | None, str | None, str | None]
WRONG = {("Spark", "another null"): {"marker 2"}, ("Spark", "an empty null"): {"empty"}}
"""The rows in which a consumer takes a text for NULL. With the default, Spark does so for the text ``\\N``."""
REFUSED = {("Spark", "another terminator"), ("DuckDB", "another terminator")}
NOT_READ = {
    *((consumer, form) for consumer in ("Spark", "DuckDB") for form in ("no quotes", "no quotes and tabs")),
    ("ClickHouse", "no quotes"),
}
"""Forms whose escapes a consumer does not understand."""


def expected(csv: Mapping[str, Any]) -> list[Row]:
    rows: list[Row] = []
    for number, (key, word) in enumerate(WORDS.items()):
        if word is None:
            rows.append((key, None, None, None))
        else:
            data = word.encode() + b"\xff\0"
            shown = data.hex() if csv.get("binary-encoding-method") == "hex" else b64encode(data).decode()
            rows.append((key, word, shown, str(number)))
    return rows


def written(csv: Mapping[str, Any], sink: Mapping[str, Any], folder: Path) -> str:
    """Return the path of the file with the rows."""
    rows = [
        {
            "schema": "shop", "table": "words", "op": "insert", "commit_ts": TS + number, "before": None,
            "after": {
                "id": key, "word": word, "n": None if word is None else str(number),
                "bytes": None if word is None else b64encode(word.encode() + b"\xff\0").decode(),
            },
        }
        for number, (key, word) in enumerate(WORDS.items())
    ]  # fmt: skip
    document = {"sink": {**sink, "csv": {"include-commit-ts": True, **csv}}}
    History(SCHEMA, rows).files(load_changefeed("noop:///?protocol=csv", document, release="next")).save(folder)
    (path,) = folder.rglob("CDC*.csv")
    return str(path)


def head(csv: Mapping[str, Any]) -> list[str]:
    return ["op", "tbl", "db", "commit_ts", *(["is_update"] if csv.get("output-old-value") else [])]


def check(consumer: str, form: str, read: Callable[[], Sequence[Sequence[Any]]]) -> None:
    """Compare what a consumer reads with what the page says of it."""
    if (consumer, form) in REFUSED:
        with pytest.raises(Exception, match=r"newline|INVALID_LINE_SEPARATOR"):
            read()
        return
    wanted = expected(FORMS[form][0])
    if (consumer, form) in NOT_READ:
        try:
            rows = set(map(tuple, read()))
        except Exception:
            return  # the reader refuses the file
        assert rows != set(wanted)
        return
    lost = WRONG.get((consumer, form), {"marker"} if consumer == "Spark" else set())
    wanted = [(key, None if key in lost else word, data, number) for key, word, data, number in wanted]
    assert [tuple(row) for row in read()] == wanted


@pytest.mark.parametrize("form", FORMS)
def test_spark(form: str, spark: Any, tmp_path: Path) -> None:
    csv, sink = FORMS[form]
    path, quote = written(csv, sink, tmp_path), csv.get("quote", '"')
    options: dict[str, Any] = {
        "sep": csv.get("delimiter", ","),
        "quote": quote,
        "escape": quote or "\\",
        "lineSep": sink["terminator"],
        "multiLine": True,
        "nullValue": csv.get("null", "\\N"),
        "emptyValue": "",
        "header": "output-field-header" in csv,
    }
    fields = ", ".join(f"{name} string" for name in [*head(csv), "id", "word", "bytes", "n"])
    frame = spark.read.schema(fields).options(**options).csv
    check("Spark", form, lambda: frame(path).select("id", "word", "bytes", "n").collect())


@pytest.mark.parametrize("form", FORMS)
def test_duckdb(form: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    csv, sink = FORMS[form]
    path, quote = written(csv, sink, tmp_path), csv.get("quote", '"')
    options: dict[str, Any] = {
        "auto_detect": False,
        "header": "output-field-header" in csv,
        "delim": csv.get("delimiter", ","),
        "quote": quote,
        "escape": quote,
        "new_line": sink["terminator"].replace("\r", "\\r").replace("\n", "\\n"),
        "nullstr": csv.get("null", "\\N"),
        "allow_quoted_nulls": False,
        "columns": dict.fromkeys([*head(csv), "id", "word", "bytes", "n"], "VARCHAR"),
    }
    given = ", ".join(f"{name} = {_duckdb(value)}" for name, value in options.items())
    with duckdb.connect(":memory:") as connection:
        query = f"SELECT id, word, bytes, n FROM read_csv('{path}', {given})"
        check("DuckDB", form, lambda: connection.sql(query).fetchall())


def _duckdb(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_clickhouse(form: str, tmp_path: Path) -> None:
    csv, sink = FORMS[form]
    path, delimiter = written(csv, sink, tmp_path), csv.get("delimiter", ",")
    kind, settings = "CSV", {"format_csv_delimiter": delimiter}
    if csv.get("quote") == "":
        kind = "TSV" if delimiter == "\t" else kind
    elif len(delimiter) > 1 or delimiter == "\t" or sink not in (LF, CRLF):
        kind = "CustomSeparated"
        settings = {
            "format_custom_escaping_rule": "CSV",
            "format_custom_field_delimiter": delimiter,
            "format_custom_row_after_delimiter": sink["terminator"],
        }
    if "null" in csv:
        settings["format_csv_null_representation"] = csv["null"]
    if "output-field-header" in csv:
        settings["input_format_csv_skip_first_lines"] = "1"
    if csv.get("quote") == "'":
        settings["format_csv_allow_single_quotes"] = "1"
    given = ", ".join(f"{name} = {_clickhouse(value)}" for name, value in settings.items() if kind != "TSV")
    fields = ", ".join([f"{name} String" for name in head(csv)] + ["id String", *_NULLABLE])
    query = f"SELECT id, word, bytes, n FROM file('{path}', '{kind}', '{fields}')"
    with closing(ClickHouse(tmp_path / "clickhouse")) as clickhouse:
        check("ClickHouse", form, lambda: [list(row.values()) for row in clickhouse.rows(query, given)])


_NULLABLE = [f"{name} Nullable(String)" for name in ("word", "bytes", "n")]


def _clickhouse(value: str) -> str:
    return value if value.isdigit() else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
