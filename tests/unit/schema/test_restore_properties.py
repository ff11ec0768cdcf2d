"""Random DDL: restoring its canonical text changes nothing, and it builds the same schemas."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_ddl import EXPRESSIONS, noisy, statements, table_scripts

from ticdc_emit import restore_ddl
from ticdc_emit.errors import DdlError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.call_tree import call_tree, parse_call_tree
from ticdc_emit.sql.nodes.base import STORED, WIRE, every_node
from ticdc_emit.sql.nodes.tables import IndexOptions, TableOption, TypeSpec
from ticdc_emit.sql.script import parse_ddl, parse_expression
from ticdc_emit.strategies import ddl, tables

STEPS = 4
SHARE = 32  # of the examples run with the other tests


def settled(catalog: Catalog) -> list[TableInfo]:
    return [replace(info, version=0, update_ts=0) for info in catalog.tables()]


def applied(*queries: str) -> Catalog:
    catalog = Catalog()
    for query in queries:
        catalog.apply(query, schema="test")
    return catalog


def survives(query: str) -> bool:
    """Whether TiDB's own text is read as it was: it prints backslashes of labels, options and keys' comments bare."""
    return "\\" not in query or not any("\\" in text for text in map(bare_text, every_node(parse_ddl(query))))


def bare_text(node: object) -> str:
    if isinstance(node, TableOption | IndexOptions):
        return str(node)
    return "".join(map(str, node.elems)) if isinstance(node, TypeSpec) else ""


@settings(max_examples=examples(1_500), deadline=None)
@given(EXPRESSIONS)
def test_the_restored_text_of_an_expression_computes_the_same(expression: str) -> None:
    node = parse_expression(expression)
    for style in (WIRE, STORED):
        assert parse_call_tree(node.restore(style)) == call_tree(node)


@settings(max_examples=examples(4_000, SHARE), deadline=None)
@given(statements(), st.integers(0, 999))
def test_the_restored_text_restores_to_itself_whatever_its_blanks_and_letters(query: str, seed: int) -> None:
    restored = restore_ddl(query)
    assert restore_ddl(noisy(query, random.Random(seed))) == restored
    if survives(query):
        assert restore_ddl(restored).rstrip() == restored.rstrip()


@settings(max_examples=examples(3_000, SHARE), deadline=None)
@given(table_scripts())
def test_the_restored_text_builds_the_same_table(query: str) -> None:
    assume(survives(query))
    try:
        catalog = applied(query)
    except DdlError:
        assume(False)  # a key of what cannot be one, a TTL of a column in it ...
        return
    assert settled(applied(restore_ddl(query))) == settled(catalog)


@settings(max_examples=examples(1_500, SHARE), deadline=None)
@given(st.data())
def test_a_history_of_restored_texts_builds_the_same_tables(data: st.DataObject) -> None:
    given_texts, restored_texts = applied(), applied()
    queries = [data.draw(tables())]
    given_texts.apply(queries[0])
    for _ in range(data.draw(st.integers(0, STEPS))):
        queries.append(data.draw(ddl(given_texts)))
        given_texts.apply(queries[-1])
    assume(all(map(survives, queries)))
    for query in queries:
        restored = restore_ddl(query)
        assert restore_ddl(restored) == restored
        restored_texts.apply(restored)
    assert settled(given_texts) == settled(restored_texts)
