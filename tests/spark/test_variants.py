"""VARIANT columns of Spark as input for JSON columns: the bytes of the JSON text that Spark gives, or a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from ticdc_emit import from_operations, messages, replay
from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.spark import TicdcSink, encode
from ticdc_emit.spark.frames import change_columns

pytestmark = pytest.mark.spark

SCHEMA = "create table shop.docs (id int primary key, doc json, `the.note` json)"
URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=1"
DOCUMENTS = """
    (1, 'c', '{"b": 1, "a": [1.50, true, "x\\\\"y"]}', null),
    (2, 'c', 'null', '"text"'),
    (1, 'u', '{"a": {"z": 1e10, "k": -0.25}}', '[]'),
    (2, 'd', 'null', '"text"'),
    (3, 'c', null, '12345678901234567890')
"""
_names = count()


@pytest.fixture(scope="module")
def log(spark: Any) -> Any:
    """A change table whose documents are VARIANT."""
    return spark.sql(f"""
        select id, op, parse_json(doc) as doc, parse_json(note) as `the.note`,
               timestamp_seconds(1700000000 + monotonically_increasing_id()) as at
        from (select /*+ coalesce(1) */ * from values {DOCUMENTS} as log(id, op, doc, note))
    """)


@pytest.fixture(scope="module")
def changes(log: Any) -> Any:
    """Typed row changes with VARIANT in their images, as the replay's functions make them."""
    return from_operations(log, "id", op="op", at="at").localCheckpoint()


def as_text(changes: Any) -> Any:
    """Return the changes with JSON text, as a user without this feature would convert them."""
    from pyspark.sql import functions as F  # noqa: N812

    for image in ("before", "after"):
        for name in ("doc", "`the.note`"):
            changes = changes.withColumn(image, F.col(image).withField(name, F.to_json(f"{image}.{name}")))
    return changes


def sent(send: Callable[[str], object]) -> list[Any]:
    topic = f"variants-{next(_names)}"
    send(f"memory://{topic}?{URI}")
    return [(each.key, each.value) for each in messages(topic)]


def test_a_variant_is_sent_as_its_json(spark: Any, changes: Any) -> None:
    expected = sent(lambda uri: TicdcSink(uri, SCHEMA).write(as_text(changes)))
    assert len([value for _, value in expected if b'"type":"TIDB_WATERMARK"' not in value]) == 5
    texts = b"\n".join(value for _, value in expected).decode()
    for text in (r'"doc":"null"', r'"doc":null', r'"the.note":"\"text\""', r'"the.note":null', r"12345678901234567890"):
        assert text in texts
    assert sent(lambda uri: TicdcSink(uri, SCHEMA).write(changes)) == expected
    assert sent(lambda uri: TicdcSink(uri, SCHEMA)(changes, 0))[:-1] == expected[:-1]  # the last watermark is earlier
    assert sent(lambda uri: replay(spark, uri, {"shop.docs": changes}, SCHEMA)) == expected


def test_slices_of_a_replay_and_its_state(spark: Any, changes: Any, tmp_path: Any) -> None:
    def sliced(name: str, df: Any) -> list[Any]:
        state = str(tmp_path / name)
        return sent(lambda uri: replay(spark, uri, {"shop.docs": df}, SCHEMA, slice=2, state_uri=state))

    assert sliced("variant", changes) == sliced("text", as_text(changes))


def test_encode(changes: Any) -> None:
    one, other = (
        encode(each, f"memory://docs?{URI}", SCHEMA).orderBy("commit_ts").collect()
        for each in (changes, as_text(changes))
    )
    assert one == other
    assert len(one) == 5


FEED = """
    (1, '{"a": 1, "b": [true]}', 'insert', 0), (2, '{"a": 1, "b": [true]}', 'insert', 0), (3, 'null', 'insert', 0),
    (1, '{"a": 1, "b": [true]}', 'update_preimage', 1), (1, '{"a": 1, "b": [false]}', 'update_postimage', 1),
    (2, '{"a": 1, "b": [true]}', 'update_preimage', 1), (2, '{ "b": [true], "a": 1 }', 'update_postimage', 1),
    (3, 'null', 'update_preimage', 1), (3, null, 'update_postimage', 1)
"""


def test_a_change_feed_with_a_variant(spark: Any) -> None:
    """Of three rows that a commit writes again, the second one is as before."""
    feed = spark.sql(f"""
        select id, parse_json(doc) as doc, _change_type, _commit_version,
               timestamp_seconds(1700000000 + _commit_version) as _commit_timestamp
        from values {FEED} as feed(id, doc, _change_type, _commit_version)
    """)
    schema = "create table shop.docs (id int primary key, doc json)"
    found = sent(lambda uri: TicdcSink(uri, schema).write(feed))
    rows = [json.loads(value) for _, value in found if b'"type":"TIDB_WATERMARK"' not in value]
    assert [(row["type"], row["data"][0]["id"], row["data"][0]["doc"]) for row in rows] == [
        ("INSERT", "1", '{"a": 1, "b": [true]}'),
        ("INSERT", "2", '{"a": 1, "b": [true]}'),
        ("INSERT", "3", "null"),
        ("UPDATE", "1", '{"a": 1, "b": [false]}'),
        ("UPDATE", "3", None),
    ]
    assert [row["old"][0]["doc"] for row in rows[3:]] == ['{"a": 1, "b": [true]}', "null"]
    assert sent(lambda uri: replay(spark, uri, {"shop.docs": feed}, schema)) == found


def test_rows_without_a_variant_keep_their_plan(changes: Any) -> None:
    text = as_text(changes).select("op", "commit_ts", "before", "after")
    assert change_columns(text, "shop.docs") is text


@pytest.mark.parametrize(
    ("image", "table", "cause"),
    [
        ("after", "id int primary key, doc varchar(20)", r"Column `doc` is VARCHAR\(20\), but the input is VARIANT"),
        ("after.doc", "id int primary key, doc json", "the image 'after' is variant, not a struct"),
        (
            "map('doc', after.doc)",
            "id int primary key, doc json",
            "the image 'after' is map<string,variant>, not a str",
        ),
    ],
)
def test_what_no_json_column_takes_is_refused(changes: Any, image: str, table: str, cause: str) -> None:
    topic = f"variants-{next(_names)}"
    sink = TicdcSink(f"memory://{topic}?{URI}", f"create table shop.docs ({table})")
    df = changes.selectExpr("op", "commit_ts", f"{image} as after")
    with pytest.raises(UnsupportedTypeError, match=cause) as error:
        sink.write(df)
    assert error.value.context["table"] == "shop.docs"
    assert messages(topic) == []


def test_the_data_source_says_how_to_convert(changes: Any, tmp_path: Any) -> None:
    options = {"sinkUri": f"jsonl://{tmp_path}/out?{URI}", "schema": SCHEMA}
    with pytest.raises(Exception, match=r"UnsupportedTypeError: the column is VARIANT.*F\.to_json\('before\.doc'\)"):
        changes.write.format("ticdc").mode("append").options(**options).save()
    assert not (tmp_path / "out").exists()
