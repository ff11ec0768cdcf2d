"""The table and the time line of the Spark tests."""

from __future__ import annotations

FIRST_TSO = 450_000_000_262_144_000
SCHEMA = """
create table test.account (
  id bigint primary key, owner varchar(40) not null, balance decimal(12,2) not null, note text,
  touched timestamp(3) null
);
"""


def tso(step: int) -> int:
    """The commit_ts of step ``step`` of the history: one per 100 ms."""
    return FIRST_TSO + step * (100 << 18)
