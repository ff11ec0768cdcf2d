"""Lengths and collations of string functions: rules for the rows of the function table.

Rule source: pingcap/tidb ``pkg/expression/builtin_string.go``, ``builtin_encryption.go``, ``builtin_json.go``,
``collation.go`` (``deriveCollation``).
"""

from __future__ import annotations

from collections.abc import Callable

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.charsets import default_collation
from ticdc_emit.schema.inference.casts import as_eval
from ticdc_emit.schema.inference.collations import ASCII_TEXT, Collation, derived
from ticdc_emit.schema.inference.operands import MAX_BLOB_WIDTH, UNSPECIFIED, Eval, Operand, with_length
from ticdc_emit.schema.inference.signatures import Arguments, Signature, folded, result_of
from ticdc_emit.schema.types import BINARY_CHARSET

__all__ = [
    "aes_length",
    "base64_length",
    "char",
    "concat",
    "convert_using",
    "hex_",
    "length_of",
    "longest_of",
    "of_arguments",
    "padded_length",
    "replaced_length",
    "set_length",
    "unhex",
]

_UTF8_BYTES = 4


def of_arguments(*positions: int, since: int | None = None) -> Callable[[Arguments], Collation]:
    """Return the rule "the collation of these arguments": all of them, those at ``positions``, or all ``since`` one."""

    def rule(arguments: Arguments) -> Collation:
        chosen = [arguments[position] for position in positions if position < len(arguments)]
        return derived(chosen or list(arguments[since or 0 :]))

    return rule


def length_of(position: int = 0, *, times: int = 1, plus: int = 0, limit: bool = False) -> Callable[[Arguments], int]:
    """Return the rule "as long as this argument", times and plus a constant; ``limit``: at most a blob."""

    def rule(arguments: Arguments) -> int:
        flen = arguments[position].flen
        if flen == UNSPECIFIED:
            return UNSPECIFIED if (times, plus) == (1, 0) else _unknown_length()
        length = flen * times + plus
        return min(length, MAX_BLOB_WIDTH) if limit else length

    return rule


def _unknown_length() -> int:
    raise DdlError("the length of an argument in it is open")


def longest_of(arguments: Arguments) -> int:
    """ELT: the longest of the values."""
    return max(0, *(argument.flen for argument in arguments[1:]))


def concat(arguments: Arguments, *, separated: bool = False) -> Operand:
    """CONCAT, and CONCAT_WS where the first argument separates the others."""
    collation = derived(arguments)
    converted = [as_eval(argument, Eval.STRING) for argument in arguments]
    flen = 0
    for argument in converted[separated:]:
        flen = MAX_BLOB_WIDTH if UNSPECIFIED in (argument.flen, flen) else flen + argument.flen
    if separated:
        separator = converted[0].flen
        flen = MAX_BLOB_WIDTH if separator == UNSPECIFIED else flen + separator * (len(arguments) - 2)
    return folded(result_of(Eval.STRING, collation, min(flen, MAX_BLOB_WIDTH)), converted)


def replaced_length(arguments: Arguments) -> int:
    """REPLACE: every character may be a match."""
    text, old, new = (argument.flen for argument in arguments)
    if UNSPECIFIED in (text, old, new):
        return _unknown_length()
    return text + (text // old) * (new - old) if new > old > 0 else text


def padded_length(arguments: Arguments) -> int:
    """LPAD and RPAD: the number of characters in the literal, else a blob."""
    text, length, pad = arguments
    width = MAX_BLOB_WIDTH
    if length.is_constant:
        value = length.known()
        if not isinstance(value, int):
            raise DdlError("LPAD or RPAD to a length that is not an integer literal")
        width = min(value, MAX_BLOB_WIDTH)
    if text.is_binary_string or pad.is_binary_string:
        return width
    return min(width * _UTF8_BYTES, MAX_BLOB_WIDTH)


def set_length(arguments: Arguments) -> int:
    """MAKE_SET: all values with a comma between any two."""
    if arguments[0].is_constant:
        raise DdlError("MAKE_SET with constant bits")
    lengths = [argument.flen for argument in arguments[1:]]
    return _unknown_length() if UNSPECIFIED in lengths else min(sum(lengths) + len(lengths) - 1, MAX_BLOB_WIDTH)


def base64_length(arguments: Arguments) -> int:
    """TO_BASE64: four characters for three bytes, and a line break after each 76."""
    size = arguments[0].flen
    if size == UNSPECIFIED:
        return _unknown_length()
    characters = (size + 2) // 3 * 4
    return characters + (characters - 1) // 76 if characters else 0


def aes_length(arguments: Arguments) -> int:
    """AES_ENCRYPT: whole blocks of 16 bytes."""
    size = arguments[0].flen
    return _unknown_length() if size == UNSPECIFIED else 16 * (size // 16 + 1)


def hex_(arguments: Arguments) -> Operand:
    """HEX: the digits of a number, or two for each byte of text."""
    if arguments[0].eval in (Eval.INT, Eval.REAL, Eval.DECIMAL):
        flen = arguments[0].flen * 2
        return Signature(Eval.STRING, "i", flen, collation=ASCII_TEXT)(arguments)
    return Signature(Eval.STRING, "s", length_of(times=2 * _UTF8_BYTES), collation=ASCII_TEXT)(arguments)


def unhex(arguments: Arguments) -> Operand:
    """UNHEX: a byte for two digits."""
    argument = arguments[0]
    if argument.flen == UNSPECIFIED:
        _unknown_length()
    is_number = argument.eval in (Eval.INT, Eval.REAL, Eval.DECIMAL)
    flen = (argument.flen * (1 if is_number else _UTF8_BYTES) + 1) // 2
    return Signature(Eval.STRING, "s", flen, is_binary=True, may_be_null=True)(arguments)


def char(arguments: Arguments) -> Operand:
    """CHAR(code, ... USING charset): four bytes for each code; the last argument is the charset or NULL."""
    *codes, using = arguments
    charset = BINARY_CHARSET if using.is_null else str(using.known())
    operands = [as_eval(code, Eval.INT) for code in codes]
    collation = Collation(charset, default_collation(charset), ASCII_TEXT.coercibility, is_ascii=False)
    return folded(result_of(Eval.STRING, collation, _UTF8_BYTES * len(codes)), operands)


def convert_using(arguments: Arguments) -> Operand:
    """CONVERT(text USING charset)."""
    text, using = arguments
    charset = str(using.known())
    collation = Collation(charset, default_collation(charset), derived([text]).coercibility, is_ascii=False)
    result = result_of(Eval.STRING, collation)
    return folded(with_length(result, MAX_BLOB_WIDTH), [text])
