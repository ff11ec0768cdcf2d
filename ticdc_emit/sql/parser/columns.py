"""Columns and keys: default values, types, column options, constraints, index options. Tokens in, nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``DefaultValueExpr``, ``SignedLiteral``, ``NowSymOptionFraction``,
``Type``, ``ColumnOption``, ``Constraint``, ``IndexOption``).
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from ticdc_emit.sql.nodes.base import Node, string
from ticdc_emit.sql.nodes.expressions import (
    Call,
    ColumnName,
    Constant,
    DefaultExpression,
    Expression,
    Literal,
    Unary,
    negated,
)
from ticdc_emit.sql.nodes.tables import (
    AutoRandom,
    CheckOption,
    ClauseOption,
    CollateOption,
    ColumnDef,
    ColumnOption,
    CommentOption,
    ComputedOption,
    Constraint,
    ConstraintKind,
    GeneratedOption,
    IndexOptions,
    KeyOption,
    KeyPart,
    Reference,
    ReferenceOption,
    Split,
    TypeSpec,
)
from ticdc_emit.sql.parser.queries import QueryGrammar
from ticdc_emit.sql.types import MySQLType

__all__ = ["ColumnGrammar"]


_NOW_WORDS = ("CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP")
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
_OPTION_WORDS = frozenset(
    {
        *("NOT", "NULL", "AUTO_INCREMENT", "AUTO_RANDOM", "PRIMARY", "KEY", "UNIQUE", "DEFAULT", "COMMENT", "SERIAL"),
        *("ON", "COLLATE", "GENERATED", "AS", "CONSTRAINT", "CHECK", "REFERENCES", "COLUMN_FORMAT", "STORAGE"),
        "SECONDARY_ENGINE_ATTRIBUTE",
    }
)
_NOT_NULL = (ColumnOption("not null"),)
_PLAIN_OPTIONS = {"NULL": (ColumnOption("null"),), "AUTO_INCREMENT": (ColumnOption("auto_increment"),)}
_FORMATS, _STORAGES = ("DEFAULT", "FIXED", "DYNAMIC"), ("DEFAULT", "DISK", "MEMORY")
_SERIAL = (ColumnOption("not null"), ColumnOption("auto_increment"), KeyOption("unique"))
_NOT_WITH_GENERATED = {
    "auto_increment": "AUTO_INCREMENT",
    "on update": "ON UPDATE",
    "default": "DEFAULT",
    "auto_random": "AUTO_RANDOM",
}
_INDEX_TYPES = ("BTREE", "HASH", "RTREE", "HYPO", "HNSW", "INVERTED")
_CONSTRAINT_WORDS = ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK")
_FIRST_WORDS = frozenset({"CONSTRAINT", *_CONSTRAINT_WORDS, "KEY", "INDEX", "FULLTEXT", "VECTOR", "COLUMNAR"})


class ColumnGrammar(QueryGrammar):
    """Columns, keys and constraints."""

    # -- defaults --------------------------------------------------------------------------------------------

    def _default(self) -> ComputedOption:
        """DEFAULT has been consumed."""
        start = self._curr
        opened = 0
        while self._symbol_at("("):
            self._advance()
            opened += 1
        value, node = self._default_value(opened)
        for _ in range(opened):
            self._expect_symbol(")")
        if value is None:
            self._fail("expected a default value", start)
        in_parentheses = (isinstance(node, Call) and node.name != "CURRENT_TIMESTAMP") or isinstance(node, ColumnName)
        return ComputedOption("default", value, node, in_parentheses)

    def _default_value(self, opened: int) -> tuple[Literal | DefaultExpression | None, Node]:
        moment = self._moment()
        if moment is not None:
            return moment
        start = self._curr
        if self._at_words("NEXT", "VALUE", "FOR") or (self._at_words("NEXTVAL") and self._symbol_at("(", 1)):
            node = self._next_value()
            return DefaultExpression("call", text=self._text_from(start.start)), node
        if self._symbol_at("(", 1) and (self._at_plain_name() or self._at_words("REPLACE")):
            node = self._plain_call()
            return DefaultExpression("call", text=self._text_from(start.start)), node
        signed = self._signed_literal() if opened <= 1 else None
        if signed is not None:
            return datum_of(signed), signed
        if opened != 1:
            self._fail("expected a default value")
        name = self._name("a default value")
        return DefaultExpression("call", text=name), ColumnName((name,))

    def _as_default(self, expression: Expression) -> DefaultExpression:
        """The value of an expression that ALTER COLUMN sets as the default."""
        node = expression.node
        if isinstance(node, Call) and node.name.upper() in ("CURRENT_TIMESTAMP", "NOW", *_NOW_WORDS):
            fsp = node.arguments[0] if node.arguments else None
            return DefaultExpression("now", int(str(fsp.value)) if isinstance(fsp, Constant) else 0)
        if isinstance(node, Call) and node.name.upper() in ("CURRENT_DATE", "CURDATE"):
            return DefaultExpression("today")
        return DefaultExpression("call", text=expression.text)

    def _moment(self) -> tuple[DefaultExpression, Call] | None:
        """Consume CURRENT_TIMESTAMP, CURRENT_DATE or a synonym if one follows."""
        word = self._word_at()
        if word in _NOW_WORDS or self._call_at("NOW"):
            self._advance()
            if not self._accept_symbol("("):
                return DefaultExpression("now"), Call("CURRENT_TIMESTAMP")
            arguments: tuple[Node, ...] = ()
            fsp = 0
            if not self._symbol_at(")"):
                fsp = self._integer("fractional seconds")
                arguments = (Constant("integer", str(fsp)),)
            self._expect_symbol(")")
            return DefaultExpression("now", fsp), Call("CURRENT_TIMESTAMP", arguments)
        if word == "CURRENT_DATE" or self._call_at("CURDATE"):
            self._advance()
            if self._accept_symbol("("):
                self._expect_symbol(")")
            return DefaultExpression("today"), Call("CURRENT_DATE")
        return None

    def _on_update(self) -> ComputedOption:
        moment = self._moment()
        if moment is None:
            self._fail("expected CURRENT_TIMESTAMP")
        return ComputedOption("on update", *moment)

    # -- constants -------------------------------------------------------------------------------------------

    def _signed_literal(self) -> Node | None:
        for sign in ("-", "+"):
            if self._accept_symbol(sign):
                number = self._number()
                if number is None:
                    self._fail("expected a number")
                return Unary(sign, number)
        return self._literal()

    def _with_text(self) -> Expression:
        """An expression with its source text."""
        start = self._curr.start
        node = self._expression()
        return Expression(self._text_from(start), node)

    def _bit_with_text(self) -> Expression:
        start = self._curr.start
        node = self._bit_expression()
        return Expression(self._text_from(start), node)

    def _parenthesised(self) -> Expression:
        return self._in_parentheses(self._with_text)

    # -- types ----------------------------------------------------------------------------------------------------

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

    # -- columns and their options --------------------------------------------------------------------------------

    def _column_def(self) -> ColumnDef:
        offset = self._curr.start
        *qualifier, name = self._column().parts
        if self._accept("SERIAL"):
            spec, options = TypeSpec(MySQLType.LONGLONG, unsigned=True), _SERIAL + self._column_options()
        else:
            spec, options = self._type(), self._column_options()
        return ColumnDef(name, spec, options, offset, tuple(qualifier))

    def _column_options(self) -> tuple[ColumnOption, ...]:
        start = self._curr
        options: list[ColumnOption] = []
        while (option := self._column_option()) is not None:
            options.extend(option)
        kinds = [option.kind for option in options]
        if any(kind.startswith("generated") for kind in kinds):
            for kind in kinds:
                if kind in _NOT_WITH_GENERATED:
                    self._fail(f"a generated column takes no {_NOT_WITH_GENERATED[kind]}", start)
        return tuple(options)

    def _column_option(self) -> tuple[ColumnOption, ...] | None:
        """Consume one option; None if none follows."""
        word = self._word_at()
        if word not in _OPTION_WORDS:
            return None
        if word == "NOT":
            self._advance()
            self._expect("NULL")
            return _NOT_NULL
        if plain := _PLAIN_OPTIONS.get(word):
            self._advance()
            return plain
        if self._accept("AUTO_RANDOM"):
            return (AutoRandom("auto_random", *self._precision()),)
        if self._accept("PRIMARY", "KEY") or self._accept("KEY"):
            return (KeyOption("primary key", self._clustered(), self._global()),)
        if self._accept("UNIQUE"):
            self._accept("KEY")
            return (KeyOption("unique", None, self._global()),)
        if self._accept("DEFAULT"):
            return (self._default(),)
        if self._accept("COMMENT"):
            return (CommentOption("comment", self._string("a comment")),)
        if self._accept("SERIAL", "DEFAULT", "VALUE"):
            return _SERIAL
        if self._accept("ON", "UPDATE"):
            return (self._on_update(),)
        if self._accept("COLLATE"):
            return (CollateOption("collate", self._collation_name()),)
        return self._rare_column_option(word)

    def _rare_column_option(self, word: str) -> tuple[ColumnOption, ...] | None:
        if self._accept("GENERATED", "ALWAYS", "AS") or self._accept("AS"):
            expression = self._parenthesised()
            stored = self._accept_any("VIRTUAL", "STORED") == "STORED"
            return (GeneratedOption("generated stored" if stored else "generated virtual", expression),)
        if word in ("CONSTRAINT", "CHECK"):
            return self._check_option()
        if self._accept("REFERENCES"):
            return (ReferenceOption("references", None, self._reference()),)
        if self._accept("COLUMN_FORMAT"):
            return (ClauseOption("clause", None, "COLUMN_FORMAT " + self._expect_any(*_FORMATS)),)
        if self._accept("STORAGE"):
            return (ClauseOption("clause", None, "STORAGE " + self._expect_any(*_STORAGES)),)
        if self._accept("SECONDARY_ENGINE_ATTRIBUTE"):
            self._equals()
            return (ClauseOption("clause", None, "SECONDARY_ENGINE_ATTRIBUTE = " + string(self._string())),)
        return None

    def _check_option(self) -> tuple[ColumnOption, ...]:
        name = ""
        if self._accept("CONSTRAINT") and self._word_at() != "CHECK":
            name = self._name("a constraint name")
        self._expect("CHECK")
        expression = self._parenthesised()
        if self._accept("NOT", "NULL"):
            return CheckOption("check", expression, name), ColumnOption("not null")
        return (CheckOption("check", expression, name, self._enforced()),)

    def _clustered(self) -> bool | None:
        word = self._accept_any("CLUSTERED", "NONCLUSTERED")
        return None if not word else word == "CLUSTERED"

    def _global(self) -> bool:
        return self._accept_any("GLOBAL", "LOCAL") == "GLOBAL"

    def _enforced(self) -> bool:
        if self._accept("NOT", "ENFORCED"):
            return False
        self._accept("ENFORCED")
        return True

    def _reference(self) -> Reference:
        """REFERENCES has been consumed."""
        table = self._table_name()
        parts = self._key_parts() if self._symbol_at("(") else None
        match = self._expect_any("FULL", "PARTIAL", "SIMPLE") if self._accept("MATCH") else ""
        actions = {"DELETE": "", "UPDATE": ""}
        while self._at_words("ON") and not actions.get(self._word_at(1), "-"):
            event = self._word_at(1)
            self._advance(2)
            actions[event] = self._referential_action()
        return Reference(table, parts, match, actions["DELETE"], actions["UPDATE"])

    def _referential_action(self) -> str:
        if word := self._accept_any("RESTRICT", "CASCADE"):
            return word
        words = (self._word_at(), self._word_at(1))
        if words not in (("SET", "NULL"), ("NO", "ACTION"), ("SET", "DEFAULT")):
            self._fail("expected a referential action")
        self._advance(2)
        return " ".join(words)

    # -- the columns of a key --------------------------------------------------------------------------------

    def _key_parts(self) -> tuple[KeyPart, ...]:
        return self._in_parentheses(lambda: self._list(self._key_part))

    def _key_part(self) -> KeyPart:
        if self._symbol_at("("):
            expression = self._parenthesised()
            return KeyPart(expression=expression, descending=self._descending())
        *qualifier, name = self._column().parts
        length = self._length()
        return KeyPart(name, length, None, self._descending(), tuple(qualifier))

    def _descending(self) -> bool:
        return self._accept_any("ASC", "DESC") == "DESC"

    # -- keys and constraints -------------------------------------------------------------------------------------

    def _if_not_exists(self) -> bool:
        return self._accept("IF", "NOT", "EXISTS")

    def _if_exists(self) -> bool:
        return self._accept("IF", "EXISTS")

    def _constraint(self) -> Constraint | None:
        """Consume a constraint or index definition if one starts here."""
        if self._word_at() not in _FIRST_WORDS:
            return None
        offset = self._curr.start
        symbol: str | None = None
        constrained = self._accept("CONSTRAINT")
        if constrained and not self._constraint_word():
            symbol = self._name("a constraint name")
        constraint = self._constraint_body(offset)
        if constraint is None:
            if constrained:
                self._fail("expected PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK")
            return None
        if symbol is not None:
            constraint = replace(constraint, name=symbol, has_empty_name=not symbol)
        return constraint

    def _constraint_word(self) -> bool:
        return self._word_at() in (*_CONSTRAINT_WORDS, "KEY", "INDEX", "FULLTEXT")

    def _constraint_body(self, offset: int) -> Constraint | None:
        if self._accept("PRIMARY", "KEY"):
            return self._index_definition("primary", offset)
        if self._accept("UNIQUE"):
            self._accept_any("KEY", "INDEX")
            return self._index_definition("unique", offset)
        if self._accept("FOREIGN", "KEY"):
            return self._foreign_key(offset)
        if self._accept("CHECK"):
            check = self._parenthesised()
            return Constraint("check", check=check, enforced=self._enforced(), offset=offset)
        if self._accept_any("KEY", "INDEX"):
            return self._index_definition("index", offset)
        if self._accept("FULLTEXT"):
            self._accept_any("KEY", "INDEX")
            return self._index_definition("fulltext", offset)
        if self._word_at(1) == "INDEX" and (word := self._accept_any("VECTOR", "COLUMNAR")):
            self._advance()
            return replace(self._index_definition("columnar", offset), word=word)
        return None

    def _index_definition(self, kind: ConstraintKind, offset: int) -> Constraint:
        if_not_exists = kind in ("index", "columnar") and self._if_not_exists()
        name: str | None = None
        using = ""
        if not self._symbol_at("(") and self._word_at() != "USING":
            name = self._name("an index name")
        if kind != "fulltext" and (self._at_words("USING") or (name is not None and self._at_words("TYPE"))):
            using = self._index_type()
        keys = self._key_parts()
        options = self._index_options()
        if using:
            options = replace(options, using=using)
        return Constraint(
            kind, name or "", keys, options, if_not_exists, has_empty_name=name is not None and not name, offset=offset
        )

    def _foreign_key(self, offset: int) -> Constraint:
        if_not_exists = self._if_not_exists()
        name = "" if self._symbol_at("(") else self._name("an index name")
        keys = self._key_parts()
        self._expect("REFERENCES")
        reference = self._reference()
        return Constraint("foreign", name, keys, if_not_exists=if_not_exists, reference=reference, offset=offset)

    def _index_type(self) -> str:
        """Consume USING or TYPE and the type."""
        self._advance()
        return self._expect_any(*_INDEX_TYPES)

    def _index_options(self) -> IndexOptions:
        options = IndexOptions()
        while (option := self._index_option()) is not None:
            options = replace(options, **option)  # type: ignore[arg-type]
        return options

    def _index_option(self) -> dict[str, object] | None:
        """Consume one option; {} for one without effect, None if none follows."""
        word = self._word_at()
        if word in ("CLUSTERED", "NONCLUSTERED"):
            return {"clustered": self._clustered()}
        if self._accept_any("VISIBLE", "INVISIBLE"):
            return {"visible": word == "VISIBLE"}
        if self._accept("COMMENT"):
            return _said("comment", self._string("a comment"))
        if word in ("USING", "TYPE"):
            return {"using": self._index_type()}
        if self._accept("WITH", "PARSER"):
            return _said("parser", self._name("a parser"))
        if self._accept("KEY_BLOCK_SIZE"):
            self._equals()
            return _said("key_block_size", self._integer())
        if self._accept("PRE_SPLIT_REGIONS"):
            self._equals()
            is_rule = self._symbol_at("(")
            return {"pre_split": self._in_parentheses(self._split) if is_rule else Split(regions=self._integer())}
        if self._accept("SECONDARY_ENGINE_ATTRIBUTE"):
            self._equals()
            return _said("engine_attribute", self._string())
        if self._accept("ADD_COLUMNAR_REPLICA_ON_DEMAND"):
            return {"columnar_on_demand": True}
        if self._accept_any("GLOBAL", "LOCAL"):
            return _said("is_global", word == "GLOBAL")
        return {"where": self._with_text()} if self._accept("WHERE") else None

    # -- splitting regions -----------------------------------------------------------------------------------

    def _split(self) -> Split:
        if self._accept("BY"):
            return Split(rows=self._list(self._row_value))
        return self._split_between()

    def _split_between(self) -> Split:
        self._expect("BETWEEN")
        low = self._row_value()
        self._expect("AND")
        high = self._row_value()
        self._expect("REGIONS")
        return Split(low, high, self._integer("a number of regions"))

    def _row_value(self) -> tuple[Node, ...]:
        self._expect_symbol("(")
        if self._accept_symbol(")"):
            return ()
        members = self._list(lambda: self._default_or(self._expression))
        self._expect_symbol(")")
        return members

    def _split_index(self) -> tuple[str | None, Split]:
        """SPLIT has been consumed: the index ("" for the primary key, None for the table), and where."""
        if self._accept("PRIMARY", "KEY"):
            return "", self._split_between()
        if self._accept("INDEX"):
            return self._name("an index"), self._split_between()
        return None, self._split_between()


def datum_of(node: Node) -> Literal:
    """Return the constant of a signed literal."""
    if isinstance(node, Unary):
        assert isinstance(node.operand, Constant)
        datum = datum_of(node.operand)
        if node.operator == "+":
            return datum
        assert isinstance(datum.value, (int, float, Decimal))
        return Literal(datum.kind, negated(datum.value))
    assert isinstance(node, Constant)
    kind, value = node.kind, node.value
    if kind == "null":
        return Literal("null", None)
    if kind in ("true", "false"):
        return Literal("integer", int(kind == "true"))
    if isinstance(value, bytes):
        return Literal("bits", value)
    if isinstance(value, float):
        return Literal("float", value)
    assert isinstance(value, str)
    if kind == "integer":
        return Literal("integer", int(value))
    return Literal("decimal", Decimal(value)) if kind == "decimal" else Literal("string", value)


def _said(name: str, value: object) -> dict[str, object]:
    """An empty option does not override an earlier one."""
    return {name: value} if value else {}
