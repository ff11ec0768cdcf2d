"""Debezium rows of the releases that no recorded vectors exist for, and their failures."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import pytest
from debezium_messages import codec_of, encoded_rows, inserted, row_messages

from tests.conformance.encoded_rows import table_of
from ticdc_emit.config import RELEASES, ConfigWarning, load_changefeed
from ticdc_emit.errors import ReleaseDefectError
from ticdc_emit.protocols.debezium.encoder import field_schema, make_codec
from ticdc_emit.protocols.debezium_common.schema import DebeziumSettings
from ticdc_emit.schema.events import DdlEvent

LABELS = "create table test.t (id int primary key, e enum('a','b') default 'b', s set('x','y') default 'x,y')"


def options(release: str) -> dict[str, Any]:
    return {"switches": RELEASES[release].debezium}


def schema_of(column: str, release: str) -> dict[str, Any] | None:
    info = table_of(f"create table test.t (v {column})")
    schema = field_schema(info.column("v"), DebeziumSettings(**options(release)))
    return None if schema is None else json.loads(schema)


@pytest.mark.parametrize(
    ("column", "stored", "converted"),
    [
        ("int default 5", 5, 5),
        ("decimal(6,2) default '1.50'", 1.5, 1.5),
        ("year default 2001", 2001, 2001),
        ("bit(9) default b'100000001'", "\x01\x01", "AQE="),
        ("date default '2020-01-02'", None, 18263),
        ("time default '01:02:03'", None, 3_723_000_000),
        ("datetime default '2020-01-02 03:04:05'", "2020-01-02 03:04:05", 1_577_934_245_000),
        ("datetime not null default '0000-00-00 00:00:00'", 0, 0),
        ("datetime default '0000-00-00 00:00:00'", None, None),
        ("datetime default current_timestamp", 0, 0),
        ("timestamp default '2020-01-02 03:04:05'", "2020-01-02 03:04:05", "2020-01-02T03:04:05Z"),
        ("timestamp not null default current_timestamp", 0, "1970-01-01T00:00:00Z"),
        ("varchar(9) default 'a\"b'", 'a"b', 'a"b'),
    ],
)
def test_8_5_0_shows_defaults_as_tidb_stores_them(column: str, stored: object, converted: object) -> None:
    shown = [(schema_of(column, release) or {}).get("default") for release in ("classic-8.5.0", "classic-8.5.1")]
    assert shown == [stored, converted]
    assert "default" not in (schema_of(column, "classic-8.1.2") or {})


def test_the_type_of_a_float_with_a_scale() -> None:
    kinds = [(schema_of("float(7,3)", name) or {})["type"] for name in ("classic-8.5.0", "classic-8.5.1")]
    assert kinds == ["float", "double"]


def test_a_default_without_bits_has_no_field_before_the_type_of_tidb() -> None:
    assert schema_of("bit(8) default ''", "classic-8.5.1") is None
    assert schema_of("bit(8) default ''", "classic") == {}
    assert schema_of("bit(8) default ''", "classic-8.5.0") is not None


@pytest.mark.parametrize("rows", [1, 300])
def test_early_dates_in_8_5_0_and_later(rows: int) -> None:
    table = (
        "create table test.t (id int primary key, d date, z date not null, t datetime, a timestamp null, "
        "b timestamp(3) not null, c timestamp null)"
    )
    row = {
        "d": "0001-01-01",
        "z": "0000-00-00",
        "t": "0099-02-03 04:05:06",
        "a": "0000-00-00 00:00:00",
        "b": "0000-00-00 00:00:00.000",
        "c": "1969-12-31 20:00:01",
    }
    given = [{"id": key, **row} for key in range(rows)]
    texts = {}
    for release in ("classic-8.5.0", "classic-8.5.1"):
        shown = [json.loads(text) for text in inserted(table, given, zone="America/New_York", **options(release))]
        assert [each.pop("id") for each in shown] == list(range(rows))
        assert shown == shown[:1] * rows
        texts[release] = shown[0]
    assert texts["classic-8.5.0"] == {
        "d": -719_162,
        "z": 0,
        "t": -59_040_129_294_000,
        "a": None,
        "b": "1970-01-01T00:00:00.000Z",
        "c": "1970-01-01T01:00:01Z",
    }
    assert texts["classic-8.5.1"] == {
        "d": 11_323,
        "z": 0,
        "t": 918_014_706_000,
        "a": "1970-01-01T00:00:00Z",
        "b": "1970-01-01T00:00:00Z",
        "c": "1970-01-01T00:00:00Z",
    }


def test_a_datetime_without_a_month_is_null_in_8_5_0() -> None:
    (text,) = inserted(
        "create table test.t (id int primary key, t datetime)",
        [{"id": 1, "t": "2020-00-00 00:00:00"}],
        **options("classic-8.5.0"),
    )
    assert text == b'{"id":1,"t":null}'


def test_null_stays_null_in_8_5_0_and_a_default_replaces_it_later() -> None:
    table = "create table test.t (id int primary key, a int default 5, b varbinary(9) default 'abc')"
    texts = {
        name: inserted(table, [{"id": 1, "a": None, "b": None}], **options(name))[0]
        for name in ("classic-8.5.0", "classic-8.5.1")
    }
    assert texts["classic-8.5.0"] == b'{"id":1,"a":null,"b":null}'
    assert texts["classic-8.5.1"] == b'{"id":1,"a":5,"b":"YWJj","b":"abc"}'


@pytest.mark.parametrize("release", ["classic-8.5.1", "classic-8.5.4"])
def test_null_labels_fail_where_a_default_replaces_them(release: str) -> None:
    changes = [{"op": "c", "after": {"id": key, "e": "a", "s": s}} for key, s in ((1, "x"), (2, None))]
    with pytest.raises(
        ReleaseDefectError, match=r"NULL in an ENUM or SET with a DEFAULT fails in TiCDC 8\.5\.1"
    ) as refused:
        encoded_rows(LABELS, changes, **options(release))
    assert (refused.value.column, refused.value.table) == ("s", "test.t")
    assert refused.value.row["id"] == 2
    encoded_rows(LABELS, changes[:1], **options(release))


@pytest.mark.parametrize(
    ("release", "shown"),
    [
        ("classic-8.5.0", b'{"id":1,"e":null,"s":null}'),
        ("classic-8.5.5", b'{"id":1,"e":"b","s":"x,y"}'),
        ("next-8.5.4", b'{"id":1,"e":"","s":""}'),
        ("next-8.5.5", b'{"id":1,"e":"b","s":"x,y"}'),
    ],
)
def test_null_labels_by_release(release: str, shown: bytes) -> None:
    assert inserted(LABELS, [{"id": 1, "e": None, "s": None}], **options(release)) == [shown]


def test_8_1_2_has_no_keys_and_names_schemas_as_the_tables() -> None:
    table, changes = "create table test.`a-b` (id int primary key)", [{"op": "c", "after": {"id": 1}}]
    encoded = encoded_rows(table, changes, cluster_id="c-1", **options("classic-8.1.2")).encoded.whole()
    assert encoded.keys is None
    assert json.loads(encoded.values[0].as_py())["schema"]["name"] == "c-1.test.a-b.Envelope"
    ((key, value),) = row_messages(table, changes, cluster_id="c-1", **options("classic-8.5.0"))
    assert json.loads(key)["schema"]["name"] == "c_1.test.a_b.Key"
    assert json.loads(value)["schema"]["name"] == "c_1.test.a_b.Envelope"


def test_8_5_0_has_no_virtual_columns_in_schemas() -> None:
    table = "create table test.t (id int primary key, v int as (id + 1) virtual)"
    names = {}
    for release in ("classic-8.5.0", "classic-8.5.1"):
        ((_, value),) = row_messages(table, [{"op": "c", "after": {"id": 1}}], **options(release))
        before, *_ = json.loads(value)["schema"]["fields"]
        names[release] = [field["field"] for field in before["fields"]]
    assert names == {"classic-8.5.0": ["id"], "classic-8.5.1": ["id", "v"]}


def test_selected_columns_crash_up_to_8_5_2() -> None:
    table = table_of("create table test.t (id int primary key, a int, b int)")
    selected = replace(table, selected=frozenset({"id", "a"}))
    changes = [{"op": "c", "after": {"id": 1, "a": 2, "b": 3}}]
    with pytest.raises(ReleaseDefectError, match="dropped columns crashes"):
        encoded_rows(selected, changes, **options("classic-8.5.2"))
    encoded_rows(table, changes, **options("classic-8.5.2"))
    encoded_rows(selected, changes, **options("classic-8.5.3"))


def test_the_extension_has_no_effect_in_classic_releases() -> None:
    uri = "kafka://127.0.0.1:9092/topic?protocol=debezium&enable-tidb-extension=true"
    with pytest.warns(ConfigWarning, match="enable-tidb-extension has no effect with the debezium protocol"):
        load_changefeed(uri, release="classic-8.5.7")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_changefeed(uri, release="classic")


@pytest.mark.filterwarnings("ignore:enable-tidb-extension has no effect")
def test_classic_releases_send_rows_only() -> None:
    uri = "kafka://127.0.0.1:9092/topic?protocol=debezium&enable-tidb-extension=true"
    event = DdlEvent(LABELS, "create table", "test", "t", table_of(LABELS))
    for release, sends in (("classic-8.5.7", False), ("classic", True), ("next-8.5.4", True)):
        codec = make_codec(load_changefeed(uri, release=release))
        assert (codec.ddl(event, 1) is not None) is sends
        assert (codec.watermark(1, 1) is not None) is sends
        assert (codec.settings.codec.sends_ddl, codec.settings.codec.sends_watermarks) == (sends, sends)
    assert codec_of().ddl(event, 1) is not None
