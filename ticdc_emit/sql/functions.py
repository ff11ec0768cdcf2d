"""The functions and operators of expressions, one row each: the type of the result, and the kernel that computes it.

A type is a :class:`Signature` (a letter for each argument), else a rule of its own (``inference/``). A row without a
kernel (``evaluation/``) is not evaluated. Rule source: pingcap/tidb ``pkg/expression/builtin*.go``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import NamedTuple, TypeAlias

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.call_tree import ALIASES, Call
from ticdc_emit.sql.evaluation import arithmetic, comparisons, dates, documents, texts
from ticdc_emit.sql.evaluation.values import NotExactError, Value
from ticdc_emit.sql.inference import rules
from ticdc_emit.sql.inference.operands import MAX_BLOB_WIDTH, Eval, Operand
from ticdc_emit.sql.inference.rules import Arguments, Rule, Signature, length_of

Kernel: TypeAlias = Callable[..., Value]


class Function(NamedTuple):
    """``type``: ``None`` if it is not known. ``kernel``: its parameters say how many arguments it takes."""

    type: Rule | None
    kernel: Kernel | None = None


_INT = partial(Signature, Eval.INT)
_TEXT = partial(Signature, Eval.STRING)
_JSON = partial(Signature, Eval.JSON)
_BITS = _INT("ii", is_unsigned=True)


_ONLY_COMPUTED: Mapping[str, Kernel] = {
    "if": comparisons.if_,
    "ifnull": comparisons.coalesce,
    "nullif": comparisons.nullif,
    "coalesce": comparisons.coalesce,
    "case_of": comparisons.case_of,
    "abs": arithmetic.absolute,
    "ceil": partial(arithmetic.round_whole, "CEIL"),
    "floor": partial(arithmetic.round_whole, "FLOOR"),
    "round": arithmetic.round_number,
    "truncate": arithmetic.truncate,
    "sign": arithmetic.sign,
    "char_length": texts.char_length,
    "length": texts.length,
    "locate": texts.locate,
    "instr": texts.instr,
    "find_in_set": texts.find_in_set,
    "concat": texts.concat,
    "concat_ws": texts.concat_ws,
    "left": texts.left,
    "right": texts.right,
    "substr": texts.substr,
    "substring_index": texts.substring_index,
    "trim": texts.trim,
    "ltrim": texts.ltrim,
    "rtrim": texts.rtrim,
    "replace": texts.replace_text,
    "lpad": partial(texts.pad, "LPAD"),
    "rpad": partial(texts.pad, "RPAD"),
    "repeat": texts.repeat_text,
    "insert": texts.insert_text,
    "format": texts.format_number,
    "hex": texts.hex_text,
    "unhex": texts.unhex,
    "sha1": partial(texts.digest, "sha1"),
    **{name: partial(dates.date_part, name) for name in (*dates.CUT_PARTS, *dates.COMPUTED_PARTS)},
    "time_to_sec": dates.time_to_sec,
    "datediff": dates.datediff,
    "timestampdiff": dates.timestampdiff,
    "date": dates.date,
    "last_day": dates.last_day,
    "date_format": dates.date_format,
    "date_sub": partial(dates.shifted, -1),
    "date_add": partial(dates.shifted, 1),
    "subtime": partial(dates.time_sum, "SUBTIME"),
    "addtime": partial(dates.time_sum, "ADDTIME"),
    "str_to_date": dates.str_to_date,
}
"""Functions that TiDB takes in an index only with ``allow-expression-index``."""
FUNCTIONS: Mapping[str, Function] = {
    # operators
    "+": Function(rules.plus_like(), partial(arithmetic.arithmetic, "+")),
    "-": Function(rules.plus_like(), partial(arithmetic.arithmetic, "-")),
    "*": Function(rules.plus_like(multiplies=True), partial(arithmetic.arithmetic, "*")),
    "/": Function(rules.divide, partial(arithmetic.arithmetic, "/")),
    "div": Function(rules.int_divide, partial(arithmetic.arithmetic, "div")),
    "mod": Function(rules.modulo, partial(arithmetic.arithmetic, "mod")),
    "negated": Function(rules.unary_minus, arithmetic.negate),
    **{sign: Function(_BITS, partial(arithmetic.bitwise, sign)) for sign in arithmetic.BITWISE},
    "~": Function(_INT("i", is_unsigned=True)),
    "and": Function(rules.and_, comparisons.and_),
    "or": Function(_INT("..", 1), comparisons.or_),
    "xor": Function(_INT("..", 1), comparisons.xor),
    "not": Function(_INT(".", 1), comparisons.not_),
    "istrue": Function(_INT(".", 1), comparisons.is_true),
    "isfalse": Function(_INT(".", 1), comparisons.is_false),
    **{
        sign: Function(partial(rules.compare, sign), partial(comparisons.compare, sign))
        for sign in comparisons.COMPARISONS
    },
    "<=>": Function(partial(rules.compare, "<=>"), comparisons.null_safe_equal),
    "in": Function(rules.in_, comparisons.in_),
    "between": Function(rules.between, comparisons.between),
    "case": Function(rules.case, comparisons.case),
    "like": Function(_INT("..[.]", 1), comparisons.like),
    "regexp": Function(_INT("..", 1), comparisons.regexp),
    "isnull": Function(rules.is_null, comparisons.is_null),
    # text
    "lower": Function(_TEXT("s", length_of(), as_first=True), texts.lower),
    "upper": Function(_TEXT("s", length_of(), as_first=True), texts.upper),
    "reverse": Function(_TEXT("s", length_of(), as_first=True), texts.reverse),
    "md5": Function(_TEXT("s", 32), partial(texts.digest, "md5")),
    # JSON
    "json_type": Function(_TEXT("j", 51)),
    "json_unquote": Function(_TEXT("s", length_of()), documents.json_unquote),
    "json_quote": Function(_TEXT("s", length_of(times=6, plus=2))),
    "json_pretty": Function(_TEXT("j", MAX_BLOB_WIDTH * 4)),
    "json_extract": Function(_JSON("js*"), documents.json_extract),
    "json_set": Function(_JSON("js.*"), partial(documents.json_write, "json_set")),
    "json_insert": Function(_JSON("js.*"), partial(documents.json_write, "json_insert")),
    "json_replace": Function(_JSON("js.*"), partial(documents.json_write, "json_replace")),
    "json_remove": Function(_JSON("js*"), documents.json_remove),
    "json_merge_patch": Function(_JSON("jj*")),
    "json_merge_preserve": Function(_JSON("jj*")),
    "json_object": Function(_JSON("[.]*"), documents.json_object),
    "json_array": Function(_JSON("[.]*"), documents.json_array),
    "json_array_append": Function(_JSON("js.*")),
    "json_array_insert": Function(_JSON("js.*")),
    "json_keys": Function(_JSON("j[s]")),
    "json_search": Function(_JSON("jss[ss]*")),
    "json_contains": Function(_INT("jj[s]")),
    "json_contains_path": Function(_INT("jss*")),
    "json_memberof": Function(_INT("jj")),
    "json_valid": Function(_INT(".")),
    "json_depth": Function(_INT("j")),
    "json_length": Function(_INT("j[s]")),
    "json_storage_size": Function(_INT("j")),
    # shards
    "tidb_shard": Function(_INT("i", 4, is_unsigned=True)),
    "vitess_hash": Function(_INT("i", is_unsigned=True)),
    **{name: Function(None, kernel) for name, kernel in _ONLY_COMPUTED.items()},
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


def result_type(name: str, arguments: Arguments) -> Operand:
    """Return the type of a call; ``DdlError`` for a function that TiDB refuses in an index, or one without a row."""
    if name in _ILLEGAL:
        raise DdlError(f"an expression index cannot call {name.upper()}(), whose value changes")
    function = FUNCTIONS.get(ALIASES.get(name, name))
    if function is None or function.type is None:
        raise DdlError(f"the result type of {name.upper()}() is not known")
    return function.type(arguments)


def kernel_of(call: Call) -> Kernel:
    """Return the kernel of a call; :class:`NotExactError` if there is none for its arguments."""
    name = ALIASES.get(call.name, call.name)
    function = FUNCTIONS.get(name)
    if function is None or function.kernel is None:
        raise NotExactError(f"{call.name.upper()}()" if call.name.isidentifier() else f"the operator {call.name}")
    least, most = _arity(function.kernel)
    if len(call.arguments) < least or (most is not None and len(call.arguments) > most):
        raise NotExactError(f"{name.upper()}() of {len(call.arguments)} arguments")
    return function.kernel


@cache
def _arity(kernel: Kernel) -> tuple[int, int | None]:
    parameters = inspect.signature(kernel).parameters.values()
    required = sum(each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty for each in parameters)
    is_open = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    return required, None if is_open else len(parameters)
