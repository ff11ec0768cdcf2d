"""The functions and operators that an expression index may use, one row each: from name and arguments to a type.

A row has the result, the arguments (a letter each, :class:`Signature`), the length, and other differences from the
default. Functions whose type does not follow from such a row have a rule of their own. Rule source: pingcap/tidb
``pkg/expression/builtin.go`` (``funcs``) and ``builtin_*.go``.
"""

from __future__ import annotations

from functools import partial

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.call_tree import ALIASES
from ticdc_emit.sql.inference import results, rules
from ticdc_emit.sql.inference.operands import ASCII_TEXT, MAX_BLOB_WIDTH, Eval, Operand
from ticdc_emit.sql.inference.results import Arguments, Function, Signature
from ticdc_emit.sql.inference.rules import length_of, of_arguments
from ticdc_emit.sql.types import MySQLType

__all__ = ["FUNCTIONS", "call"]


_REAL = partial(Signature, Eval.REAL)
_INT = partial(Signature, Eval.INT)
_TEXT = partial(Signature, Eval.STRING)
_HASH = partial(Signature, Eval.STRING, collation=ASCII_TEXT)
_DATE = partial(Signature, Eval.DATETIME, flen=10, decimal=0, type=MySQLType.DATE, may_be_null=True)
_JSON = partial(Signature, Eval.JSON)
_BIT = partial(Signature, Eval.INT, "ii", is_unsigned=True)
_CLOCK = partial(Signature, Eval.INT, may_be_null=True)
_SAME, _ALL = of_arguments(0), of_arguments(since=0)


def _counted(rule: Function, least: int, most: int | None = None) -> Function:
    """Return a rule that refuses another number of arguments; ``most`` is ``least`` if it is not given."""

    def counted(arguments: Arguments) -> Operand:
        if not least <= len(arguments) <= (least if most is None else most):
            raise DdlError(f"a function in it does not take {len(arguments)} arguments")
        return rule(arguments)

    return counted


_MANY = 1 << 16
FUNCTIONS: dict[str, Function] = {
    # operators
    "+": rules.plus_like(),
    "-": rules.plus_like(),
    "*": rules.plus_like(multiplies=True),
    "/": rules.divide,
    "div": rules.int_divide,
    "mod": _counted(rules.modulo, 2),
    "negated": rules.unary_minus,
    "&": _BIT(),
    "|": _BIT(),
    "^": _BIT(),
    "<<": _BIT(),
    ">>": _BIT(),
    "~": _INT("i", is_unsigned=True),
    "and": _INT("..", 1),
    "or": _INT("..", 1),
    "xor": _INT("..", 1),
    "not": _INT(".", 1),
    "istrue": _INT(".", 1),
    "isfalse": _INT(".", 1),
    "=": partial(rules.compare, "="),
    "<=>": partial(rules.compare, "<=>"),
    "<>": partial(rules.compare, "<>"),
    "<": partial(rules.compare, "<"),
    "<=": partial(rules.compare, "<="),
    ">": partial(rules.compare, ">"),
    ">=": partial(rules.compare, ">="),
    "in": rules.in_,
    "like": rules.matches,
    "regexp": rules.matches,
    "regexp_like": _counted(rules.matches, 2, 3),
    "isnull": _counted(rules.is_null, 1),
    # control
    "if": results.if_,
    "ifnull": results.ifnull,
    "nullif": results.nullif,
    "coalesce": results.coalesce,
    "case": results.case,
    "greatest": results.extremum,
    "least": results.extremum,
    "any_value": results.any_value,
    "interval": _INT("..*"),
    # numbers
    "abs": _counted(rules.abs_, 1),
    "ceil": _counted(rules.floor, 1),
    "floor": _counted(rules.floor, 1),
    "round": _counted(rules.round_, 1, 2),
    "truncate": _counted(rules.truncate, 2),
    "sign": _INT("r"),
    "crc32": _INT("s", 10, is_unsigned=True),
    "bit_count": _INT("i", 2),
    "conv": _TEXT("sii", 64, may_be_null=True),
    "pi": _REAL("", 8, 6, is_never_null=True),
    "acos": _REAL("r", may_be_null=True),
    "asin": _REAL("r", may_be_null=True),
    "atan": _REAL("r[r]"),
    "atan2": _REAL("rr"),
    "cos": _REAL("r"),
    "cot": _REAL("r", may_be_null=True),
    "degrees": _REAL("r"),
    "exp": _REAL("r", may_be_null=True),
    "ln": _REAL("r", may_be_null=True),
    "log": _REAL("r[r]", may_be_null=True),
    "log2": _REAL("r", may_be_null=True),
    "log10": _REAL("r", may_be_null=True),
    "pow": _REAL("rr", may_be_null=True),
    "radians": _REAL("r"),
    "sin": _REAL("r"),
    "sqrt": _REAL("r", may_be_null=True),
    "tan": _REAL("r"),
    # text to numbers
    "ascii": _INT("s", 3),
    "bit_length": _INT("s", 10),
    "char_length": _INT("s"),
    "length": _INT("s", 10),
    "ord": _INT("s", 10),
    "strcmp": _INT("ss", 2, collation=_ALL),
    "locate": _INT("ss[i]", collation=of_arguments(0, 1)),
    "instr": _INT("ss", 11, collation=_ALL),
    "field": _INT("..*"),
    "find_in_set": _INT("ss", 3, collation=_ALL),
    # text
    "concat": _counted(rules.concat, 1, _MANY),
    "concat_ws": _counted(partial(rules.concat, separated=True), 2, _MANY),
    "lower": _TEXT("s", length_of(), collation=_SAME),
    "upper": _TEXT("s", length_of(), collation=_SAME),
    "reverse": _TEXT("s", length_of(), collation=_SAME),
    "left": _TEXT("si", length_of(), collation=_SAME),
    "right": _TEXT("si", length_of(), collation=_SAME),
    "substr": _TEXT("si[i]", length_of(), collation=_SAME),
    "substring_index": _TEXT("ssi", length_of(), collation=_SAME),
    "trim": _TEXT("s[si]", length_of(), collation=_SAME),
    "ltrim": _TEXT("s", length_of(), collation=_SAME),
    "rtrim": _TEXT("s", length_of(), collation=_SAME),
    "replace": _TEXT("sss", rules.replaced_length, collation=_SAME),
    "lpad": _TEXT("sis", rules.padded_length, collation=of_arguments(0, 2), may_be_null=True),
    "rpad": _TEXT("sis", rules.padded_length, collation=of_arguments(0, 2), may_be_null=True),
    "repeat": _TEXT("si", MAX_BLOB_WIDTH, collation=_SAME, may_be_null=True),
    "insert": _TEXT("siis", MAX_BLOB_WIDTH, collation=of_arguments(0, 3), may_be_null=True),
    "elt": _TEXT("is*", rules.longest_of, collation=of_arguments(since=1), may_be_null=True),
    "make_set": _TEXT("is*", rules.set_length, collation=of_arguments(since=1)),
    "quote": _TEXT("s", length_of(times=2, plus=2, limit=True), collation=_ALL),
    "space": _HASH("i", MAX_BLOB_WIDTH, may_be_null=True),
    "format": _HASH("di[s]", MAX_BLOB_WIDTH),
    "bin": _TEXT("i", 64),
    "oct": _TEXT("s", 64),
    "hex": _counted(rules.hex_, 1),
    "unhex": _counted(rules.unhex, 1),
    "char": rules.char,
    "convert_using": rules.convert_using,
    "to_base64": _HASH("s", rules.base64_length, may_be_null=True),
    "from_base64": _TEXT("s", length_of(times=3), is_binary=True, may_be_null=True),
    # hashes and encryption
    "md5": _HASH("s", 32),
    "sha1": _HASH("s", 40),
    "sha2": _HASH("si", 128, may_be_null=True),
    "sm3": _HASH("s", 40),
    "aes_encrypt": _TEXT("ss[s]", rules.aes_length, is_binary=True, may_be_null=True),
    "aes_decrypt": _TEXT("ss[s]", length_of(), is_binary=True, may_be_null=True),
    "compress": _TEXT("s", length_of(plus=13), is_binary=True, may_be_null=True),
    "uncompress": _TEXT("s", MAX_BLOB_WIDTH, is_binary=True, may_be_null=True),
    "uncompressed_length": _INT("s", 10, may_be_null=True),
    # dates and times
    "year": _CLOCK("t", 4),
    "quarter": _CLOCK("t", 1),
    "month": _CLOCK("t", 2),
    "week": _CLOCK("t[i]", 2),
    "weekofyear": _CLOCK("t", 2),
    "yearweek": _CLOCK("t[i]", 6),
    "dayofmonth": _CLOCK("t", 2),
    "dayofweek": _CLOCK("t", 1),
    "dayofyear": _CLOCK("t", 3),
    "weekday": _CLOCK("t", 1),
    "hour": _CLOCK("u", 3),
    "minute": _CLOCK("u", 2),
    "second": _CLOCK("u", 2),
    "microsecond": _CLOCK("u", 6),
    "time_to_sec": _CLOCK("u", 10),
    "to_days": _CLOCK("t"),
    "to_seconds": _CLOCK("t"),
    "datediff": _CLOCK("tt"),
    "timestampdiff": _CLOCK(".tt"),
    "extract": _CLOCK(".."),
    "period_add": _CLOCK("ii", 6),
    "period_diff": _CLOCK("ii", 6),
    "date": _DATE("t"),
    "last_day": _DATE("t"),
    "from_days": _DATE("i"),
    "makedate": _DATE("ii"),
    "dayname": _TEXT("t", 10, may_be_null=True),
    "monthname": _TEXT("t", 10, may_be_null=True),
    "date_format": _TEXT("ts", lambda arguments: (arguments[1].flen + 1) // 2 * 11, may_be_null=True),
    "time_format": _TEXT("us", lambda arguments: (arguments[1].flen + 1) // 2 * 11, may_be_null=True),
    "date_add": _counted(rules.date_add, 3),
    "timestampadd": _counted(rules.timestamp_add, 3),
    "addtime": _counted(rules.add_time, 2),
    "timediff": _counted(rules.time_diff, 2),
    "time": _counted(rules.time, 1),
    "timestamp": _counted(rules.timestamp, 1, 2),
    "sec_to_time": _counted(rules.sec_to_time, 1),
    "maketime": _counted(rules.make_time, 3),
    "from_unixtime": _counted(rules.from_unixtime, 1, 2),
    "str_to_date": _counted(rules.str_to_date, 2),
    "convert_tz": _counted(rules.convert_tz, 3),
    # JSON
    "json_type": _TEXT("j", 51),
    "json_unquote": _TEXT("s", length_of()),
    "json_quote": _TEXT("s", length_of(times=6, plus=2)),
    "json_pretty": _TEXT("j", MAX_BLOB_WIDTH * 4),
    "json_extract": _JSON("js*"),
    "json_set": _JSON("js.*"),
    "json_insert": _JSON("js.*"),
    "json_replace": _JSON("js.*"),
    "json_remove": _JSON("js*"),
    "json_merge_patch": _JSON("jj*"),
    "json_merge_preserve": _JSON("jj*"),
    "json_object": _JSON("[.]*"),
    "json_array": _JSON("[.]*"),
    "json_array_append": _JSON("js.*"),
    "json_array_insert": _JSON("js.*"),
    "json_keys": _JSON("j[s]"),
    "json_search": _JSON("jss[ss]*"),
    "json_contains": _INT("jj[s]"),
    "json_contains_path": _INT("jss*"),
    "json_overlaps": _INT("jj"),
    "json_memberof": _INT("jj"),
    "json_valid": _INT("."),
    "json_depth": _INT("j"),
    "json_length": _INT("j[s]"),
    "json_storage_size": _INT("j"),
    "json_storage_free": _INT("j"),
    # addresses and ids
    "inet_aton": _INT("s", 21, is_unsigned=True, may_be_null=True),
    "inet_ntoa": _TEXT("i", 93, 0, may_be_null=True),
    "inet6_aton": _TEXT("s", 16, 0, is_binary=True, may_be_null=True),
    "inet6_ntoa": _TEXT("s", 117, 0, may_be_null=True),
    "is_ipv4": _INT("s", 1),
    "is_ipv4_compat": _INT("s", 1),
    "is_ipv4_mapped": _INT("s", 1),
    "is_ipv6": _INT("s", 1),
    "is_uuid": _INT("s", 1),
    "uuid_to_bin": _TEXT("s[i]", 16, 0, is_binary=True, may_be_null=True),
    "bin_to_uuid": _TEXT("s[i]", 32, 0, may_be_null=True),
    "tidb_shard": _INT("i", 4, is_unsigned=True),
    "vitess_hash": _INT("i", is_unsigned=True),
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
    function = FUNCTIONS.get(ALIASES.get(name, name))
    if function is None:
        raise DdlError(f"the result type of {name.upper()}() is not known")
    return function(arguments)
