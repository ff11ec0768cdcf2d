"""Columns of one kind from many tables: what is made of them together, and what is left to each alone."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from ticdc_emit.columnar.buffers import Columns
from ticdc_emit.columnar.packed_fields import elements_of
from ticdc_emit.columnar.small_batches import BatchedColumns, ColumnBatcher
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column


def columns(*types: str) -> list[Column]:
    names = [f"c{place} {each}" for place, each in enumerate(types)]
    return list(catalog_from_sql(f"create table t ({', '.join(names)})").table("test", "t").columns)


def one_each(batcher: ColumnBatcher, *given: tuple[Column, pa.Array]) -> list[BatchedColumns]:
    """Return columns that are each the only one of its group."""
    return [batcher.add([column], {column.name: array}) for column, array in given]


def test_texts_of_columns_of_other_lengths_are_made_together() -> None:
    short, long = columns("varchar(3)", "varchar(9)")
    batched = one_each(ColumnBatcher(Rendering()), (short, pa.array(["ab", "c"])), (long, pa.array(["abc"])))
    made = []

    def upper(column: Column, values: pa.Array) -> pa.Array:
        made.append(len(values))
        return values

    shown = [own.rendered(name, "upper", upper) for own in batched for name in own]
    assert [text and text.to_pylist() for text in shown] == [["ab", "c"], ["abc"]]
    assert made == [3]


@pytest.mark.parametrize("text", ["abcd", "ééé"])  # the second has three characters, but six bytes
def test_a_column_makes_its_texts_alone_where_any_of_them_all_may_be_too_long_for_it(text: str) -> None:
    kinds = columns("varchar(3)", "varchar(9)", "varchar(99)")
    texts = (pa.array([each]) for each in ("a", text, "b"))
    batched = one_each(ColumnBatcher(Rendering()), *zip(kinds, texts, strict=True))
    left = [list(own.not_accepted([column])) for own, column in zip(batched, kinds, strict=True)]
    assert left == [[kinds[0]], [], []]
    assert batched[0].accepted(kinds[0].name) is None


def test_rows_are_laid_out_in_runs_of_the_columns_that_are_made_together() -> None:
    one, only, two = columns("int", "bigint", "varchar(3)")
    batcher = ColumnBatcher(Rendering())
    arrays = {one.name: pa.array([1, None], pa.int32()), only.name: pa.array([5, 6]), two.name: pa.array(["a", "bc"])}
    groups = [([one, only, two], arrays), ([two, one], {name: array.slice(1) for name, array in arrays.items()})]
    batched = [batcher.add(shown, own) for shown, own in groups]
    for (shown, _), own in zip(groups, batched, strict=True):
        own.join_rows(shown)

    def lay(column: Column, values: pa.Array) -> list[pa.Array]:
        return elements_of([b"<", values.cast(pa.string()), b">"], len(values))

    runs = [own.rows(shown, "text", lay) for (shown, _), own in zip(groups, batched, strict=True)]
    found = [[(count, made and made.to_pylist()) for count, made in own or []] for own in runs]
    assert found == [[(1, [b"<1>", b"<>"]), (1, None), (1, [b"<a>", b"<bc>"])], [(2, [b"<bc><>"])]]
    assert batched[0].rows([one], "text", lay) is None


def test_neighbours_in_a_block_are_made_of_its_column_and_others_are_put_together() -> None:
    (one,) = columns("varchar(3)")
    block = {one.name: pa.array(["a", "b", None, "d", "e"])}
    batcher = ColumnBatcher(Rendering())
    parts = [Columns(block, start, count) for start, count in ((1, 1), (2, 2), (0, 1))]
    batched = [batcher.add([one], each) for each in (*parts, {one.name: pa.array(["z"])})]
    made = [own.rendered(one.name, "as it is", lambda _, values: values) for own in batched]
    shown = [each and each.to_pylist() for each in made]
    assert shown == [["b"], [None, "d"], ["a"], ["z"]]
    assert [each[one.name].to_pylist() for each in parts] == shown[:3]


def test_bytes_of_other_lengths_are_of_other_kinds() -> None:
    kinds = columns("binary(2)", "binary(3)")
    batched = one_each(ColumnBatcher(Rendering()), *((column, pa.array([b"a"])) for column in kinds))
    assert [own.accepted(column.name) for own, column in zip(batched, kinds, strict=True)] == [None, None]


def test_equal_kinds_are_one_object_and_do_not_travel() -> None:
    one, other = columns("int comment 'x'", "int")
    assert one.kind is other.kind
    assert "kind" not in vars(pickle.loads(pickle.dumps(one)))
