"""Statements that change rows, transactions, SET and queries. Rule source: pingcap/tidb ``pkg/parser/parser.y``.

A rule also reads what cannot be executed here, so that the refusal can name the part.
"""

from __future__ import annotations

from collections.abc import Callable

from ticdc_emit.sql import nodes
from ticdc_emit.sql.lexer import literal_columns
from ticdc_emit.sql.parser.base import Rules, rules_by_word
from ticdc_emit.sql.parser.queries import QueryGrammar

_PRIORITIES = ("LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED")
_OPTIONS = {
    "INSERT": (*_PRIORITIES, "IGNORE"),
    "REPLACE": ("LOW_PRIORITY", "DELAYED"),
    "UPDATE": ("LOW_PRIORITY", "IGNORE"),
    "DELETE": ("LOW_PRIORITY", "QUICK", "IGNORE"),
}
_SCOPES = {"GLOBAL": "GLOBAL", "SESSION": "SESSION", "LOCAL": "SESSION", "PERSIST": "GLOBAL", "PERSIST_ONLY": "GLOBAL"}
_FIRST_WORDS = "INSERT, REPLACE, UPDATE, DELETE, BEGIN, COMMIT, ROLLBACK, SET or a DDL statement"


class ChangeParser(QueryGrammar):
    _what, _subject = "statement", "the statement"

    def statement(self) -> nodes.ChangeStatement:
        return self._whole(ChangeParser._query if self._symbol_at("(") else self._rule_of(_RULES), _FIRST_WORDS)

    def _options_of(self, word: str) -> tuple[str, ...]:
        options = []
        while option := self._accept_any(*_OPTIONS[word]):
            options.append(option)
        return tuple(options)

    # -- INSERT and REPLACE ----------------------------------------------------------------------------------

    def _insert(self) -> nodes.Insert:
        word = self._expect_any("INSERT", "REPLACE")
        options = self._options_of(word)
        self._accept("INTO")
        table = self._table_name()
        partitions = self._partition_list()
        columns, rows, query = self._inserted()
        if query is None and self._at_words("AS"):
            self._fail("TiDB gives an inserted row no alias; write VALUES(column)")
        duplicate: tuple[nodes.Assigned, ...] = ()
        if word == "INSERT" and self._accept("ON"):
            self._expect("DUPLICATE", "KEY", "UPDATE")
            duplicate = self._list(self._assigned)
        return nodes.Insert(word, table, columns, rows, query, options, partitions, duplicate)

    def _inserted(self) -> tuple[tuple[nodes.ColumnName, ...] | None, nodes.InsertedRows, nodes.Query | None]:
        if self._accept("SET"):
            assigned = () if self._at_end else self._list(self._assigned)
            return tuple(each.column for each in assigned), (tuple(each.value for each in assigned),), None
        columns: tuple[nodes.ColumnName, ...] | None = None
        if self._symbol_at("(") and (self._at_name(1) or self._symbol_at(")", 1)):
            columns = self._members(self._column)
        if self._word_at() in ("VALUE", "VALUES") and not self._at_words("VALUES", "ROW"):
            self._advance()
            return columns, self._list(self._row_or_rows), None
        return columns, (), self._query()

    def _row_or_rows(self) -> tuple[nodes.Node, ...] | nodes.LiteralRows:
        if self._curr.kind != "rows":
            return self._row_value()
        rows = self._curr.value
        self._advance()
        return nodes.LiteralRows(literal_columns(rows, self._mode), self._mode)

    def _assigned(self) -> nodes.Assigned:
        column = self._column()
        if not (self._accept_symbol("=") or self._accept_symbol(":=")):
            self._fail("expected =")
        return nodes.Assigned(column, self._default_or(self._expression))

    # -- UPDATE and DELETE -----------------------------------------------------------------------------------

    def _update(self) -> nodes.Update:
        self._expect("UPDATE")
        options = self._options_of("UPDATE")
        tables = self._table_references()
        self._expect("SET")
        assignments = self._list(self._assigned)
        where = self._expression() if self._accept("WHERE") else None
        return nodes.Update(tables, assignments, where, self._order_and_limit(), options)

    def _delete(self) -> nodes.Delete:
        self._expect("DELETE")
        options = self._options_of("DELETE")
        if not self._accept("FROM"):
            self._fail("expected FROM; DELETE names no table before it here")
        tables = self._table_references()
        where = self._expression() if self._accept("WHERE") else None
        return nodes.Delete(tables, where, self._order_and_limit(), options)

    # -- transactions ----------------------------------------------------------------------------------------

    def _begin(self) -> nodes.Begin:
        if self._accept("BEGIN"):
            return nodes.Begin(self._accept_any("PESSIMISTIC", "OPTIMISTIC"))
        self._expect("START", "TRANSACTION")
        return nodes.Begin(self._rest_of_words())

    def _commit(self) -> nodes.Commit:
        self._expect("COMMIT")
        return nodes.Commit(self._rest_of_words())

    def _rollback(self) -> nodes.Rollback:
        self._expect("ROLLBACK")
        if self._accept("TO"):
            self._accept("SAVEPOINT")
            return nodes.Rollback(self._name("a savepoint"))
        return nodes.Rollback("", self._rest_of_words())

    def _savepoint(self) -> nodes.Savepoint:
        releases = self._accept("RELEASE")
        self._expect("SAVEPOINT")
        return nodes.Savepoint(self._name("a savepoint"), releases)

    def _rest_of_words(self) -> str:
        words = []
        while word := self._word_at():
            words.append(word)
            self._advance()
        return " ".join(words)

    # -- SET -------------------------------------------------------------------------------------------------

    def _set(self) -> nodes.SetStatement:
        self._expect("SET")
        for ahead in (0, 1):
            if self._word_at(ahead) == "TRANSACTION" and (not ahead or self._word_at() in _SCOPES):
                scope = _SCOPES[self._any_word("a scope")] if ahead else ""
                self._expect("TRANSACTION")
                start = self._curr.start
                self._advance(self._last - self._index)
                text = nodes.Constant("string", self._text_from(start))
                return nodes.SetStatement((nodes.Variable("transaction", text, scope),))
        return nodes.SetStatement(self._list(self._variable_assigned))

    def _variable_assigned(self) -> nodes.Variable:
        if self._accept("NAMES") or self._charset_keyword():
            charset = nodes.Constant("string", "default" if self._accept("DEFAULT") else self._charset_name())
            if self._accept("COLLATE"):
                self._name_or_string("a collation")
            return nodes.Variable("names", charset)
        scope, name = "", self._curr.value
        if self._curr.kind == "variable":
            scope = "@"
            self._advance()
        elif self._curr.kind == "system":
            variable = self._variable()
            assert isinstance(variable, nodes.SystemVariable)
            name, scope = variable.name, variable.scope
        else:
            scope = _SCOPES.get(self._word_at(), "")
            if scope:
                self._advance()
            name = self._name("a variable").lower()
        if not (self._accept_symbol("=") or self._accept_symbol(":=")):
            self._fail("expected =")
        if self._accept("DEFAULT"):
            return nodes.Variable(name, None, scope)
        if self._word_at() in ("ON", "BINARY", "ALL", "ROW"):
            return nodes.Variable(name, nodes.Constant("string", self._any_word("ON")), scope)
        return nodes.Variable(name, self._expression(), scope)


_RULES: Rules[Callable[[ChangeParser], nodes.ChangeStatement]] = rules_by_word(
    ("INSERT|REPLACE", ChangeParser._insert),
    ("UPDATE", ChangeParser._update),
    ("DELETE", ChangeParser._delete),
    ("BEGIN", ChangeParser._begin),
    ("START TRANSACTION", ChangeParser._begin),
    ("COMMIT", ChangeParser._commit),
    ("ROLLBACK", ChangeParser._rollback),
    ("SAVEPOINT", ChangeParser._savepoint),
    ("RELEASE SAVEPOINT", ChangeParser._savepoint),
    ("SET", ChangeParser._set),
    ("SELECT|TABLE|VALUES|WITH", ChangeParser._query),
)
"""Statements that are not DDL, by their first words."""
