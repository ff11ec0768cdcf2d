"""Column types. Tokens in, :class:`TypeSpec` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``Type``).
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.literal import LiteralGrammar
from ticdc_emit.schema.nodes.columns import TypeSpec
from ticdc_emit.schema.types import MySQLType

__all__ = ["TypeGrammar"]

_INTEGERS = {
    "TINYINT": MySQLType.TINY,
    "INT1": MySQLType.TINY,
    "SMALLINT": MySQLType.SHORT,
    "INT2": MySQLType.SHORT,
    "MEDIUMINT": MySQLType.INT24,
    "MIDDLEINT": MySQLType.INT24,
    "INT3": MySQLType.INT24,
    "INT": MySQLType.LONG,
    "INTEGER": MySQLType.LONG,
    "INT4": MySQLType.LONG,
    "BIGINT": MySQLType.LONGLONG,
    "INT8": MySQLType.LONGLONG,
}
_FLOATS = {
    "FLOAT": MySQLType.FLOAT,
    "FLOAT4": MySQLType.FLOAT,
    "DOUBLE": MySQLType.DOUBLE,
    "FLOAT8": MySQLType.DOUBLE,
    "REAL": MySQLType.DOUBLE,
}
_TEXTS = {
    "TINYTEXT": MySQLType.TINY_BLOB,
    "TEXT": MySQLType.BLOB,
    "MEDIUMTEXT": MySQLType.MEDIUM_BLOB,
    "LONGTEXT": MySQLType.LONG_BLOB,
}
_BLOBS = {
    "TINYBLOB": MySQLType.TINY_BLOB,
    "BLOB": MySQLType.BLOB,
    "MEDIUMBLOB": MySQLType.MEDIUM_BLOB,
    "LONGBLOB": MySQLType.LONG_BLOB,
}
_TIMES = {
    "DATETIME": (MySQLType.DATETIME, 19),
    "TIMESTAMP": (MySQLType.TIMESTAMP, 19),
    "TIME": (MySQLType.DURATION, 10),
}
_VARCHARS = ("VARCHAR", "VARCHARACTER")
_FLOAT_PRECISION, _DOUBLE_PRECISION = 24, 53
_EMPTY_LENGTH = -1


class TypeGrammar(LiteralGrammar):
    def _type(self) -> TypeSpec:
        start = self._index
        word = self._any_word("a column type")
        if word in _INTEGERS:
            return self._signed(TypeSpec(_INTEGERS[word], self._length()))
        if word in ("BOOL", "BOOLEAN"):
            return self._signed(TypeSpec(MySQLType.TINY, 1))
        if word in ("DECIMAL", "DEC", "NUMERIC", "FIXED"):
            return self._signed(TypeSpec(MySQLType.NEWDECIMAL, *self._precision()))
        if word in _FLOATS:
            return self._float_type(_FLOATS[word], word)
        if word == "BIT":
            length = self._length()
            return TypeSpec(MySQLType.BIT, 1 if length == _EMPTY_LENGTH else length)
        if word in _TIMES:
            return self._time_type(*_TIMES[word])
        if word == "DATE":
            return TypeSpec(MySQLType.DATE)
        if word in ("YEAR", "SQL_TSI_YEAR"):
            return self._year_type()
        if word == "JSON":
            return TypeSpec(MySQLType.JSON, charset="binary")
        if word == "VECTOR":
            self._vector_element()
            return TypeSpec(MySQLType.VECTOR_FLOAT32, self._length(), charset="")
        spec = self._string_type(word)
        if spec is None:
            self._retreat(start)
            self._fail("expected a column type")
        return spec

    def _string_type(self, word: str) -> TypeSpec | None:
        if word in ("ENUM", "SET"):
            return self._labels_type(MySQLType.ENUM if word == "ENUM" else MySQLType.SET)
        if word in _TEXTS:
            return self._with_charset(_TEXTS[word], self._length() if word == "TEXT" else -1, shorthand=True)
        if word in _BLOBS:
            return TypeSpec(_BLOBS[word], self._length() if word == "BLOB" else -1, charset="binary", binary=True)
        if word == "BINARY":
            return TypeSpec(MySQLType.STRING, self._length(), charset="binary", binary=True)
        if word == "VARBINARY":
            return TypeSpec(MySQLType.VARCHAR, self._required_length(), charset="binary", binary=True)
        if word == "LONG":
            return self._long_type()
        national = word == "NATIONAL"
        if national:
            word = self._any_word("CHAR or VARCHAR")
        if word in ("CHAR", "CHARACTER", "NCHAR"):
            if self._accept("VARYING") or (word == "NCHAR" and self._accept_any(*_VARCHARS)):
                word = "VARCHAR"
            else:
                return self._with_charset(MySQLType.STRING, self._length())
        if word in _VARCHARS or (word == "NVARCHAR" and not national):
            return self._with_charset(MySQLType.VARCHAR, self._required_length())
        return None

    def _long_type(self) -> TypeSpec:
        if self._accept("VARBINARY"):
            return TypeSpec(MySQLType.MEDIUM_BLOB, charset="binary", binary=True)
        if not (self._accept_any(*_VARCHARS) or self._accept("CHAR", "VARYING")):
            self._accept("CHARACTER", "VARYING")
        return self._with_charset(MySQLType.MEDIUM_BLOB, -1, shorthand=True)

    def _length(self) -> int:
        numbers = self._numbers(1)
        return numbers[0] if numbers else _EMPTY_LENGTH

    def _required_length(self) -> int:
        if not self._symbol_at("("):
            self._fail("expected a length in parentheses")
        return self._length()

    def _precision(self) -> tuple[int, int]:
        numbers = (*self._numbers(2), _EMPTY_LENGTH, _EMPTY_LENGTH)
        return numbers[0], numbers[1]

    def _signed(self, spec: TypeSpec) -> TypeSpec:
        unsigned = zerofill = False
        while word := self._accept_any("UNSIGNED", "SIGNED", "ZEROFILL"):
            unsigned = unsigned or word != "SIGNED"
            zerofill = zerofill or word == "ZEROFILL"
        return TypeSpec(spec.type, spec.flen, spec.decimal, unsigned, zerofill)

    def _float_type(self, kind: MySQLType, word: str) -> TypeSpec:
        if word == "DOUBLE":
            self._accept("PRECISION")
        elif word == "REAL" and self._mode.real_as_float:
            kind = MySQLType.FLOAT
        opening = self._curr
        length, scale = self._precision()
        if length != _EMPTY_LENGTH and scale == _EMPTY_LENGTH:
            if kind is MySQLType.DOUBLE:
                self._fail("DOUBLE takes (length, decimals) or nothing", opening)
            if length <= _DOUBLE_PRECISION:
                kind = MySQLType.DOUBLE if length > _FLOAT_PRECISION else kind
                length = _EMPTY_LENGTH
        return self._signed(TypeSpec(kind, length, scale))

    def _time_type(self, kind: MySQLType, width: int) -> TypeSpec:
        fsp = self._length()
        return TypeSpec(kind, width + 1 + fsp if fsp > 0 else width, fsp)

    def _year_type(self) -> TypeSpec:
        opening = self._curr
        length = self._length()
        if length not in (_EMPTY_LENGTH, 4):
            self._fail("YEAR takes no length but 4", opening)
        self._signed(TypeSpec(MySQLType.YEAR))
        return TypeSpec(MySQLType.YEAR, length)

    def _labels_type(self, kind: MySQLType) -> TypeSpec:
        labels = self._in_parentheses(lambda: self._list(self._label))
        widths = [len(label if isinstance(label, bytes) else label.encode()) for label in labels]
        flen = max(widths) if kind is MySQLType.ENUM else sum(widths) + len(widths) - 1
        spec = self._with_charset(kind, flen, shorthand=True)
        return TypeSpec(kind, flen, charset=spec.charset, binary=spec.binary, elems=labels)

    def _label(self) -> str | bytes:
        binary = self._binary_literal()
        return binary.rstrip(b" ") if binary is not None else self._string("a label").rstrip(" ")

    def _with_charset(self, kind: MySQLType, flen: int, *, shorthand: bool = False) -> TypeSpec:
        """BINARY [CHARSET x] | CHARSET x [BINARY]; some types also take ASCII and BYTE for a charset."""
        if shorthand and (word := self._accept_any("ASCII", "BYTE")):
            return TypeSpec(kind, flen, charset="latin1" if word == "ASCII" else "binary")
        binary, charset = self._binary_and_charset()
        return TypeSpec(kind, flen, charset=charset, binary=binary)
