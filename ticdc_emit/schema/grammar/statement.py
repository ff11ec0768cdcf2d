"""DDL statements: the top of the TiDB grammar. Tokens in, one :data:`Statement` node out.

Rule source: pingcap/tidb ``pkg/parser/parser.y``.
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.schema.grammar.alter import AlterGrammar
from ticdc_emit.schema.nodes.alter import AddConstraint, DropIndex
from ticdc_emit.schema.nodes.keys import Constraint, ConstraintKind
from ticdc_emit.schema.nodes.names import CURRENT_USER, TableName, User
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.statements import (
    AlterDatabase,
    CreateDatabase,
    CreateIndex,
    CreateView,
    DatabaseOption,
    DropDatabase,
    DropIndexOn,
    DropTables,
    RenameTables,
    Statement,
    TruncateTable,
    UseDatabase,
)

__all__ = ["StatementGrammar"]

_STATEMENTS = "a DDL statement: CREATE, ALTER, DROP, RENAME, TRUNCATE or USE"
_CREATED = "TABLE, INDEX, VIEW or DATABASE"
_INDEX_KINDS = ("UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR", "COLUMNAR")
_CONSTRAINT_KINDS: dict[str, ConstraintKind] = {
    "": "index",
    "UNIQUE": "unique",
    "FULLTEXT": "fulltext",
    "SPATIAL": "index",
    "VECTOR": "columnar",
    "COLUMNAR": "columnar",
}


class StatementGrammar(AlterGrammar):
    def whole_expression(self) -> Node:
        """Consume an expression that ends the text."""
        self._what, self._subject = "expression", "the expression"
        if self._at_end:
            self._fail("expected an expression")
        node = self._expression()
        self._expect_end("the end of the expression")
        return node

    def _ddl_body(self) -> Statement:
        if self._accept("CREATE"):
            return self._create_statement()
        if self._accept("ALTER"):
            if self._accept_any("DATABASE", "SCHEMA"):
                return self._alter_database()
            self._accept("IGNORE")
            self._expect("TABLE")
            return self._alter_table()
        if self._accept("DROP"):
            return self._drop_statement()
        if self._accept("RENAME"):
            self._expect("TABLE")
            return RenameTables(self._list(self._renaming))
        if self._accept("TRUNCATE"):
            self._accept("TABLE")
            return TruncateTable(self._table_name())
        if not self._accept("USE"):
            self._fail(f"expected {_STATEMENTS}")
        return UseDatabase(self._name("a database"))

    def _create_statement(self) -> Statement:
        or_replace = self._accept("OR", "REPLACE")
        if or_replace or self._word_at() in ("ALGORITHM", "DEFINER", "SQL", "VIEW"):
            return self._create_view(or_replace=or_replace)
        if self._accept_any("DATABASE", "SCHEMA"):
            if_not_exists = self._if_not_exists()
            name = self._name("a database")
            return CreateDatabase(name, self._database_options(), if_not_exists)
        temporary = ""
        if self._accept("TEMPORARY"):
            temporary = "TEMPORARY"
        elif self._accept("GLOBAL", "TEMPORARY"):
            temporary = "GLOBAL TEMPORARY"
        if self._accept("TABLE"):
            return self._create_table(temporary=temporary)
        if self._word_at() not in ("INDEX", *_INDEX_KINDS):
            self._fail("expected TABLE" if temporary else f"expected {_CREATED}")
        return self._create_index()

    def _create_index(self) -> CreateIndex:
        start = self._curr.start
        kind = self._accept_any(*_INDEX_KINDS)
        self._expect("INDEX")
        if_not_exists = self._if_not_exists()
        name = self._name("an index name")
        using = self._index_type() if self._word_at() in ("USING", "TYPE") else ""
        self._expect("ON")
        table = self._table_name()
        keys = self._key_parts()
        options = self._index_options()
        if using and not options.using:
            options = replace(options, using=using)
        constraint = Constraint(
            _CONSTRAINT_KINDS[kind],
            name,
            keys,
            options,
            if_not_exists,
            word=kind,
            has_empty_name=not name,
            offset=start,
        )
        return CreateIndex(table, (AddConstraint(constraint),), kind, *self._algorithm_and_lock())

    # -- views ---------------------------------------------------------------------------------------------------

    def _create_view(self, *, or_replace: bool) -> CreateView:
        algorithm, definer, security = "UNDEFINED", CURRENT_USER, "DEFINER"
        if self._accept("ALGORITHM"):
            self._expect_symbol("=")
            algorithm = self._expect_any("UNDEFINED", "MERGE", "TEMPTABLE")
        if self._accept("DEFINER"):
            self._expect_symbol("=")
            definer = self._user()
        if self._accept("SQL", "SECURITY"):
            security = self._expect_any("DEFINER", "INVOKER")
        self._expect("VIEW")
        table = self._table_name()
        columns: tuple[str, ...] = ()
        if self._symbol_at("("):
            columns = self._in_parentheses(lambda: self._names("a column name"))
        self._expect("AS")
        if self._at_end:
            self._fail("expected SELECT")
        start = self._curr.start
        query = self._query()
        select = self._text_from(start)
        check_option = self._view_check_option() if self._accept("WITH") else "CASCADED"
        return CreateView(table, columns, select, query, or_replace, algorithm, definer, security, check_option, start)

    def _view_check_option(self) -> str:
        word = self._expect_any("CASCADED", "LOCAL")
        self._expect("CHECK", "OPTION")
        return word

    def _user(self) -> User:
        if self._accept("CURRENT_USER"):
            if self._accept_symbol("("):
                self._expect_symbol(")")
            return CURRENT_USER
        name = self._name_or_string("a user")
        if self._curr.kind == "variable":
            host = self._curr.value
            self._advance()
            if not host and (self._curr.kind == "string" or self._at_name()):
                host = self._name_or_string("a host")
            return User(name, host.lower())
        return User(name, "%")

    # -- databases and the rest ----------------------------------------------------------------------------------

    def _database_options(self) -> tuple[DatabaseOption, ...]:
        options: list[DatabaseOption] = []
        while not self._at_end:
            options.append(self._database_option())
        return tuple(options)

    def _database_option(self) -> DatabaseOption:
        if self._accept("SET"):
            self._expect("TIFLASH", "REPLICA")
            count = self._integer("a number of replicas")
            return DatabaseOption("tiflash_replica", str(count), self._location_labels())
        self._accept("DEFAULT")
        if self._charset_keyword():
            self._equals()
            return DatabaseOption("charset", self._charset_name())
        if self._accept("COLLATE"):
            self._equals()
            return DatabaseOption("collate", self._collation_name())
        if self._accept("ENCRYPTION"):
            self._equals()
            return DatabaseOption("encryption", self._encryption_value())
        if not self._accept("PLACEMENT", "POLICY"):
            self._fail("not a database option")
        return DatabaseOption("placement_policy", self._policy())

    def _alter_database(self) -> AlterDatabase:
        name = None if self._is_database_option() else self._name("a database")
        options = self._database_options()
        if not options:
            self._fail("expected a database option")
        return AlterDatabase(name, options)

    def _is_database_option(self) -> bool:
        word, following = self._word_at(), self._word_at(1)
        if word == "PLACEMENT":
            return following == "POLICY"
        return word in ("DEFAULT", "CHARACTER", "CHAR", "COLLATE", "SET")

    def _drop_statement(self) -> Statement:
        if self._accept_any("DATABASE", "SCHEMA"):
            if_exists = self._if_exists()
            return DropDatabase(self._name("a database"), if_exists)
        hypothetical = self._accept("HYPO")
        if self._accept("INDEX"):
            if_exists = self._if_exists()
            name = self._name("an index")
            self._expect("ON")
            table = self._table_name()
            work = ("", "") if hypothetical else self._algorithm_and_lock()
            return DropIndexOn(table, (DropIndex(name, if_exists),), *work)
        view = self._accept("VIEW")
        temporary = ""
        if self._accept("TEMPORARY"):
            temporary = "TEMPORARY"
        elif self._accept("GLOBAL", "TEMPORARY"):
            temporary = "GLOBAL TEMPORARY"
        if not view and not self._accept_any("TABLE", "TABLES"):
            self._fail("expected TABLE, VIEW, INDEX or DATABASE")
        if_exists = self._if_exists()
        tables = self._list(self._table_name)
        self._accept_any("RESTRICT", "CASCADE")
        return DropTables(tables, if_exists, view, temporary)

    def _renaming(self) -> tuple[TableName, TableName]:
        old = self._table_name()
        self._expect("TO")
        return old, self._table_name()
