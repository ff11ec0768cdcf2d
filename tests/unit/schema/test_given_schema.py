"""What is given in the place of DDL text: a path, something else, or a statement with a typing error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.errors import DdlError
from ticdc_emit.pipeline.run import Changefeed

URI = "memory://given?protocol=canal-json"


@pytest.mark.parametrize("schema", ["shop.sql", "./shop", "a/b.ddl", r"C:\shop.sql", " shop.sql\n", Path("shop.sql")])
def test_a_path_must_be_read_first(schema: Any) -> None:
    with pytest.raises(DdlError, match="is a path, not DDL") as caught:
        Encoder(URI, schema)
    assert "read_text" in caught.value.remedy
    with pytest.raises(DdlError, match="is a path, not DDL"):
        Changefeed(load_changefeed(URI), MemorySink("given"), schema)


@pytest.mark.parametrize("schema", [b"create table t (id int primary key)", 5, ["create table t (a int)"]])
def test_no_text(schema: Any) -> None:
    with pytest.raises(DdlError, match="not DDL") as caught:
        Encoder(URI, schema)
    assert caught.value.remedy.startswith("Give the text of CREATE TABLE")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("create tabel x (id int primary key)", "expected TABLE, INDEX, VIEW or DATABASE, found 'tabel'"),
        ("create temporary tabel x (id int)", "expected TABLE, found 'tabel'"),
        ("create unique key x on t (a)", "expected INDEX, found 'key'"),
        ("creat table x (id int)", "expected a DDL statement: CREATE, ALTER, DROP, RENAME, TRUNCATE or USE, found"),
        ("drop tabel x", "expected TABLE, VIEW, INDEX or DATABASE, found 'tabel'"),
    ],
)
def test_typing_errors(statement: str, expected: str) -> None:
    with pytest.raises(DdlError) as caught:
        Encoder(URI, statement)
    assert expected in str(caught.value)
