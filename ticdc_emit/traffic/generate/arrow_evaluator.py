"""Generated values over Arrow, without Spark: reads the SQL text of :mod:`.sql` and computes what Spark would.

In: lists of expressions, each a ``SELECT`` over the one before, and record batches. Out: record batches.
:class:`NeedsSparkError` for all that is not known to be the same here. Rule source: Spark's ``XXH64`` for the hash,
Java for signs and shifts: ``%`` and ``div`` cut towards zero, ``pmod`` is never negative.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import COMPARISONS, UNCHECKED_ARITHMETIC
from ticdc_emit.traffic.needs_spark import NeedsSparkError

__all__ = ["FUNCTIONS", "INTEGERS", "Layer", "Node", "Parser", "ints", "xxhash64"]


_Ints = npt.NDArray[np.int64]
_SEED = 42
_PRIMES = [
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
]


def ints(value: Any, count: int) -> npt.NDArray[Any]:
    """Return an Arrow array or scalar of integers as NumPy's, 0 for NULL."""
    if isinstance(value, pa.Scalar):
        return np.full(count, value.as_py() or 0, value.type.to_pandas_dtype())
    filled = pc.fill_null(value, 0) if value.null_count else value
    array: npt.NDArray[Any] = filled.to_numpy(zero_copy_only=False)
    return array


def xxhash64(values: Sequence[Any], count: int) -> pa.Array:
    """Return Spark's ``xxhash64`` of values of type bigint; a NULL leaves the hash as it is."""
    hashes = np.full(count, _SEED, np.uint64)
    for value in values:
        if value.type != pa.int64():
            raise NeedsSparkError(f"hash of {value.type}")
        bits = ints(value, count).view(np.uint64)
        with np.errstate(over="ignore"):
            hashed = _hash_of_long(bits, hashes)
        if value.null_count if isinstance(value, pa.Array) else not value.is_valid:
            hashed = np.where(np.asarray(value.is_null() if isinstance(value, pa.Array) else True), hashes, hashed)
        hashes = hashed
    return pa.array(hashes.view(np.int64))


def _hash_of_long(bits: npt.NDArray[np.uint64], seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    first, second, third, fourth, fifth = _PRIMES
    mixed = seeds + fifth + np.uint64(8)
    mixed ^= _rotated(bits * second, 31) * first
    mixed = _rotated(mixed, 27) * first + fourth
    mixed ^= mixed >> np.uint64(33)
    mixed *= second
    mixed ^= mixed >> np.uint64(29)
    mixed *= third
    mixed ^= mixed >> np.uint64(32)
    return np.asarray(mixed, np.uint64)


def _rotated(bits: npt.NDArray[np.uint64], by: int) -> npt.NDArray[np.uint64]:
    rotated: npt.NDArray[np.uint64] = bits << np.uint64(by) | bits >> np.uint64(64 - by)
    return rotated


def _nonzero(divisor: _Ints) -> _Ints:
    return np.where(divisor == 0, 1, divisor)  # only where a NULL is


def _quotient(number: _Ints, divisor: _Ints) -> _Ints:
    divisor = _nonzero(divisor)
    is_cut_upwards = (number % divisor != 0) & ((number < 0) != (divisor < 0))
    quotient: _Ints = number // divisor + is_cut_upwards
    return quotient


def _remainder(number: _Ints, divisor: _Ints) -> _Ints:
    remainder: _Ints = np.fmod(number, _nonzero(divisor))
    return remainder


def _positive_remainder(number: _Ints, divisor: _Ints) -> _Ints:
    remainder: _Ints = np.mod(number, _nonzero(divisor))  # divisors are positive
    return remainder


def _shifted_unsigned(number: _Ints, by: _Ints) -> _Ints:
    shifted: _Ints = (number.astype(np.int64).view(np.uint64) >> by.astype(np.uint64)).view(np.int64)
    return shifted


INTEGERS: dict[str, Callable[..., _Ints]] = {
    "%": _remainder,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "abs": np.abs,
    "div": _quotient,
    "pmod": _positive_remainder,
    "shiftleft": np.left_shift,
    "shiftright": np.right_shift,
    "shiftrightunsigned": _shifted_unsigned,
}
"""Functions by Spark's names, of NumPy arrays."""


ArrowValue = Any
_DIGITS_OF_36 = 13  # of the greatest bigint
_SIGNS = np.frombuffer(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", np.uint8)


def _get(_: int, values: pa.Scalar, place: ArrowValue) -> ArrowValue:
    """Return the element at an index from 0 on; NULL outside of the list."""
    if not isinstance(values, pa.ListScalar):
        raise NeedsSparkError("get of a list that is not constant")
    inside = pc.and_(pc.greater_equal(place, 0), pc.less(place, len(values)))
    return values.values.take(pc.if_else(inside, place, pa.scalar(None, place.type)))


def _split(_: int, text: pa.Scalar, pattern: pa.Scalar) -> pa.Scalar:
    return pa.scalar(re.split(pattern.as_py(), text.as_py()), pa.list_(pa.string()))


def _list(_: int, *values: ArrowValue) -> ArrowValue:
    """Return a list of constants; anything else is the value of ``element_at(array(value), 1)``."""
    if all(isinstance(value, pa.StringScalar) for value in values):
        return pa.scalar([value.as_py() for value in values], pa.list_(pa.string()))
    if len(values) != 1:
        raise NeedsSparkError("a list that is not constant")
    return values[0]


def _element_at(_: int, values: ArrowValue, place: pa.Scalar) -> ArrowValue:
    if isinstance(values, pa.ListScalar) or place.as_py() != 1:
        raise NeedsSparkError("element_at")
    return values


def _concat(_: int, *texts: ArrowValue) -> ArrowValue:
    return pc.binary_join_element_wise(*texts, "")


def _concat_ws(_: int, separator: pa.Scalar, *texts: ArrowValue) -> ArrowValue:
    """Join the texts that are not NULL. (Arrow's own ``skip`` loses rows in which all are NULL.)"""
    headed = [pc.fill_null(pc.binary_join_element_wise(separator, text, ""), "") for text in texts]
    return pc.utf8_slice_codeunits(pc.binary_join_element_wise(*headed, ""), len(separator.as_py()))


def _left(_: int, text: ArrowValue, length: pa.Scalar) -> ArrowValue:
    return pc.utf8_slice_codeunits(text, 0, length.as_py())


def _right(_: int, text: ArrowValue, length: pa.Scalar) -> ArrowValue:
    return pc.utf8_slice_codeunits(text, -length.as_py(), None) if length.as_py() else _left(_, text, length)


def _substring(count: int, text: ArrowValue, start: ArrowValue, length: pa.Scalar) -> ArrowValue:
    if isinstance(start, pa.Scalar):
        return pc.utf8_slice_codeunits(text, start.as_py() - 1, start.as_py() - 1 + length.as_py())
    if not isinstance(text, pa.Scalar) or length.as_py() != 1:
        raise NeedsSparkError("substring at a place of its own in each row")
    return _get(count, pa.scalar(list(text.as_py()), pa.list_(pa.string())), pc.subtract(start, 1))


def _lpad(_: int, text: ArrowValue, width: pa.Scalar, fill: pa.Scalar) -> ArrowValue:
    """Pad on the left; longer text is cut on the right."""
    return _left(_, pc.utf8_lpad(text, width.as_py(), fill.as_py()), width)


def _rpad(_: int, value: ArrowValue, width: pa.Scalar, fill: pa.Scalar) -> ArrowValue:
    if not pa.types.is_binary(value.type):
        return _left(_, pc.utf8_rpad(value, width.as_py(), fill.as_py()), width)
    size, byte = width.as_py(), fill.as_py()
    return pa.array([None if each is None else each.ljust(size, byte)[:size] for each in value.to_pylist()], value.type)


def _rtrim(_: int, text: ArrowValue) -> ArrowValue:
    return pc.utf8_rtrim(text, " ")


def _lower(_: int, text: ArrowValue) -> ArrowValue:
    return pc.ascii_lower(text)


def _upper(_: int, text: ArrowValue) -> ArrowValue:
    return pc.ascii_upper(text)


def _texts(signs: np.ndarray[Any, np.dtype[np.uint8]], of: ArrowValue) -> pa.Array:
    """Return rows of ASCII digits as text without leading zeros (``0`` for zero), NULL where ``of`` is NULL."""
    rows, width = signs.shape
    text = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), rows, [None, pa.py_buffer(signs.tobytes())])
    short = pc.ascii_ltrim(text.cast(pa.binary()).cast(pa.string()), "0")
    short = pc.if_else(pc.equal(short, ""), "0", short)
    return pc.if_else(pc.is_valid(of), short, pa.scalar(None, pa.string()))


def _hex(count: int, number: ArrowValue) -> pa.Array:
    """Return a bigint in upper-case hexadecimal; a negative one has 16 digits."""
    octets = np.frombuffer(ints(number, count).astype(">i8").tobytes(), np.uint8).reshape(count, 8)
    nibbles = np.stack([octets >> 4, octets & 15], axis=2).reshape(count, 16)
    return _texts(_SIGNS[nibbles], number)


def _unhex(_: int, text: ArrowValue) -> pa.Array:
    return pa.array([None if each is None else bytes.fromhex(each) for each in text.to_pylist()], pa.binary())


def _conv(count: int, text: ArrowValue, base: pa.Scalar, target: pa.Scalar) -> pa.Array:
    """Return a non-negative number in base 36."""
    if (base.as_py(), target.as_py()) != (10, 36):
        raise NeedsSparkError("conv between other bases than 10 and 36")
    rest = ints(text.cast(pa.int64()), count).copy()
    signs = np.empty((count, _DIGITS_OF_36), np.uint8)
    for place in reversed(range(_DIGITS_OF_36)):
        signs[:, place] = _SIGNS[rest % 36]
        rest //= 36
    return _texts(signs, text)


def _date_add(_: int, date: ArrowValue, days: ArrowValue) -> ArrowValue:
    return pc.add(date.cast(pa.int32()), days).cast(pa.date32())


def _timestampadd(_: int, unit: ArrowValue, amount: ArrowValue, moment: pa.Scalar) -> ArrowValue:
    return pc.add(moment.cast(pa.int64()), amount).cast(pa.timestamp("us"))


def _timestamp_micros(_: int, micros: ArrowValue) -> ArrowValue:
    return micros.cast(pa.timestamp("us", "UTC"))


def _floor(_: int, number: ArrowValue) -> ArrowValue:
    return pc.floor(number).cast(pa.int64())


def _least(_: int, *values: ArrowValue) -> ArrowValue:
    return pc.min_element_wise(*values)


def _greatest(_: int, *values: ArrowValue) -> ArrowValue:
    return pc.max_element_wise(*values)


FUNCTIONS: dict[str, Callable[..., ArrowValue]] = {
    "array": _list,
    "concat": _concat,
    "concat_ws": _concat_ws,
    "conv": _conv,
    "date_add": _date_add,
    "element_at": _element_at,
    "floor": _floor,
    "get": _get,
    "greatest": _greatest,
    "hex": _hex,
    "least": _least,
    "left": _left,
    "lower": _lower,
    "lpad": _lpad,
    "right": _right,
    "rpad": _rpad,
    "rtrim": _rtrim,
    "split": _split,
    "substring": _substring,
    "timestamp_micros": _timestamp_micros,
    "timestampadd": _timestampadd,
    "unhex": _unhex,
    "upper": _upper,
}
"""Functions by Spark's names. ``pow`` is missing, because the JVM's result can differ in the last digit."""


_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<typed>(?:timestamp_ntz|date|X)'(?:[^'\\]|\\.)*')"
    r"|(?P<string>'(?:[^'\\]|\\.)*')"
    r"|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:BD|L|D)?)"
    r"|(?P<name>[A-Za-z_]\w*|`(?:[^`]|``)*`)"
    r"|(?P<sign>->|<=|>=|<>|[-+*/%&|=<>(),])"
    r")",
    re.DOTALL,
)
_LEVELS = (
    ("or",),
    ("and",),
    ("=", "<>", "<", "<=", ">", ">="),
    ("|",),
    ("&",),
    ("+", "-"),
    ("*", "/", "%", "div"),
)
_NOT_LEVEL = 2  # `not` binds less than a comparison


@dataclass(frozen=True, eq=False)
class Node:
    """``kind``: ``column``, ``number``, ``string``, ``typed``, ``null``, ``cast``, ``case``, an operator, or the name
    of a function. ``value``: the name, literal or type. ``parts``: operands.
    """

    kind: str
    value: str
    parts: tuple[Node, ...]


class Parser:
    """Reads expressions. Raises :class:`NeedsSparkError` for unknown syntax."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Node] = {}
        self._tokens: list[tuple[str, str]] = []
        self._at = 0

    def layer(self, expressions: list[str]) -> dict[str, Node]:
        """Return the expressions of one ``SELECT`` by their names."""
        return dict(map(self._named, expressions))

    def _named(self, text: str) -> tuple[str, Node]:
        self._tokens, self._at = _tokens(text), 0
        node = self._expression()
        name = _unquoted(self._take()[1]) if self._skip("as") else node.value
        if self._at < len(self._tokens):
            raise NeedsSparkError(f"{self._peek()!r} was not expected")
        return name, node

    def _expression(self, level: int = 0) -> Node:
        if level == len(_LEVELS):
            return self._signed()
        if level == _NOT_LEVEL and self._skip("not"):
            return self._node("not", "", self._expression(level))
        left = self._expression(level + 1)
        while (sign := self._peek()) in _LEVELS[level]:
            self._at += 1
            left = self._node(sign, "", left, self._expression(level + 1))
        if level == _NOT_LEVEL and self._skip("is"):
            self._expect("null")
            left = self._node("is null", "", left)
        return left

    def _signed(self) -> Node:
        if not self._skip("-"):
            return self._primary()
        operand = self._signed()
        if operand.kind == "number":
            return self._node("number", f"-{operand.value}")
        return self._node("negative", "", operand)

    def _primary(self) -> Node:
        kind, text = self._take()
        if kind in ("string", "typed", "number"):
            return self._node(kind, text)
        if text == "(":
            inside = self._expression()
            self._expect(")")
            return inside
        if kind != "name":
            raise NeedsSparkError(f"{text!r} was not expected")
        if text == "null":
            return self._node("null", "")
        if text == "case":
            return self._case()
        if text == "MICROSECOND":
            return self._node("string", f"'{text}'")
        if not self._skip("("):
            return self._node("column", _unquoted(text))
        if text == "cast":
            return self._cast()
        if text == "zip_with":
            return self._first_of_zip()
        arguments: list[Node] = []
        while not self._skip(")"):
            arguments.append(self._expression())
            if self._peek() != ")":
                self._expect(",")
        return self._node(text, "", *arguments)

    def _case(self) -> Node:
        """Return pairs of a condition and a value, and the value of ELSE."""
        subject = None if self._peek() == "when" else self._expression()
        parts: list[Node] = []
        while self._skip("when"):
            condition = self._expression()
            self._expect("then")
            parts += [condition if subject is None else self._node("=", "", subject, condition), self._expression()]
        parts.append(self._expression() if self._skip("else") else self._node("null", ""))
        self._expect("end")
        return self._node("case", "", *parts)

    def _cast(self) -> Node:
        operand = self._expression()
        self._expect("as")
        words: list[str] = []
        depth = 0
        while depth or self._peek() != ")":
            word = self._take()[1]
            depth += (word == "(") - (word == ")")
            words.append(word)
        self._expect(")")
        return self._node("cast", "".join(words), operand)

    def _first_of_zip(self) -> Node:
        """Return the first list of ``zip_with(a, b, (x, y) -> x)``, which is its value."""
        first = self._expression()
        self._expect(",")
        self._expression()
        for sign in (",", "(", "x", ",", "y", ")", "->", "x", ")"):
            self._expect(sign)
        return first

    def _node(self, kind: str, value: str, *parts: Node) -> Node:
        return self._known.setdefault((kind, value, *map(id, parts)), Node(kind, value, parts))

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise NeedsSparkError("the expression ends early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _skip(self, word: str) -> bool:
        is_next = self._peek() == word
        self._at += is_next
        return is_next

    def _expect(self, word: str) -> None:
        if not self._skip(word):
            raise NeedsSparkError(f"{word!r} was expected, not {self._peek()!r}")


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NeedsSparkError(f"{text[at : at + 20]!r} was not expected")
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        at = match.end()
    return tokens


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


Value = Any
"""An Arrow array, or a scalar if the value is the same in every row."""

_TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    "array<bigint>": pa.list_(pa.int64()),
}
_KERNELS: dict[str, Callable[..., Value]] = {
    **COMPARISONS,
    **UNCHECKED_ARITHMETIC,
    "and": pc.and_kleene,
    "or": pc.or_kleene,
    "not": pc.invert,
    "negative": pc.negate,
    "is null": pc.is_null,
}


class Layer:
    """One ``SELECT``: expressions by name. Raises :class:`NeedsSparkError` for expressions that only Spark computes."""

    def __init__(self, expressions: Mapping[str, Node]) -> None:
        self._expressions = expressions
        uses: Counter[int] = Counter()
        nodes = list(expressions.values())
        while nodes:
            node = nodes.pop()
            uses[id(node)] += 1
            if uses[id(node)] == 1:
                nodes += node.parts
        self._shared = {node for node, count in uses.items() if count > 1}

    def __call__(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        evaluation = _Evaluation(rows, self._shared)
        return pa.record_batch({name: evaluation.array(node) for name, node in self._expressions.items()})


class _Evaluation:
    def __init__(self, rows: pa.RecordBatch, shared: set[int]) -> None:
        self._rows = rows
        self._shared = shared
        self._known: dict[int, Value] = {}

    def array(self, node: Node) -> pa.Array:
        value = self.of(node)
        return pa.repeat(value, self._rows.num_rows) if isinstance(value, pa.Scalar) else value

    def of(self, node: Node) -> Value:
        known = self._known.get(id(node))
        if known is None:
            known = self._computed(node)
            if id(node) in self._shared:
                self._known[id(node)] = known
        return known

    def _computed(self, node: Node) -> Value:
        kind = node.kind
        if kind == "column":
            return self._rows.column(node.value)
        if kind in _LITERALS:
            return _LITERALS[kind](node.value)
        if kind == "cast":
            return _cast(self.of(node.parts[0]), node.value)
        if kind in ("case", "if"):
            return self._case(node.parts)
        if kind == "named_struct":
            return self._struct(node.parts)
        values = [self.of(part) for part in node.parts]
        if kind in _KERNELS:
            return _KERNELS[kind](*values)
        if kind == "/":
            return pc.divide(*(value.cast(pa.float64()) for value in values))
        count = self._rows.num_rows
        if kind == "xxhash64":
            return xxhash64(values, count)
        if kind in INTEGERS:
            return self._integers(INTEGERS[kind], values)
        if kind in FUNCTIONS:
            return FUNCTIONS[kind](count, *values)
        raise NeedsSparkError(f"{kind} is not known here")

    def _integers(self, function: Callable[..., Any], values: list[Value]) -> pa.Array:
        """Apply a function of NumPy to integers: NULL for a NULL. The result is as wide as the widest of them."""
        count = self._rows.num_rows
        is_null = np.zeros(count, np.bool_)
        for value in values:
            if value.type not in (pa.int32(), pa.int64()):
                raise NeedsSparkError(f"{value.type} is not an integer")
            if isinstance(value, pa.Scalar):
                is_null |= not value.is_valid
            elif value.null_count:
                is_null |= value.is_null().to_numpy(zero_copy_only=False)
        widest = pa.int64() if any(value.type == pa.int64() for value in values) else pa.int32()
        with np.errstate(all="ignore"):
            result = function(*(ints(value, count) for value in values))
        return pa.array(result, widest, mask=is_null if is_null.any() else None)

    def _case(self, parts: tuple[Node, ...]) -> Value:
        """Return the value after the first condition that is true, else the last one."""
        values = [self.of(part) for part in parts]
        conditions, choices = values[:-1:2], _alike([*values[1:-1:2], values[-1]])
        chosen = choices[-1]
        for condition, choice in zip(reversed(conditions), reversed(choices[:-1]), strict=True):
            chosen = _chosen(condition, choice, chosen, self._rows.num_rows)
        return chosen

    def _struct(self, parts: tuple[Node, ...]) -> pa.StructArray:
        names = [self.of(part).as_py() for part in parts[::2]]
        return pa.StructArray.from_arrays([self.array(part) for part in parts[1::2]], names)


def _chosen(condition: Value, one: Value, other: Value, count: int) -> Value:
    if isinstance(condition, pa.Scalar):
        return one if condition.as_py() else other
    if not pa.types.is_struct(one.type):
        return pc.if_else(pc.fill_null(condition, False), one, other)
    is_one = pc.fill_null(condition, False).to_numpy(zero_copy_only=False)
    if isinstance(other, pa.Scalar) and not other.is_valid:
        return _masked(one, ~is_one)
    if isinstance(one, pa.Scalar) and not one.is_valid:
        return _masked(other, is_one)
    raise NeedsSparkError("a choice between two structs")


def _masked(struct: pa.StructArray, is_null: np.ndarray[Any, np.dtype[np.bool_]]) -> pa.StructArray:
    return pa.StructArray.from_arrays(struct.flatten(), fields=list(struct.type), mask=pa.array(is_null))


def _alike(values: list[Value]) -> list[Value]:
    """Return the values in one type: NULLs in that of the others, int32 beside int64 as int64."""
    types = {value.type for value in values if not pa.types.is_null(value.type)}
    if types == {pa.int32(), pa.int64()}:
        types = {pa.int64()}
    if len(types) != 1:
        raise NeedsSparkError(f"values of {len(types)} types")
    (common,) = types
    return [value if value.type == common else value.cast(common) for value in values]


def _cast(value: Value, name: str) -> Value:
    if name.startswith("decimal("):
        digits, scale = map(int, name[8:-1].split(","))
        target = pa.decimal128(digits, scale)
    elif name in _TYPES:
        target = _TYPES[name]
    else:
        raise NeedsSparkError(f"cast to {name}")
    source = value.type
    if source == target:
        return value
    from_text = pa.types.is_string(source) and not pa.types.is_timestamp(target) and not pa.types.is_binary(target)
    from_number = pa.types.is_integer(source) or pa.types.is_decimal(source)
    to_number = pa.types.is_integer(target) or pa.types.is_floating(target) or pa.types.is_decimal(target)
    is_known = (
        pa.types.is_null(source)
        or pa.types.is_list(source)
        or from_text
        or (from_number and (to_number or (pa.types.is_string(target) and pa.types.is_integer(source))))
        or (pa.types.is_floating(source) and (pa.types.is_floating(target) or target == pa.int64()))
    )
    if not is_known:
        raise NeedsSparkError(f"cast from {source} to {target}")
    return value.cast(target)


def _number(text: str) -> pa.Scalar:
    if text.endswith("BD"):
        digits = Decimal(text[:-2])
        return pa.scalar(digits)
    if text.endswith("L"):
        return pa.scalar(int(text[:-1]), pa.int64())
    if text.endswith("D"):
        return pa.scalar(float(text[:-1]))
    if not text.lstrip("-").isdigit():
        raise NeedsSparkError(f"number {text}")
    return pa.scalar(int(text), pa.int32())


def _typed(text: str) -> pa.Scalar:
    kind, inside = text[:-1].split("'", 1)
    if kind == "X":
        return pa.scalar(bytes.fromhex(inside))
    if kind == "date":
        return pa.scalar(dt.date.fromisoformat(inside))
    return pa.scalar(dt.datetime.fromisoformat(inside), pa.timestamp("us"))


def _string(text: str) -> pa.Scalar:
    escaped = text[1:-1]
    return pa.scalar(escaped.replace("\\'", "'").replace("\\\\", "\\") if "\\" in escaped else escaped)


_LITERALS: dict[str, Callable[[str], pa.Scalar]] = {
    "number": _number,
    "string": _string,
    "typed": _typed,
    "null": lambda _: pa.scalar(None),
}
