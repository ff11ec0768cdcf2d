"""Columns of one kind from many tables: what is made of them together, and what is left to each alone."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from ticdc_emit.columnar.buffers import Columns
from ticdc_emit.columnar.packed_fields import elements_of
from ticdc_emit.columnar.small_batches import ColumnPool
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column


def columns(*types: str) -> list[Column]:
    names = [f"c{place} {each}" for place, each in enumerate(types)]
    return list(catalog_from_sql(f"create table t ({', '.join(names)})").table("test", "t").columns)


def test_texts_of_columns_of_other_lengths_are_made_together() -> None:
    short, long = columns("varchar(3)", "varchar(9)")
    pool = ColumnPool(Rendering())
    pooled = [pool.add(column, pa.array(texts)) for column, texts in ((short, ["ab", "c"]), (long, ["abc"]))]
    made = []
    shown = [each and each.rendered("upper", lambda _, values: made.append(len(values)) or values) for each in pooled]
    assert [text and text.to_pylist() for text in shown] == [["ab", "c"], ["abc"]]
    assert made == [3]


@pytest.mark.parametrize("text", ["abcd", "ééé"])  # the second has three characters, but six bytes
def test_a_column_makes_its_texts_alone_where_any_of_them_all_may_be_too_long_for_it(text: str) -> None:
    short, long, longer = columns("varchar(3)", "varchar(9)", "varchar(99)")
    pool = ColumnPool(Rendering())
    pooled = [pool.add(short, pa.array(["a"])), pool.add(long, pa.array([text])), pool.add(longer, pa.array(["b"]))]
    assert [each is not None and each.is_sound() for each in pooled] == [False, True, True]
    assert pooled[0] is not None
    assert pooled[0].accepted() is None


def test_rows_are_laid_out_in_runs_of_the_columns_that_are_made_together() -> None:
    one, only, two = columns("int", "bigint", "varchar(3)")
    pool = ColumnPool(Rendering())
    arrays = {one.name: pa.array([1, None], pa.int32()), only.name: pa.array([5, 6]), two.name: pa.array(["a", "bc"])}
    added = {each.name: pool.add(each, arrays[each.name]) for each in (one, only, two)}
    others = [pool.add(each, arrays[each.name].slice(1)) for each in (two, one)]
    groups = [pool.add_rows([each for each in group if each is not None]) for group in (added.values(), others)]

    def lay(column: Column, values: pa.Array) -> list[pa.Array]:
        return elements_of([b"<", values.cast(pa.string()), b">"], len(values))

    runs = [pool.runs(group, "text", lay) for group in groups]
    shown = [[(count, made and made.to_pylist()) for count, made in own] for own in runs]
    assert shown == [[(1, [b"<1>", b"<>"]), (1, None), (1, [b"<a>", b"<bc>"])], [(2, [b"<bc><>"])]]


def test_neighbours_in_a_block_are_made_of_its_column_and_others_are_put_together() -> None:
    (one,) = columns("varchar(3)")
    block = {one.name: pa.array(["a", "b", None, "d", "e"])}
    pool = ColumnPool(Rendering())
    parts = [Columns(block, start, count) for start, count in ((1, 1), (2, 2), (0, 1))]
    pooled = [pool.add_all([one], each)[one.name] for each in (*parts, {one.name: pa.array(["z"])})]
    shown = [(made := each.rendered("as it is", lambda _, values: values)) and made.to_pylist() for each in pooled]
    assert shown == [["b"], [None, "d"], ["a"], ["z"]]
    assert [each[one.name].to_pylist() for each in parts] == shown[:3]


def test_bytes_of_other_lengths_are_of_other_kinds() -> None:
    one, other = columns("binary(2)", "binary(3)")
    pool = ColumnPool(Rendering())
    pooled = [pool.add(column, pa.array([b"a"])) for column in (one, other)]
    assert [each and each.accepted() for each in pooled] == [None, None]


def test_equal_kinds_are_one_object_and_do_not_travel() -> None:
    one, other = columns("int comment 'x'", "int")
    assert one.kind is other.kind
    assert "kind" not in vars(pickle.loads(pickle.dumps(one)))
