"""Calls by name: aliases, functions that TiDB refuses in an expression index, and the row of every other one.

Rule source: pingcap/tidb ``pkg/expression/function_traits.go`` (``IllegalFunctions4GeneratedColumns``).
"""

from __future__ import annotations

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.inference.operands import Operand
from ticdc_emit.schema.inference.rows import FUNCTIONS
from ticdc_emit.schema.inference.signatures import Arguments

__all__ = ["call"]

_ALIASES = {
    "adddate": "date_add",
    "ceiling": "ceil",
    "character_length": "char_length",
    "date_sub": "date_add",
    "day": "dayofmonth",
    "lcase": "lower",
    "mid": "substr",
    "octet_length": "length",
    "position": "locate",
    "power": "pow",
    "sha": "sha1",
    "subdate": "date_add",
    "substring": "substr",
    "subtime": "addtime",
    "ucase": "upper",
}
_ILLEGAL = frozenset(
    """
    benchmark connection_id curdate current_date current_resource_group current_role current_time current_timestamp
    current_user curtime database found_rows get_lock is_free_lock is_used_lock json_merge last_insert_id load_file
    localtime localtimestamp name_const now rand random_bytes release_all_locks release_lock row_count row schema
    session_user sleep sysdate system_user tidb_bounded_staleness tidb_current_tso tidb_is_ddl_owner tidb_row_checksum
    tidb_version unix_timestamp user utc_date utc_time utc_timestamp uuid uuid_short uuid_v4 uuid_v7 values version
    """.split()  # noqa: SIM905 (a table of words)
)


def call(name: str, arguments: Arguments) -> Operand:
    """Return the type of a call; ``DdlError`` for a function that TiDB refuses here, or that is not in the table."""
    if name in _ILLEGAL:
        raise DdlError(f"an expression index cannot call {name.upper()}(), whose value changes")
    function = FUNCTIONS.get(_ALIASES.get(name, name))
    if function is None:
        raise DdlError(f"the result type of {name.upper()}() is not known")
    return function(arguments)
