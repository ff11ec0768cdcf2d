"""Mutated DDL of the recorded cases: each statement is applied or refused with a SchemaError, and soon."""

from __future__ import annotations

import json
import random
import sys
import time
from contextlib import suppress
from functools import cache

import pytest
from conformance.table_infos import table_info_to_dict
from vector_files import load_vector, vector_names

from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql

CASES = ("ddl", "partition", "default", "index", "adv_")
WORDS = r"""
    ( ) , ; . = ' " ` `` '' @ # -- /* */ /*! /*T![ttl] \ - + * -> ->> 0 1 8193 64 65 255 1e9 1e999999999 .5
    99999999999999999999 0x 0xfff 0b1 x'f' b'2' n'x' _utf8mb4 _binary'a' _x null default not primary key unique index
    constraint foreign references check generated always as stored virtual comment collate charset character set binary
    auto_increment auto_random serial int bigint unsigned decimal(65,30) float(5,3) double bit(64) varchar(65535)
    text blob json vector(3) enum('a','b') set('') date datetime(6) timestamp time(3) year now() current_timestamp(3)
    uuid() add drop modify column change rename to first after alter table create view select * from t with like if
    exists or replace partition by hash key range list columns values less than in maxvalue partitions coalesce
    reorganize into truncate exchange remove partitioning visible invisible clustered nonclustered ttl interval day
    convert cast array é 列 ſ ı ² ٣ 😀
"""
TOKENS = (*WORDS.split(), "\u00a0", "\u2028", "\0", "\x7f", "\ud800", "\ufeff", "\n")


@cache
def corpus() -> list[list[str]]:
    """The statements of each case, in order."""
    cases = [load_vector(name) for name in vector_names() if any(part in name for part in CASES)]
    return [[event["query"] for event in case["events"] if event["kind"] == "ddl"] for case in cases]


def mutated(query: str, dice: random.Random) -> str:
    """Change a few places: letters, words, whole stretches, or pieces of other statements."""
    for _ in range(dice.randint(1, 4)):
        start = dice.randrange(len(query) + 1)
        end = min(len(query), start + dice.choice((0, 0, 1, 1, 2, 5, 20, 100)))
        piece = query[start:end]
        match dice.randrange(7):
            case 0:
                piece = dice.choice(TOKENS)
            case 1:
                piece = f" {dice.choice(TOKENS)} {piece} {dice.choice(TOKENS)} "
            case 2:
                piece = ""
            case 3:
                piece = piece * dice.choice((2, 3, 100, 500))
            case 4:
                other = dice.choice(dice.choice(corpus()))
                at = dice.randrange(len(other) + 1)
                piece = other[at : at + dice.randint(1, 60)]
            case 5:
                piece = "".join(dice.sample(piece, len(piece)))
            case _:
                words = query.split(" ")
                words[dice.randrange(len(words))] = dice.choice(TOKENS)
                query, piece, start, end = " ".join(words), "", 0, 0
        query = query[:start] + piece + query[end:]
    return query[:200_000]


def tried(case: list[str], dice: random.Random) -> list[tuple[str, float]]:
    """Apply a case with some statements changed; return those with the seconds that they took."""
    catalog, spent = Catalog(), []
    for query in case:
        if dice.random() < 0.5:
            hostile = mutated(query, dice)
            apply = catalog.apply if dice.random() < 0.9 else catalog_from_sql
            before = time.process_time()
            try:
                apply(hostile)
            except SchemaError as error:
                str(error)
            except BaseException:
                print(f"{apply.__name__}({hostile!r})", file=sys.stderr)
                raise
            spent.append((hostile, time.process_time() - before))
        with suppress(SchemaError):  # what was changed before may have taken its table away
            catalog.apply(query)
    for table in catalog.tables():
        json.dumps(table_info_to_dict(table))
    return spent


@pytest.mark.timeout(60)
@pytest.mark.parametrize("seed", range(4))
def test_mutated_ddl(seed: int) -> None:
    dice = random.Random(seed)
    assert sum(len(tried(dice.choice(corpus()), dice)) for _ in range(12)) > 30
