"""Column definitions: type and options. Tokens in, :class:`ColumnDef` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``ColumnDef``, ``Type``, ``ColumnOption``).
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.literal import LiteralGrammar
from ticdc_emit.schema.nodes import ColumnDef, ColumnOption, TableName, TypeSpec
from ticdc_emit.schema.types import MySQLType

__all__ = ["ColumnGrammar"]

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
_FLOAT_PRECISION, _DOUBLE_PRECISION = 24, 53
_EMPTY_LENGTH = -1


class ColumnGrammar(LiteralGrammar):
    def _column_def(self) -> ColumnDef:
        offset = self._curr.start
        name = self._column_name()
        if self._accept("SERIAL"):
            implied = (ColumnOption("not null"), ColumnOption("auto_increment"), ColumnOption("unique"))
            spec = TypeSpec(MySQLType.LONGLONG, unsigned=True)
            return ColumnDef(name, spec, implied + self._column_options(), offset)
        spec = self._type()
        return ColumnDef(name, spec, self._column_options(), offset)

    # -- types ---------------------------------------------------------------------------------------------------

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
            return self._vector_type()
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
            if self._accept("VARBINARY"):
                return TypeSpec(MySQLType.MEDIUM_BLOB, charset="binary", binary=True)
            self._varying_word()
            return self._with_charset(MySQLType.MEDIUM_BLOB, -1, shorthand=True)
        national = word == "NATIONAL"
        if national:
            word = self._any_word("CHAR or VARCHAR")
        if word in ("CHAR", "CHARACTER", "NCHAR"):
            if self._accept("VARYING") or (word == "NCHAR" and self._accept_any("VARCHAR", "VARCHARACTER")):
                word = "VARCHAR"
            else:
                return self._with_charset(MySQLType.STRING, self._length())
        if word in ("VARCHAR", "VARCHARACTER") or (word == "NVARCHAR" and not national):
            return self._with_charset(MySQLType.VARCHAR, self._required_length())
        return None

    def _varying_word(self) -> None:
        if not self._accept_any("VARCHAR", "VARCHARACTER"):
            _ = self._accept("CHAR", "VARYING") or self._accept("CHARACTER", "VARYING")

    def _length(self) -> int:
        if not self._accept_symbol("("):
            return _EMPTY_LENGTH
        length = self._integer("a length")
        self._expect_symbol(")")
        return length

    def _required_length(self) -> int:
        if not self._symbol_at("("):
            self._fail("expected a length in parentheses")
        return self._length()

    def _precision(self) -> tuple[int, int]:
        if not self._accept_symbol("("):
            return _EMPTY_LENGTH, _EMPTY_LENGTH
        length = self._integer("a length")
        scale = self._integer("a number of decimals") if self._accept_symbol(",") else _EMPTY_LENGTH
        self._expect_symbol(")")
        return length, scale

    def _signed(self, spec: TypeSpec) -> TypeSpec:
        unsigned = zerofill = False
        while word := self._accept_any("UNSIGNED", "SIGNED", "ZEROFILL"):
            unsigned = unsigned or word != "SIGNED"
            zerofill = zerofill or word == "ZEROFILL"
        return TypeSpec(spec.type, spec.flen, spec.decimal, unsigned, zerofill)

    def _float_type(self, kind: MySQLType, word: str) -> TypeSpec:
        if word == "DOUBLE":
            self._accept("PRECISION")
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

    def _vector_type(self) -> TypeSpec:
        if self._accept_symbol("<"):
            self._expect("FLOAT")
            self._expect_symbol(">")
        return TypeSpec(MySQLType.VECTOR_FLOAT32, self._length(), 0)

    def _labels_type(self, kind: MySQLType) -> TypeSpec:
        self._expect_symbol("(")
        labels = [self._label()]
        while self._accept_symbol(","):
            labels.append(self._label())
        self._expect_symbol(")")
        widths = [len(label if isinstance(label, bytes) else label.encode()) for label in labels]
        flen = max(widths) if kind is MySQLType.ENUM else sum(widths) + len(widths) - 1
        spec = self._with_charset(kind, flen, shorthand=True)
        return TypeSpec(kind, flen, charset=spec.charset, binary=spec.binary, elems=tuple(labels))

    def _label(self) -> str | bytes:
        bits = self._bits()
        return bits.rstrip(b" ") if bits is not None else self._string("a label").rstrip(" ")

    def _with_charset(self, kind: MySQLType, flen: int, *, shorthand: bool = False) -> TypeSpec:
        """BINARY [CHARSET x] | CHARSET x [BINARY]; some types also take ASCII and BYTE for a charset."""
        charset, binary = "", False
        if self._accept("BINARY"):
            binary = True
            if self._charset_keyword():
                charset = self._charset_or_collation_name()
        elif self._charset_keyword():
            charset = self._charset_or_collation_name()
            binary = self._accept("BINARY")
        elif shorthand and (word := self._accept_any("ASCII", "BYTE")):
            charset = "latin1" if word == "ASCII" else "binary"
        return TypeSpec(kind, flen, charset=charset, binary=binary)

    # -- options -------------------------------------------------------------------------------------------------

    def _column_options(self) -> tuple[ColumnOption, ...]:
        options: list[ColumnOption] = []
        while (option := self._column_option()) is not None:
            options.extend(option)
        return tuple(options)

    def _column_option(self) -> tuple[ColumnOption, ...] | None:
        """Consume one option; () where TiDB ignores it, None where none follows."""
        if self._accept("NOT", "NULL"):
            return (ColumnOption("not null"),)
        if self._accept("NULL"):
            return (ColumnOption("null"),)
        if self._accept("AUTO_INCREMENT"):
            return (ColumnOption("auto_increment"),)
        if self._accept("AUTO_RANDOM"):
            bits = self._precision()
            return (ColumnOption("auto_random", bits[0]),)
        if self._accept("PRIMARY", "KEY") or self._accept("KEY"):
            clustered = self._clustered()
            self._accept_any("GLOBAL", "LOCAL")
            return (ColumnOption("primary key", clustered),)
        if self._accept("UNIQUE"):
            self._accept("KEY")
            self._accept_any("GLOBAL", "LOCAL")
            return (ColumnOption("unique"),)
        if self._accept("DEFAULT"):
            return (ColumnOption("default", self._default()),)
        if self._accept("SERIAL", "DEFAULT", "VALUE"):
            return (ColumnOption("not null"), ColumnOption("auto_increment"), ColumnOption("unique"))
        if self._accept("ON", "UPDATE"):
            return (ColumnOption("on update", self._now()),)
        if self._accept("COMMENT"):
            return (ColumnOption("comment", self._string("a comment")),)
        if self._accept("COLLATE"):
            return (ColumnOption("collate", self._charset_or_collation_name()),)
        return self._rare_column_option()

    def _rare_column_option(self) -> tuple[ColumnOption, ...] | None:
        if self._accept("GENERATED", "ALWAYS", "AS") or self._accept("AS"):
            expression = self._parenthesised()
            stored = self._accept_any("VIRTUAL", "STORED") == "STORED"
            return (ColumnOption("generated stored" if stored else "generated virtual", expression),)
        if self._accept("CONSTRAINT"):
            if self._word_at() != "CHECK":
                self._name("a constraint name")
            if self._word_at() != "CHECK":
                self._fail("expected CHECK")
        if self._accept("CHECK"):
            option = ColumnOption("check", self._parenthesised())
            if self._accept("NOT", "NULL"):
                return option, ColumnOption("not null")
            self._enforced()
            return (option,)
        if self._accept("REFERENCES"):
            self._references()
            return (ColumnOption("references"),)
        if self._accept("COLUMN_FORMAT") or self._accept("STORAGE"):
            if not self._accept_any("DEFAULT", "FIXED", "DYNAMIC", "DISK", "MEMORY"):
                self._fail("expected a column format or storage")
            return ()
        if self._accept("SECONDARY_ENGINE_ATTRIBUTE") or self._accept("ENGINE_ATTRIBUTE"):
            self._accept_symbol("=")
            self._string()
            return ()
        return None

    def _clustered(self) -> bool | None:
        word = self._accept_any("CLUSTERED", "NONCLUSTERED")
        return None if not word else word == "CLUSTERED"

    def _enforced(self) -> None:
        _ = self._accept("NOT", "ENFORCED") or self._accept("ENFORCED")

    def _references(self) -> tuple[TableName, tuple[str, ...]]:
        """REFERENCES has been consumed; return the table and its columns, if they are named."""
        table = self._table_name()
        columns: list[str] = []
        if self._accept_symbol("("):
            while not columns or self._accept_symbol(","):
                columns.append(self._column_name())
                self._length()
                self._accept_any("ASC", "DESC")
            self._expect_symbol(")")
        if self._accept("MATCH"):
            self._accept_any("FULL", "PARTIAL", "SIMPLE")
        while self._accept("ON", "DELETE") or self._accept("ON", "UPDATE"):
            if not self._accept_any("RESTRICT", "CASCADE") and not (
                self._accept("SET", "NULL") or self._accept("NO", "ACTION") or self._accept("SET", "DEFAULT")
            ):
                self._fail("expected a referential action")
        return table, tuple(columns)
