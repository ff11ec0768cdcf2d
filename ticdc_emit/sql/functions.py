"""The functions and operators of expressions, one row each: the type of the result, and the kernel that computes it.

A type is a :class:`Signature`, if it follows from the arguments (a letter each), the length and other differences from
the default, else a rule of its own (``inference/``). A kernel (``evaluation/``) takes the arguments as :class:`Value`;
a row without one has a type, but is not evaluated. Rule source: pingcap/tidb ``pkg/expression/builtin.go`` (``funcs``)
and ``builtin_*.go``.
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
from ticdc_emit.sql.inference import results, rules
from ticdc_emit.sql.inference.operands import ASCII_TEXT, MAX_BLOB_WIDTH, Eval, Operand
from ticdc_emit.sql.inference.results import Arguments, Rule, Signature
from ticdc_emit.sql.inference.rules import length_of, of_arguments
from ticdc_emit.sql.types import MySQLType

Kernel: TypeAlias = Callable[..., Value]


class Function(NamedTuple):
    """``type``: from the types of the arguments to that of the result. ``kernel``: from their values to that of the
    result; its parameters say how many arguments it takes. ``None``: the function is not evaluated.
    """

    type: Rule
    kernel: Kernel | None = None


_INT = partial(Signature, Eval.INT)
_TEXT = partial(Signature, Eval.STRING)
_HASH = partial(Signature, Eval.STRING, collation=ASCII_TEXT)
_DATE = partial(Signature, Eval.DATETIME, flen=10, decimal=0, type=MySQLType.DATE, may_be_null=True)
_JSON = partial(Signature, Eval.JSON)
_BIT = partial(Signature, Eval.INT, "ii", is_unsigned=True)
_CLOCK = partial(Signature, Eval.INT, may_be_null=True)
_SAME, _ALL = of_arguments(0), of_arguments(since=0)


def _counted(rule: Rule, least: int, most: int | None = None) -> Rule:
    """Return a rule that refuses another number of arguments; ``most`` is ``least`` if it is not given."""

    def counted(arguments: Arguments) -> Operand:
        if not least <= len(arguments) <= (least if most is None else most):
            raise DdlError(f"a function in it does not take {len(arguments)} arguments")
        return rule(arguments)

    return counted


_MANY = 1 << 16
FUNCTIONS: Mapping[str, Function] = {
    # operators
    "+": Function(rules.plus_like(), partial(arithmetic.arithmetic, "+")),
    "-": Function(rules.plus_like(), partial(arithmetic.arithmetic, "-")),
    "*": Function(rules.plus_like(multiplies=True), partial(arithmetic.arithmetic, "*")),
    "/": Function(rules.divide, partial(arithmetic.arithmetic, "/")),
    "div": Function(rules.int_divide, partial(arithmetic.arithmetic, "div")),
    "mod": Function(_counted(rules.modulo, 2), partial(arithmetic.arithmetic, "mod")),
    "negated": Function(rules.unary_minus, arithmetic.negate),
    "&": Function(_BIT(), partial(arithmetic.bitwise, "&")),
    "|": Function(_BIT(), partial(arithmetic.bitwise, "|")),
    "^": Function(_BIT(), partial(arithmetic.bitwise, "^")),
    "<<": Function(_BIT(), partial(arithmetic.bitwise, "<<")),
    ">>": Function(_BIT(), partial(arithmetic.bitwise, ">>")),
    "~": Function(_INT("i", is_unsigned=True)),
    "and": Function(rules.and_, comparisons.and_),
    "or": Function(_INT("..", 1), comparisons.or_),
    "xor": Function(_INT("..", 1), comparisons.xor),
    "not": Function(_INT(".", 1), comparisons.not_),
    "istrue": Function(_INT(".", 1), comparisons.is_true),
    "isfalse": Function(_INT(".", 1), comparisons.is_false),
    "=": Function(partial(rules.compare, "="), partial(comparisons.compare, "=")),
    "<=>": Function(partial(rules.compare, "<=>"), comparisons.null_safe_equal),
    "<>": Function(partial(rules.compare, "<>"), partial(comparisons.compare, "<>")),
    "<": Function(partial(rules.compare, "<"), partial(comparisons.compare, "<")),
    "<=": Function(partial(rules.compare, "<="), partial(comparisons.compare, "<=")),
    ">": Function(partial(rules.compare, ">"), partial(comparisons.compare, ">")),
    ">=": Function(partial(rules.compare, ">="), partial(comparisons.compare, ">=")),
    "in": Function(rules.in_, comparisons.in_),
    "between": Function(rules.between, comparisons.between),
    "like": Function(rules.matches, comparisons.like),
    "regexp": Function(rules.matches, comparisons.regexp),
    "isnull": Function(_counted(rules.is_null, 1), comparisons.is_null),
    # control
    "if": Function(results.if_, comparisons.if_),
    "ifnull": Function(results.ifnull, comparisons.coalesce),
    "nullif": Function(results.nullif, comparisons.nullif),
    "coalesce": Function(results.coalesce, comparisons.coalesce),
    "case": Function(results.case, comparisons.case),
    "case_of": Function(rules.case_of, comparisons.case_of),
    # numbers
    "abs": Function(_counted(rules.abs_, 1), arithmetic.absolute),
    "ceil": Function(_counted(rules.floor, 1), arithmetic.ceil),
    "floor": Function(_counted(rules.floor, 1), arithmetic.floor),
    "round": Function(_counted(rules.round_, 1, 2), arithmetic.round_number),
    "truncate": Function(_counted(rules.truncate, 2), arithmetic.truncate),
    "sign": Function(_INT("r"), arithmetic.sign),
    # text to numbers
    "char_length": Function(_INT("s"), texts.char_length),
    "length": Function(_INT("s", 10), texts.length),
    "locate": Function(_INT("ss[i]", collation=of_arguments(0, 1)), texts.locate),
    "instr": Function(_INT("ss", 11, collation=_ALL), texts.instr),
    "find_in_set": Function(_INT("ss", 3, collation=_ALL), texts.find_in_set),
    # text
    "concat": Function(_counted(rules.concat, 1, _MANY), texts.concat),
    "concat_ws": Function(_counted(partial(rules.concat, separated=True), 2, _MANY), texts.concat_ws),
    "lower": Function(_TEXT("s", length_of(), collation=_SAME), texts.lower),
    "upper": Function(_TEXT("s", length_of(), collation=_SAME), texts.upper),
    "reverse": Function(_TEXT("s", length_of(), collation=_SAME), texts.reverse),
    "left": Function(_TEXT("si", length_of(), collation=_SAME), texts.left),
    "right": Function(_TEXT("si", length_of(), collation=_SAME), texts.right),
    "substr": Function(_TEXT("si[i]", length_of(), collation=_SAME), texts.substr),
    "substring_index": Function(_TEXT("ssi", length_of(), collation=_SAME), texts.substring_index),
    "trim": Function(_TEXT("s[si]", length_of(), collation=_SAME), texts.trim),
    "ltrim": Function(_TEXT("s", length_of(), collation=_SAME), texts.ltrim),
    "rtrim": Function(_TEXT("s", length_of(), collation=_SAME), texts.rtrim),
    "replace": Function(_TEXT("sss", rules.replaced_length, collation=_SAME), texts.replace_text),
    "lpad": Function(_TEXT("sis", rules.padded_length, collation=of_arguments(0, 2), may_be_null=True), texts.lpad),
    "rpad": Function(_TEXT("sis", rules.padded_length, collation=of_arguments(0, 2), may_be_null=True), texts.rpad),
    "repeat": Function(_TEXT("si", MAX_BLOB_WIDTH, collation=_SAME, may_be_null=True), texts.repeat_text),
    "insert": Function(
        _TEXT("siis", MAX_BLOB_WIDTH, collation=of_arguments(0, 3), may_be_null=True), texts.insert_text
    ),
    "format": Function(_HASH("di[s]", MAX_BLOB_WIDTH), texts.format_number),
    "hex": Function(_counted(rules.hex_, 1), texts.hex_text),
    "unhex": Function(_counted(rules.unhex, 1), texts.unhex),
    # hashes
    "md5": Function(_HASH("s", 32), partial(texts.digest, "md5")),
    "sha1": Function(_HASH("s", 40), partial(texts.digest, "sha1")),
    # dates and times
    "year": Function(_CLOCK("t", 4), partial(dates.date_part, "year")),
    "quarter": Function(_CLOCK("t", 1), partial(dates.date_part, "quarter")),
    "month": Function(_CLOCK("t", 2), partial(dates.date_part, "month")),
    "dayofmonth": Function(_CLOCK("t", 2), partial(dates.date_part, "dayofmonth")),
    "dayofweek": Function(_CLOCK("t", 1), partial(dates.date_part, "dayofweek")),
    "dayofyear": Function(_CLOCK("t", 3), partial(dates.date_part, "dayofyear")),
    "weekday": Function(_CLOCK("t", 1), partial(dates.date_part, "weekday")),
    "hour": Function(_CLOCK("u", 3), partial(dates.date_part, "hour")),
    "minute": Function(_CLOCK("u", 2), partial(dates.date_part, "minute")),
    "second": Function(_CLOCK("u", 2), partial(dates.date_part, "second")),
    "time_to_sec": Function(_CLOCK("u", 10), dates.time_to_sec),
    "to_days": Function(_CLOCK("t"), partial(dates.date_part, "to_days")),
    "datediff": Function(_CLOCK("tt"), dates.datediff),
    "timestampdiff": Function(_CLOCK(".tt"), dates.timestampdiff),
    "date": Function(_DATE("t"), dates.date),
    "last_day": Function(_DATE("t"), dates.last_day),
    "date_format": Function(
        _TEXT("ts", lambda arguments: (arguments[1].flen + 1) // 2 * 11, may_be_null=True), dates.date_format
    ),
    "date_sub": Function(_counted(rules.date_add, 3), dates.date_sub),
    "date_add": Function(_counted(rules.date_add, 3), dates.date_add),
    "subtime": Function(_counted(rules.add_time, 2), dates.subtime),
    "addtime": Function(_counted(rules.add_time, 2), dates.addtime),
    "str_to_date": Function(_counted(rules.str_to_date, 2), dates.str_to_date),
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
    if function is None:
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
    """Return the least and greatest number of a kernel's arguments, ``None`` for no limit."""
    parameters = inspect.signature(kernel).parameters.values()
    required = sum(each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty for each in parameters)
    is_open = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    return required, None if is_open else len(parameters)
