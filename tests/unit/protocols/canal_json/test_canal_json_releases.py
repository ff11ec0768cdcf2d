"""Canal-JSON of single releases: what the recorded messages do not show, with few rows and with many."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ticdc_emit import Encoder
from ticdc_emit.errors import ReleaseDefectError
from ticdc_emit.registry.base import MemoryRegistry

COMMIT_TS = 450000000262144000
URI = "kafka://h:9092/topic?protocol=canal-json"
ROWS = pytest.mark.parametrize("copies", [1, 400])


def encoded(
    schema: str, rows: list[dict[str, Any]], release: str, options: str = "", **arguments: Any
) -> list[dict[str, Any]]:
    encoder = Encoder(URI + options, schema, release=release, **arguments)
    given = [{"commit_ts": COMMIT_TS + place, **row} for place, row in enumerate(rows)]
    return [json.loads(value) for value in encoder.encode(given).column("value").to_pylist()]


@ROWS
def test_any_value_that_reads_null_is_null(copies: int) -> None:
    schema = "create table test.t (id int primary key, v varchar(9), b varbinary(9), j json)"
    texts = {"v": "null", "b": b"null", "j": "null"}
    others = {"v": "NULL", "b": b"nul", "j": '"null"'}
    rows = [{"op": "c", "after": {"id": 1, **texts}}, {"op": "c", "after": {"id": 2, **others}}]
    told = {name: value.decode() if isinstance(value, bytes) else value for name, value in texts.items()}
    for release, shown in (("next-8.5.4", dict.fromkeys(texts)), ("next-8.5.5", told)):
        data = [each["data"][0] for each in encoded(schema, rows * copies, release)]
        assert data[0] == {"id": "1", **shown}
        assert data[1] == {"id": "2", **others, "b": "nul"}


def test_a_text_that_reads_null_equals_null() -> None:
    schema = "create table test.t (id int primary key, v varchar(9))"
    row = {"op": "u", "before": {"id": 1, "v": None}, "after": {"id": 1, "v": "null"}}
    updated = "&only-output-updated-columns=true&content-compatible=true"
    for release, old in (("next-8.5.4", {}), ("next-8.5.5", {"v": None})):
        (message,) = encoded(schema, [row], release, updated)
        assert message["old"] == [old]


@ROWS
@pytest.mark.parametrize(
    ("columns", "old"),
    [
        (["id", "b"], [("id", "1"), ("a", ""), ("b", "2"), ("c", ""), ("u", "")]),
        (["a", "c", "u"], [("id", ""), ("a", "1"), ("b", ""), ("c", None), ("u", "4")]),
        (["*"], [("id", "1"), ("a", "1"), ("b", "2"), ("c", None), ("u", "4")]),
    ],
)
def test_the_columns_that_are_not_selected_are_empty_before_an_update(
    columns: list[str], old: list[tuple[str, str | None]], copies: int
) -> None:
    selectors = {"sink": {"column-selectors": [{"matcher": ["*.*"], "columns": columns}]}}
    before = {"id": 1, "a": 1, "b": 2, "c": None, "u": 4}
    row = {"op": "u", "before": before, "after": before | {"b": 3}}
    schema = "create table test.t (id int primary key, a int, b int, c varchar(9), u int not null unique)"
    messages = encoded(schema, [row] * copies, "next-8.5.4", changefeed=selectors)
    assert all(list(each["old"][0].items()) == old for each in messages)
    assert encoded(schema, [row], "next-8.5.5", changefeed=selectors)[0]["old"][0] == {k: v for k, v in old if v != ""}


def test_a_key_that_is_not_selected_is_empty_before_an_update() -> None:
    large = {"large-message-handle": {"large-message-handle-option": "handle-key-only"}}
    selectors = [{"matcher": ["*.*"], "columns": ["u", "v"]}]
    changefeed = {"sink": {"column-selectors": selectors, "kafka-config": large}}
    row = {"op": "u", "before": {"id": 1, "u": 1, "v": "x" * 999}, "after": {"id": 1, "u": 1, "v": "y" * 999}}
    schema = "create table test.t (id int primary key, u int unique not null, v text)"
    options = "&enable-tidb-extension=true&max-message-bytes=900"
    (message,) = encoded(schema, [row], "next-8.5.4", options, changefeed=changefeed)
    assert (message["old"], message["data"], message["_tidb"]["onlyHandleKey"]) == ([{"id": ""}], [{}], True)


VECTORS = "create table test.t (id int primary key, v vector, w vector)"


@pytest.mark.parametrize("release", ["8.5.0", "classic-8.5.7"])
def test_comparing_vectors_crashes_unless_one_is_null(release: str) -> None:
    updated = "&only-output-updated-columns=true&content-compatible=true"
    before = {"id": 1, "v": None, "w": "[1]"}
    allowed = {"op": "u", "before": before, "after": {"id": 1, "v": "[1]", "w": None}}
    (message,) = encoded(VECTORS, [allowed], release, updated)
    assert message["old"] == [{"v": None, "w": "[1]"}]
    same = {"op": "u", "before": before, "after": before}
    with pytest.raises(ReleaseDefectError, match="comparing a VECTOR crashes") as refused:
        encoded(VECTORS, [allowed, same], release, updated)
    assert (refused.value.column, refused.value.row["position"]) == ("w", 1)
    assert encoded(VECTORS, [same], "classic", updated)[0]["old"] == [{}]
    assert encoded(VECTORS, [same], release)[0]["old"] == [{"id": "1", "v": None, "w": "[1]"}]


@pytest.mark.parametrize("protocol", ["canal-json", "simple", "open-protocol", "debezium", "avro"])
def test_doubles_in_json_have_the_form_of_the_release_or_the_file(protocol: str) -> None:
    schema, row = "create table test.t (id int primary key, j json)", {"id": 1, "j": '{"a": 1e27, "b": [15.0]}'}
    uri = f"kafka://h:9092/topic?protocol={protocol}"
    forms = {"new": b"1e27", "old": b"1e+27"}
    for release, default in (("classic-8.1.2", "old"), ("classic-8.5.1", "old"), ("classic", "new"), ("next", "new")):
        for chosen in (None, "new", "old"):
            own = {"release": release} | ({} if chosen is None else {"json_doubles": chosen})
            encoder = Encoder(uri, schema, changefeed={"ticdc-emit": own}, registry=MemoryRegistry())
            value = encoder.encode([{"op": "c", "commit_ts": COMMIT_TS, "after": row}]).column("value")[0].as_py()
            form = chosen or default
            assert (forms[form] in value, b"15.0]" in value) == (True, form == "new")
