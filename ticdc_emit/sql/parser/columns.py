"""Columns and keys. Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``ColumnOption``, ``Constraint`` ...)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar, TypeAlias

from ticdc_emit.sql import nodes
from ticdc_emit.sql.lexer import JobText
from ticdc_emit.sql.parser.queries import QueryGrammar
from ticdc_emit.sql.types import MySQLType

_NOW_WORDS = ("CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP")
_INTEGERS = {
    **dict.fromkeys(("TINYINT", "INT1"), MySQLType.TINY),
    **dict.fromkeys(("SMALLINT", "INT2"), MySQLType.SHORT),
    **dict.fromkeys(("MEDIUMINT", "MIDDLEINT", "INT3"), MySQLType.INT24),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), MySQLType.LONG),
    **dict.fromkeys(("BIGINT", "INT8"), MySQLType.LONGLONG),
}
_FLOATS = {
    **dict.fromkeys(("FLOAT", "FLOAT4"), MySQLType.FLOAT),
    **dict.fromkeys(("DOUBLE", "FLOAT8", "REAL"), MySQLType.DOUBLE),
}
_SIZES = {"TINY": MySQLType.TINY_BLOB, "": MySQLType.BLOB, "MEDIUM": MySQLType.MEDIUM_BLOB, "LONG": MySQLType.LONG_BLOB}
_TEXTS, _BLOBS = ({size + word: kind for size, kind in _SIZES.items()} for word in ("TEXT", "BLOB"))
_TIMES = {
    "DATETIME": (MySQLType.DATETIME, 19),
    "TIMESTAMP": (MySQLType.TIMESTAMP, 19),
    "TIME": (MySQLType.DURATION, 10),
}
_VARCHARS = ("VARCHAR", "VARCHARACTER")
_FLOAT_PRECISION, _DOUBLE_PRECISION = 24, 53
_EMPTY_LENGTH = -1
_NOT_NULL = (nodes.ColumnOption("not null"),)
_FORMATS, _STORAGES = ("DEFAULT", "FIXED", "DYNAMIC"), ("DEFAULT", "DISK", "MEMORY")
_SERIAL = (nodes.ColumnOption("not null"), nodes.ColumnOption("auto_increment"), nodes.KeyOption("unique"))
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
    # -- defaults --------------------------------------------------------------------------------------------

    def _default(self) -> nodes.ComputedOption:
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
        in_parentheses = (isinstance(node, nodes.Call) and node.name != "CURRENT_TIMESTAMP") or isinstance(
            node, nodes.ColumnName
        )
        return nodes.ComputedOption("default", value, node, in_parentheses)

    def _default_value(self, opened: int) -> tuple[nodes.Literal | nodes.DefaultExpression | None, nodes.Node]:
        moment = self._moment()
        if moment is not None:
            return moment
        start = self._curr
        if self._at_words("NEXT", "VALUE", "FOR") or (self._at_words("NEXTVAL") and self._symbol_at("(", 1)):
            node = self._next_value()
            return nodes.DefaultExpression("call", text=self._text_from(start.start)), node
        if self._symbol_at("(", 1) and (self._at_plain_name() or self._at_words("REPLACE")):
            node = self._plain_call()
            return nodes.DefaultExpression("call", text=self._text_from(start.start)), node
        signed = self._signed_literal() if opened <= 1 else None
        if signed is not None:
            return datum_of(signed), signed
        if opened != 1:
            self._fail("expected a default value")
        name = self._name("a default value")
        return nodes.DefaultExpression("call", text=name), nodes.ColumnName((name,))

    def _as_default(self, expression: nodes.Expression) -> nodes.DefaultExpression:
        node = expression.node
        if isinstance(node, nodes.Call) and node.name.upper() in ("NOW", *_NOW_WORDS):
            fsp = node.arguments[0] if node.arguments else None
            return nodes.DefaultExpression("now", int(str(fsp.value)) if isinstance(fsp, nodes.Constant) else 0)
        if isinstance(node, nodes.Call) and node.name.upper() in ("CURRENT_DATE", "CURDATE"):
            return nodes.DefaultExpression("today")
        return nodes.DefaultExpression("call", text=expression.text)

    def _moment(self) -> tuple[nodes.DefaultExpression, nodes.Call] | None:
        word = self._word_at()
        is_now = word in _NOW_WORDS or self._call_at("NOW")
        if not (is_now or word == "CURRENT_DATE" or self._call_at("CURDATE")):
            return None
        arguments = self._bare_call(precision=is_now).arguments
        call = nodes.Call("CURRENT_TIMESTAMP" if is_now else "CURRENT_DATE", arguments)
        return self._as_default(nodes.Expression("", call)), call

    def _on_update(self) -> nodes.ComputedOption:
        moment = self._moment()
        if moment is None:
            self._fail("expected CURRENT_TIMESTAMP")
        return nodes.ComputedOption("on update", *moment)

    # -- constants -------------------------------------------------------------------------------------------

    def _signed_literal(self) -> nodes.Node | None:
        for sign in ("-", "+"):
            if self._accept_symbol(sign):
                number = self._number()
                if number is None:
                    self._fail("expected a number")
                return nodes.Unary(sign, number)
        return self._literal()

    def _with_text(self) -> nodes.Expression:
        start = self._curr.start
        node = self._expression()
        return nodes.Expression(self._text_from(start), node)

    def _bit_with_text(self) -> nodes.Expression:
        start = self._curr.start
        node = self._bit_expression()
        return nodes.Expression(self._text_from(start), node)

    def _parenthesised(self) -> nodes.Expression:
        return self._in_parentheses(self._with_text)

    # -- types ----------------------------------------------------------------------------------------------------

    def _type(self) -> nodes.TypeSpec:
        start = self._index
        word = self._any_word("a column type")
        if word in _INTEGERS:
            return self._signed(nodes.TypeSpec(_INTEGERS[word], self._length()))
        if word in ("BOOL", "BOOLEAN"):
            return self._signed(nodes.TypeSpec(MySQLType.TINY, 1))
        if word in ("DECIMAL", "DEC", "NUMERIC", "FIXED"):
            return self._signed(nodes.TypeSpec(MySQLType.NEWDECIMAL, *self._precision()))
        if word in _FLOATS:
            return self._float_type(_FLOATS[word], word)
        if word == "BIT":
            length = self._length()
            return nodes.TypeSpec(MySQLType.BIT, 1 if length == _EMPTY_LENGTH else length)
        if word in _TIMES:
            (kind, width), fsp = _TIMES[word], self._length()
            return nodes.TypeSpec(kind, width + 1 + fsp if fsp > 0 else width, fsp)
        if word == "DATE":
            return nodes.TypeSpec(MySQLType.DATE)
        if word in ("YEAR", "SQL_TSI_YEAR"):
            return self._year_type()
        if word == "JSON":
            return nodes.TypeSpec(MySQLType.JSON, charset="binary")
        if word == "VECTOR":
            self._vector_element()
            return nodes.TypeSpec(MySQLType.VECTOR_FLOAT32, self._length(), charset="")
        spec = self._string_type(word)
        if spec is None:
            self._retreat(start)
            self._fail("expected a column type")
        return spec

    def _string_type(self, word: str) -> nodes.TypeSpec | None:
        if word in ("ENUM", "SET"):
            return self._labels_type(MySQLType.ENUM if word == "ENUM" else MySQLType.SET)
        if word in _TEXTS:
            return self._with_charset(_TEXTS[word], self._length() if word == "TEXT" else -1, shorthand=True)
        if word in _BLOBS:
            return nodes.TypeSpec(_BLOBS[word], self._length() if word == "BLOB" else -1, charset="binary", binary=True)
        if word == "BINARY":
            return nodes.TypeSpec(MySQLType.STRING, self._length(), charset="binary", binary=True)
        if word == "VARBINARY":
            return nodes.TypeSpec(MySQLType.VARCHAR, self._required_length(), charset="binary", binary=True)
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

    def _long_type(self) -> nodes.TypeSpec:
        if self._accept("VARBINARY"):
            return nodes.TypeSpec(MySQLType.MEDIUM_BLOB, charset="binary", binary=True)
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

    def _signed(self, spec: nodes.TypeSpec) -> nodes.TypeSpec:
        unsigned = zerofill = False
        while word := self._accept_any("UNSIGNED", "SIGNED", "ZEROFILL"):
            unsigned = unsigned or word != "SIGNED"
            zerofill = zerofill or word == "ZEROFILL"
        return nodes.TypeSpec(spec.type, spec.flen, spec.decimal, unsigned, zerofill)

    def _float_type(self, kind: MySQLType, word: str) -> nodes.TypeSpec:
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
        return self._signed(nodes.TypeSpec(kind, length, scale))

    def _year_type(self) -> nodes.TypeSpec:
        opening = self._curr
        length = self._length()
        if length not in (_EMPTY_LENGTH, 4):
            self._fail("YEAR takes no length but 4", opening)
        self._signed(nodes.TypeSpec(MySQLType.YEAR))
        return nodes.TypeSpec(MySQLType.YEAR, length)

    def _labels_type(self, kind: MySQLType) -> nodes.TypeSpec:
        labels = self._in_parentheses(lambda: self._list(self._label))
        widths = [len(label if isinstance(label, bytes) else label.encode()) for label in labels]
        flen = max(widths) if kind is MySQLType.ENUM else sum(widths) + len(widths) - 1
        spec = self._with_charset(kind, flen, shorthand=True)
        return nodes.TypeSpec(kind, flen, charset=spec.charset, binary=spec.binary, elems=labels)

    def _label(self) -> str | bytes:
        binary = self._binary_literal()
        if isinstance(binary, JobText):
            return binary.decode().rstrip(" ")
        return binary.rstrip(b" ") if binary is not None else self._string("a label").rstrip(" ")

    def _with_charset(self, kind: MySQLType, flen: int, *, shorthand: bool = False) -> nodes.TypeSpec:
        """BINARY [CHARSET x] | CHARSET x [BINARY]; some types also take ASCII and BYTE for a charset."""
        if shorthand and (word := self._accept_any("ASCII", "BYTE")):
            return nodes.TypeSpec(kind, flen, charset="latin1" if word == "ASCII" else "binary")
        binary, charset = self._binary_and_charset()
        return nodes.TypeSpec(kind, flen, charset=charset, binary=binary)

    # -- columns and their options --------------------------------------------------------------------------------

    def _column_def(self) -> nodes.ColumnDef:
        offset = self._curr.start
        *qualifier, name = self._column().parts
        if self._accept("SERIAL"):
            spec, options = nodes.TypeSpec(MySQLType.LONGLONG, unsigned=True), _SERIAL + self._column_options()
        else:
            spec, options = self._type(), self._column_options()
        return nodes.ColumnDef(name, spec, options, offset, tuple(qualifier))

    def _column_options(self) -> tuple[nodes.ColumnOption, ...]:
        start = self._curr
        options: list[nodes.ColumnOption] = []
        while option := self._column_option():
            options += option
        kinds = [option.kind for option in options]
        if any(kind.startswith("generated") for kind in kinds):
            for kind in kinds:
                if kind in _NOT_WITH_GENERATED:
                    self._fail(f"a generated column takes no {_NOT_WITH_GENERATED[kind]}", start)
        return tuple(options)

    def _column_option(self) -> tuple[nodes.ColumnOption, ...]:
        option = _OPTIONS_BY_WORD.get(self._word_at())
        if option is None or not self._accept(*option[0]):
            return ()
        return option[1](self)

    def _primary_key_option(self) -> tuple[nodes.ColumnOption, ...]:
        word = self._accept_any("CLUSTERED", "NONCLUSTERED")
        return (nodes.KeyOption("primary key", word == "CLUSTERED" if word else None, self._global()),)

    def _unique_option(self) -> tuple[nodes.ColumnOption, ...]:
        self._accept("KEY")
        return (nodes.KeyOption("unique", None, self._global()),)

    def _global(self) -> bool:
        return self._accept_any("GLOBAL", "LOCAL") == "GLOBAL"

    def _generated_option(self) -> tuple[nodes.ColumnOption, ...]:
        expression = self._parenthesised()
        stored = self._accept_any("VIRTUAL", "STORED") == "STORED"
        return (nodes.ColumnOption("generated stored" if stored else "generated virtual", expression),)

    def _clause_option(self, word: str, choices: tuple[str, ...]) -> tuple[nodes.ColumnOption, ...]:
        return (nodes.ColumnOption("clause", f"{word} {self._expect_any(*choices)}"),)

    def _engine_attribute_option(self) -> tuple[nodes.ColumnOption, ...]:
        self._equals()
        text = nodes.string(self._string())
        return (nodes.ColumnOption("clause", "SECONDARY_ENGINE_ATTRIBUTE = " + text),)

    def _named_check_option(self) -> tuple[nodes.ColumnOption, ...]:
        name = "" if self._word_at() == "CHECK" else self._name("a constraint name")
        self._expect("CHECK")
        return self._check_option(name)

    def _check_option(self, name: str = "") -> tuple[nodes.ColumnOption, ...]:
        expression = self._parenthesised()
        if self._accept("NOT", "NULL"):
            return nodes.CheckOption("check", expression, name), *_NOT_NULL
        return (nodes.CheckOption("check", expression, name, self._enforced()),)

    def _enforced(self) -> bool:
        if self._accept("NOT", "ENFORCED"):
            return False
        self._accept("ENFORCED")
        return True

    def _reference(self) -> nodes.Reference:
        table = self._table_name()
        parts = self._key_parts() if self._symbol_at("(") else None
        match = self._expect_any("FULL", "PARTIAL", "SIMPLE") if self._accept("MATCH") else ""
        actions = {"DELETE": "", "UPDATE": ""}
        while self._at_words("ON") and not actions.get(self._word_at(1), "-"):
            event = self._word_at(1)
            self._advance(2)
            actions[event] = self._referential_action()
        return nodes.Reference(table, parts, match, actions["DELETE"], actions["UPDATE"])

    def _referential_action(self) -> str:
        if word := self._accept_any("RESTRICT", "CASCADE"):
            return word
        words = (self._word_at(), self._word_at(1))
        if words not in (("SET", "NULL"), ("NO", "ACTION"), ("SET", "DEFAULT")):
            self._fail("expected a referential action")
        self._advance(2)
        return " ".join(words)

    # -- the columns of a key --------------------------------------------------------------------------------

    def _key_parts(self) -> tuple[nodes.KeyPart, ...]:
        return self._in_parentheses(lambda: self._list(self._key_part))

    def _key_part(self) -> nodes.KeyPart:
        if self._symbol_at("("):
            expression = self._parenthesised()
            return nodes.KeyPart(expression=expression, descending=self._descending())
        *qualifier, name = self._column().parts
        length = self._length()
        return nodes.KeyPart(name, length, None, self._descending(), tuple(qualifier))

    def _descending(self) -> bool:
        return self._accept_any("ASC", "DESC") == "DESC"

    # -- keys and constraints -------------------------------------------------------------------------------------

    def _if_not_exists(self) -> bool:
        return self._accept("IF", "NOT", "EXISTS")

    def _if_exists(self) -> bool:
        return self._accept("IF", "EXISTS")

    def _constraint(self) -> nodes.Constraint | None:
        if self._word_at() not in _FIRST_WORDS:
            return None
        offset = self._curr.start
        symbol: str | None = None
        constrained = self._accept("CONSTRAINT")
        if constrained and self._word_at() not in (*_CONSTRAINT_WORDS, "KEY", "INDEX", "FULLTEXT"):
            symbol = self._name("a constraint name")
        constraint = self._constraint_body(offset)
        if constraint is None:
            if constrained:
                self._fail("expected PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK")
            return None
        if symbol is not None:
            constraint = replace(constraint, name=symbol, has_empty_name=not symbol)
        return constraint

    def _constraint_body(self, offset: int) -> nodes.Constraint | None:
        if self._accept("PRIMARY", "KEY"):
            return self._index_definition("primary", offset)
        if self._accept("UNIQUE"):
            self._accept_any("KEY", "INDEX")
            return self._index_definition("unique", offset)
        if self._accept("FOREIGN", "KEY"):
            return self._foreign_key(offset)
        if self._accept("CHECK"):
            check = self._parenthesised()
            return nodes.Constraint("check", check=check, enforced=self._enforced(), offset=offset)
        if self._accept_any("KEY", "INDEX"):
            return self._index_definition("index", offset)
        if self._accept("FULLTEXT"):
            self._accept_any("KEY", "INDEX")
            return self._index_definition("fulltext", offset)
        if self._word_at(1) == "INDEX" and (word := self._accept_any("VECTOR", "COLUMNAR")):
            self._advance()
            return replace(self._index_definition("columnar", offset), word=word)
        return None

    def _index_definition(self, kind: nodes.ConstraintKind, offset: int) -> nodes.Constraint:
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
        return nodes.Constraint(
            kind, name or "", keys, options, if_not_exists, has_empty_name=name is not None and not name, offset=offset
        )

    def _foreign_key(self, offset: int) -> nodes.Constraint:
        if_not_exists = self._if_not_exists()
        name = "" if self._symbol_at("(") else self._name("an index name")
        keys = self._key_parts()
        self._expect("REFERENCES")
        reference = self._reference()
        return nodes.Constraint("foreign", name, keys, if_not_exists=if_not_exists, reference=reference, offset=offset)

    def _index_type(self) -> str:
        self._advance()
        return self._expect_any(*_INDEX_TYPES)

    def _index_options(self) -> nodes.IndexOptions:
        given: dict[str, Any] = {}
        while True:
            if (word := self._word_at()) in _INDEX_FLAGS:
                self._advance()
                given |= _INDEX_FLAGS[word]
            elif (form := _INDEX_VALUES.get(word)) is not None and self._at_group(form):
                given |= {field: value for field, value in self._fields(form).items() if value}
            else:
                return nodes.IndexOptions(**given)

    def _pre_split(self) -> nodes.Split:
        if self._symbol_at("("):
            return self._in_parentheses(self._split)
        return nodes.Split(regions=self._integer())

    # -- splitting regions -----------------------------------------------------------------------------------

    def _split(self) -> nodes.Split:
        if self._accept("BY"):
            return nodes.Split(rows=self._list(self._row_value))
        return self._split_between()

    def _split_between(self) -> nodes.Split:
        self._expect("BETWEEN")
        low = self._row_value()
        self._expect("AND")
        high = self._row_value()
        self._expect("REGIONS")
        return nodes.Split(low, high, self._integer("a number of regions"))

    def _split_index(self) -> tuple[str | None, nodes.Split]:
        """SPLIT has been consumed: the index ("" for the primary key, None for the table), and where."""
        if self._accept("PRIMARY", "KEY"):
            return "", self._split_between()
        if self._accept("INDEX"):
            return self._name("an index"), self._split_between()
        return None, self._split_between()

    _KINDS: ClassVar[dict[str, Callable[[Any], Any]]] = {
        **QueryGrammar._KINDS,
        "bit expression": lambda self: self._bit_expression(),
        "time unit": lambda self: self._time_unit(),
        "expression": lambda self: self._with_text(),
        " pre split": _pre_split,
        "string": lambda self: self._string(),
    }


def datum_of(node: nodes.Node) -> nodes.Literal:
    if isinstance(node, nodes.Unary):
        assert isinstance(node.operand, nodes.Constant)
        datum = datum_of(node.operand)
        if node.operator == "+":
            return datum
        assert isinstance(datum.value, (int, float, Decimal))
        return nodes.Literal(datum.kind, nodes.negated(datum.value))
    assert isinstance(node, nodes.Constant)
    if node.kind == "true" or node.kind == "false":
        return nodes.Literal("integer", int(node.kind == "true"))
    return nodes.Literal("bits" if node.kind == "hex" else node.kind, node.content)


_ColumnOptions: TypeAlias = tuple[nodes.ColumnOption, ...]
_COLUMN_OPTIONS: dict[str, Callable[[ColumnGrammar], _ColumnOptions]] = {
    "AS": ColumnGrammar._generated_option,
    "AUTO_INCREMENT": lambda grammar: (nodes.ColumnOption("auto_increment"),),
    "AUTO_RANDOM": lambda grammar: (nodes.AutoRandom("auto_random", *grammar._precision()),),
    "CHECK": ColumnGrammar._check_option,
    "COLLATE": lambda grammar: (nodes.ColumnOption("collate", grammar._collation_name()),),
    "COLUMN_FORMAT": lambda grammar: grammar._clause_option("COLUMN_FORMAT", _FORMATS),
    "COMMENT": lambda grammar: (nodes.ColumnOption("comment", grammar._string("a comment")),),
    "CONSTRAINT": ColumnGrammar._named_check_option,
    "DEFAULT": lambda grammar: (grammar._default(),),
    "GENERATED ALWAYS AS": ColumnGrammar._generated_option,
    "KEY": ColumnGrammar._primary_key_option,
    "NOT NULL": lambda grammar: _NOT_NULL,
    "NULL": lambda grammar: (nodes.ColumnOption("null"),),
    "ON UPDATE": lambda grammar: (grammar._on_update(),),
    "PRIMARY KEY": ColumnGrammar._primary_key_option,
    "REFERENCES": lambda grammar: (nodes.ColumnOption("references", grammar._reference()),),
    "SECONDARY_ENGINE_ATTRIBUTE": ColumnGrammar._engine_attribute_option,
    "SERIAL DEFAULT VALUE": lambda grammar: _SERIAL,
    "STORAGE": lambda grammar: grammar._clause_option("STORAGE", _STORAGES),
    "UNIQUE": ColumnGrammar._unique_option,
}
"""Column options: the words that begin an option, and the rule for what follows."""
_OPTIONS_BY_WORD = {words.split()[0]: (words.split(), rule) for words, rule in _COLUMN_OPTIONS.items()}
_INDEX_FLAGS: dict[str, dict[str, Any]] = {
    "ADD_COLUMNAR_REPLICA_ON_DEMAND": {"columnar_on_demand": True},
    "CLUSTERED": {"clustered": True},
    "GLOBAL": {"is_global": True},
    "INVISIBLE": {"visible": False},
    "LOCAL": {},
    "NONCLUSTERED": {"clustered": False},
    "VISIBLE": {"visible": True},
}
_PRE_SPLIT = nodes.Form("PRE_SPLIT_REGIONS = {pre_split: pre split}")
_INDEX_VALUES = {"PRE_SPLIT_REGIONS": _PRE_SPLIT} | {
    word: step.group for step in nodes.IndexOptions.form.steps if step.group is not None for word in step.group.lead[0]
}
"""Index options with a value, by their first word."""
