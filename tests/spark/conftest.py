"""A history of changes to feed the sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from spark_history import FIRST_TSO


@pytest.fixture(scope="session")
def changes(spark: Any) -> Callable[..., Any]:
    """Return ``changes(keys, start=0)``: an insert, an update and, for every third key, a delete of ``keys`` keys."""

    def make(keys: int, start: int = 0) -> Any:
        row = "struct<id:bigint,owner:string,balance:decimal(12,2),note:string,touched:timestamp>"
        return spark.sql(f"""
            with base as (
              select id, {start} + id as at, concat('owner <', id, '>') as owner,
                     cast(id * 7 % 1000 / 100 as decimal(12,2)) as balance
              from range({keys})),
            images as (
              select id, at, named_struct('id', id, 'owner', owner, 'balance', balance, 'note', cast(null as string),
                       'touched', timestamp_millis(1700000000123 + id)) as first,
                     named_struct('id', id, 'owner', owner, 'balance', cast(balance + 1 as decimal(12,2)),
                       'note', 'changed "twice"', 'touched', timestamp_millis(1700000001123 + id)) as second
              from base)
            select 'c' as op, {FIRST_TSO} + (at * 3) * 26214400 as commit_ts, cast(null as {row}) as before,
                   cast(first as {row}) as after from images
            union all
            select 'u', {FIRST_TSO} + (at * 3 + 1) * 26214400, cast(first as {row}), cast(second as {row}) from images
            union all
            select 'd', {FIRST_TSO} + (at * 3 + 2) * 26214400, cast(second as {row}), cast(null as {row})
            from images where id % 3 = 0
        """)

    return make
