"""A statement that would take too much memory is refused before it does."""

from __future__ import annotations

import pytest

from ticdc_emit.database.session import Session
from ticdc_emit.database.tables import Database
from ticdc_emit.errors import UnsupportedStatementError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.sql.evaluation import documents, values

LONG = "repeat('x', 60000)"
MANY = "insert into a (id, t) values " + ", ".join(f"({number}, 'u')" for number in range(300))


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session of two tables, in which 200,000 bytes are too many."""
    monkeypatch.setattr(values, "MOST_BYTES", 200_000)
    monkeypatch.setattr(documents, "_MOST_JSON", 2_000)
    session = Session(Database(Catalog(), "UTC"), schema="test")
    session.execute("create table a (id int primary key, t longtext, n int as (length(t))); create table j (t json)")
    return session


@pytest.mark.parametrize(
    ("given", "statement"),
    [
        pytest.param("", f"insert into a (id, t) values (1, concat({', '.join([LONG] * 5)}))", id="arguments"),
        pytest.param("", f"insert into a (id, t) values (1, {LONG}), (2, {LONG}), (3, {LONG}), (4, {LONG})", id="rows"),
        pytest.param(MANY, "update a set t = repeat(t, 1000)", id="equal values of many rows"),
        pytest.param(MANY, "update a set t = concat(t, repeat('x', 1000))", id="a constant joined to many rows"),
        pytest.param(MANY, f"update a set t = {LONG}", id="a constant in many rows"),
        pytest.param(MANY, f"update a set t = if(id > 5, {LONG}, '')", id="a constant chosen in many rows"),
        pytest.param(MANY, f"update a set t = coalesce(null, nullif(t, 'u'), {LONG})", id="a constant for nulls"),
        pytest.param(MANY, "update a set t = repeat(id, 1000)", id="other values of many rows"),
    ],
)
def test_a_statement_beyond_the_memory(on: Session, given: str, statement: str) -> None:
    if given:
        on.execute(given)
    before = dict(on.database.tables["test", "a"])
    with pytest.raises(UnsupportedStatementError, match=r"with [\d,]+ bytes \(at most 200,000\)"):
        on.execute(statement)
    assert on.database.tables["test", "a"] == before


def test_what_doubles(on: Session) -> None:
    """The rows of a transaction count together, and so does each of them by itself."""
    on.execute("insert into a (id, t) values (1, 'x')")
    on.execute("insert into j values ('[1]')")
    with pytest.raises(UnsupportedStatementError, match="at most 200,000"):
        on.execute("update a set t = concat(t, t);" * 20)
    with pytest.raises(UnsupportedStatementError, match=r"in another \(at most 2,000\)"):
        on.execute("update j set t = json_array(t, t);" * 20)


def test_the_rows_of_a_transaction(on: Session) -> None:
    inserts = [f"insert into a (id, t) values ({number}, {LONG})" for number in range(20)]
    with pytest.raises(UnsupportedStatementError, match=r"rows of a transaction with .* \(at most 200,000\)"):
        on.execute("; ".join(["begin", *inserts]))
    on.execute("rollback; " + "; ".join(inserts))  # each is a transaction of its own


def test_memory_that_does_not_suffice(on: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("ticdc_emit.database.insert._given", fail)
    with pytest.raises(UnsupportedStatementError, match="the memory does not suffice") as caught:
        on.execute("insert into a (id, t) values (1, 'x')")
    assert "several statements" in str(caught.value)
