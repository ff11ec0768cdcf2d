"""Debezium DDL messages: the defaults of columns, what is not sent, and what is refused."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from debezium_messages import BUILD_TS, COMMIT_TS, codec_of, described, described_columns

from tests.conformance.encoded_rows import table_of
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.debezium.encoder import make_codec
from ticdc_emit.protocols.debezium_common.schema import DebeziumSettings
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.sql.actions import ACTIONS

T = "create table test.t (id int primary key, v varchar(9) comment 'note')"


def test_which_kinds_are_sent() -> None:
    info = table_of(T)
    event = DdlEvent("alter table test.t force", "", "test", "t", info, info, COMMIT_TS)
    codec = codec_of()
    sent = {action for action in ACTIONS if codec.ddl(replace(event, action=action), BUILD_TS) is not None}
    assert len(sent) == 32
    for action in ("add foreign key", "drop foreign key", "shard row ID", "modify auto id cache", "alter table ttl"):
        assert action not in sent


@pytest.mark.parametrize(
    ("column", "default"),
    [
        ("varchar(99) default 'Current_Timestamp'", "1970-01-01 00:00:00"),
        ("varchar(9) default '<nil>'", None),
        ("time default 1.50", "1.50"),
        ("time default 1.5e1", "15"),
        ("time default -5", "-00:00:05"),
        ("datetime default (Str_To_Date('1','%d'))", "Str_To_Date"),
    ],
)
def test_default_expressions(column: str, default: str | None) -> None:
    assert described_columns(f"create table test.t (v {column})")["v"]["defaultValueExpression"] == default


def test_only_the_columns_that_a_statement_defines_are_read_from_it() -> None:
    table = "create table test.t (a time default 0 comment 'a', b time default 0 comment 'b', c int comment 'c')"
    shown = described_columns(table, "alter table test.t modify b time(1) default 5")
    assert [shown[name]["defaultValueExpression"] for name in "ab"] == ["00:00:00", "5"]
    assert [shown[name]["length"] for name in "ab"] == [0, 1]
    assert [shown[name]["comment"] for name in "abc"] == ["a", None, "c"]
    shown = described_columns(table, "alter table test.t alter column c set default 3")
    assert [shown[name]["comment"] for name in "abc"] == ["a", "b", None]
    assert shown["c"]["defaultValueExpression"] == "3"


def test_a_definition_that_the_table_does_not_have_is_refused() -> None:
    """TiCDC looks for the name as it is written, and panics."""
    with pytest.raises(SchemaError) as raised:
        described(T, "alter table test.t alter column V set default 'x'")
    assert (raised.value.column, raised.value.table) == ("V", "test.t")


def test_make_codec_reads_the_changefeed() -> None:
    codec = make_codec(
        load_changefeed(
            "memory://x/?protocol=debezium&debezium-disable-schema=true&enable-tidb-extension=true",
            "[sink.debezium]\noutput-old-value = false",
            time_zone="Asia/Shanghai",
            cluster_id="c",
        )
    )
    own = codec.settings
    assert (own.cluster_id, own.zone) == ("c", "Asia/Shanghai")
    assert (own.codec.enable_tidb_extension, own.codec.debezium_disable_schema, own.codec.output_old_value) == (
        *(True, True),
        False,
    )
    assert pickle.loads(pickle.dumps(codec)) == codec
    info = table_of(T)
    assert not codec.rows(info).reads_old
    plain = make_codec(load_changefeed("memory://x/?protocol=debezium")).settings
    assert plain == DebeziumSettings(plain.codec)
