"""Whole statements. Tokens in, one node out.

The tables at the end of this module choose a rule by the first words: a statement of another kind is one row
more. A rule reads its statement from the first word.

Rule source: pingcap/tidb ``pkg/parser/parser.y``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from ticdc_emit.sql import nodes
from ticdc_emit.sql.parser.alter import AlterGrammar, form_rule
from ticdc_emit.sql.parser.base import Rules, rules_by_word

_STATEMENTS = "a DDL statement: CREATE, ALTER, DROP, RENAME, TRUNCATE or USE"
_CREATED = "TABLE, INDEX, VIEW or DATABASE"
_INDEX_KINDS = ("UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR", "COLUMNAR")
_CONSTRAINT_KINDS: dict[str, nodes.ConstraintKind] = {
    "": "index",
    "UNIQUE": "unique",
    "FULLTEXT": "fulltext",
    "SPATIAL": "index",
    "VECTOR": "columnar",
    "COLUMNAR": "columnar",
}
_DATABASE_OPTIONS = ("DEFAULT", "CHARACTER", "CHAR", "COLLATE", "SET")
_OBJECTS = ("SEQUENCE", "PLACEMENT POLICY", "RESOURCE GROUP", "MASKING POLICY")


class Parser(AlterGrammar):
    """The parser of one statement or expression: every rule of the modules of this package."""

    def whole_expression(self) -> nodes.Node:
        """Consume an expression that ends the text."""
        self._what, self._subject = "expression", "the expression"
        if self._at_end:
            self._fail("expected an expression")
        node = self._expression()
        self._expect_end("the end of the expression")
        return node

    def job_statement(self) -> nodes.Statement | nodes.OtherStatement:
        """Consume one whole statement that the catalog can run."""
        rule = self._rule_of(_JOBS)
        if rule is None:
            self._fail(f"expected {_STATEMENTS}")
        statement: nodes.Statement | nodes.OtherStatement = rule(self)
        self._expect_end()
        return statement

    # -- databases -------------------------------------------------------------------------------------------

    def _current_or_name(self) -> str | None:
        is_option = self._at_words("PLACEMENT", "POLICY") or self._word_at() in _DATABASE_OPTIONS
        return None if is_option else self._name("a database")

    def _database_options(self) -> tuple[nodes.DatabaseOption, ...]:
        options = [self._database_option()]
        while not self._at_end:
            options.append(self._database_option())
        return tuple(options)

    def _database_option(self) -> nodes.DatabaseOption:
        if self._accept("SET"):
            self._expect("TIFLASH", "REPLICA")
            count = self._integer("a number of replicas")
            return nodes.DatabaseOption("tiflash_replica", str(count), self._location_labels())
        self._accept("DEFAULT")
        if self._charset_keyword():
            self._equals()
            return nodes.DatabaseOption("charset", self._charset_name())
        if self._accept("COLLATE"):
            self._equals()
            return nodes.DatabaseOption("collate", self._collation_name())
        if self._accept("ENCRYPTION"):
            self._equals()
            return nodes.DatabaseOption("encryption", self._yes_or_no())
        if not self._accept("PLACEMENT", "POLICY"):
            self._fail("not a database option")
        return nodes.DatabaseOption("placement_policy", self._policy())

    # -- tables ----------------------------------------------------------------------------------------------

    def _create_table_statement(self) -> nodes.CreateTable | nodes.CreateTableLike:
        self._expect("CREATE")
        temporary = self._temporary()
        self._expect("TABLE")
        return self._create_table(temporary=temporary)

    def _temporary(self) -> str:
        return "GLOBAL TEMPORARY" if self._accept("GLOBAL", "TEMPORARY") else self._accept_any("TEMPORARY")

    def _drop_tables(self) -> nodes.DropTables:
        self._expect("DROP")
        view = self._accept("VIEW")
        temporary = "" if view else self._temporary()
        if not view and not self._accept_any("TABLE", "TABLES"):
            self._fail("expected TABLE, VIEW, INDEX or DATABASE")
        if_exists = self._if_exists()
        tables = self._list(self._table_name)
        self._accept_any("RESTRICT", "CASCADE")
        return nodes.DropTables(tables, if_exists, view, temporary)

    def _renaming(self) -> tuple[nodes.TableName, nodes.TableName]:
        old = self._table_name()
        self._expect("TO")
        return old, self._table_name()

    # -- indexes ---------------------------------------------------------------------------------------------

    def _create_index(self) -> nodes.CreateIndex:
        self._expect("CREATE")
        start = self._curr.start
        if self._word_at() not in ("INDEX", *_INDEX_KINDS):
            self._fail(f"expected {_CREATED}")
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
        constraint = nodes.Constraint(
            _CONSTRAINT_KINDS[kind],
            name,
            keys,
            options,
            if_not_exists,
            word=kind,
            has_empty_name=not name,
            offset=start,
        )
        return nodes.CreateIndex(table, (nodes.AddConstraint(constraint),), kind, *self._algorithm_and_lock())

    def _drop_index(self) -> nodes.DropIndexOn:
        self._expect("DROP")
        hypothetical = self._accept("HYPO")
        self._expect("INDEX")
        if_exists = self._if_exists()
        name = self._name("an index")
        self._expect("ON")
        table = self._table_name()
        work = ("", "") if hypothetical else self._algorithm_and_lock()
        return nodes.DropIndexOn(table, (nodes.DropIndex(name, if_exists),), *work)

    # -- views -----------------------------------------------------------------------------------------------

    def _create_view(self) -> nodes.CreateView:
        self._expect("CREATE")
        or_replace = self._accept("OR", "REPLACE")
        algorithm, definer, security = "UNDEFINED", nodes.CURRENT_USER, "DEFINER"
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
        columns = self._column_list()
        self._expect("AS")
        if self._at_end:
            self._fail("expected SELECT")
        start = self._curr.start
        query = self._query()
        select = self._text_from(start)
        check_option = ""
        if self._accept("WITH"):
            check_option = self._expect_any("CASCADED", "LOCAL").replace("CASCADED", "")
            self._expect("CHECK", "OPTION")
        return nodes.CreateView(table, columns, select, query, or_replace, algorithm, definer, security, check_option)

    def _user(self) -> nodes.User:
        if self._accept("CURRENT_USER"):
            if self._accept_symbol("("):
                self._expect_symbol(")")
            return nodes.CURRENT_USER
        name = self._name_or_string("a user")
        if self._curr.kind == "variable":
            host = self._curr.value
            self._advance()
            if not host and (self._curr.kind == "string" or self._at_name()):
                host = self._name_or_string("a host")
            return nodes.User(name, host.lower())
        return nodes.User(name, "%")

    # -- what brings back, locks and repairs tables ----------------------------------------------------------

    def _recover(self) -> nodes.Recover:
        self._expect("RECOVER", "TABLE")
        if self._accept("BY", "JOB"):
            return nodes.Recover(None, self._integer("a job"))
        table = self._table_name()
        return nodes.Recover(table, 0 if self._at_end else self._integer("a number"))

    def _flashback(self) -> nodes.Flashback:
        self._expect("FLASHBACK")
        if self._accept("CLUSTER"):
            return self._flashed_back("CLUSTER", ())
        if self._accept_any("DATABASE", "SCHEMA"):
            names = (nodes.TableName("", self._name("a database")),)
            return self._flashed_back("DATABASE", names)
        self._expect("TABLE")
        return self._flashed_back("TABLE", self._list(self._table_name))

    def _flashed_back(self, what: str, names: tuple[nodes.TableName, ...]) -> nodes.Flashback:
        if self._at_words("TO", "TIMESTAMP") and self._peek(2).kind == "string":
            self._advance(2)
            return nodes.Flashback(what, names, timestamp=self._string())
        if self._at_words("TO", "TSO") and self._peek(2).kind == "integer":
            self._advance(2)
            return nodes.Flashback(what, names, tso=self._integer())
        if len(names) != 1:
            self._fail("expected TO TIMESTAMP or TO TSO")
        return nodes.Flashback(what, names, self._name("a name") if self._accept("TO") else "")

    # -- what is no table ------------------------------------------------------------------------------------

    def _object_statement(self) -> nodes.ObjectStatement:
        verb = self._expect_any("CREATE", "ALTER", "DROP")
        replaces = self._accept("OR", "REPLACE")
        kind = next(each for each in _OBJECTS if self._accept(*each.split())).lower()
        condition = "IF NOT EXISTS" if self._if_not_exists() else "IF EXISTS" if self._if_exists() else ""
        if replaces and condition:
            self._fail("either OR REPLACE or IF NOT EXISTS", self._prev)
        if kind == "sequence":
            names = self._list(self._table_name) if verb == "DROP" else (self._table_name(),)
        else:
            names = (nodes.TableName("", self._name()),)
        if kind == "masking policy":
            self._expect("ON")
            names += (self._table_name(),)
        return nodes.ObjectStatement(verb, kind, names, condition, self._rest(ends=verb == "DROP"))

    def _rest(self, *, ends: bool = False) -> int:
        """Step over the rest of a statement, of which nothing is sent; return where it begins."""
        offset = self._curr.start
        if not ends:
            self._advance(self._last - self._index)
        return offset

    def _lock_tables(self) -> nodes.ObjectStatement:
        verb = self._expect_any("LOCK", "UNLOCK")
        self._expect_any("TABLE", "TABLES")
        return nodes.ObjectStatement(verb, "", offset=self._rest())

    def _repair_table(self) -> nodes.ObjectStatement:
        self._expect("ADMIN", "REPAIR", "TABLE")
        return nodes.ObjectStatement("REPAIR", "table", (self._table_name(),), offset=self._rest())

    _KINDS: ClassVar[dict[str, Callable[[Any], Any]]] = {
        **AlterGrammar._KINDS,
        "current or name": _current_or_name,
        "database options": lambda self: () if self._at_end else self._database_options(),
        "renamings": lambda self: self._list(self._renaming),
        "some database options": _database_options,
    }


_JOBS: Rules[Callable[[Parser], Any]] = rules_by_word(
    ("CREATE|ALTER|DROP SEQUENCE", Parser._object_statement),
    ("CREATE|ALTER|DROP PLACEMENT POLICY", Parser._object_statement),
    ("CREATE|ALTER|DROP RESOURCE GROUP", Parser._object_statement),
    ("CREATE MASKING POLICY", Parser._object_statement),
    ("CREATE OR REPLACE MASKING POLICY", Parser._object_statement),
    form_rule(nodes.CreateDatabase),
    form_rule(nodes.AlterDatabase),
    form_rule(nodes.DropDatabase),
    form_rule(nodes.UseDatabase),
    ("CREATE OR REPLACE", Parser._create_view),
    ("CREATE ALGORITHM|DEFINER|SQL|VIEW", Parser._create_view),
    ("CREATE TABLE|TEMPORARY", Parser._create_table_statement),
    ("CREATE GLOBAL TEMPORARY", Parser._create_table_statement),
    ("CREATE", Parser._create_index),
    ("ALTER", Parser._alter_table),
    ("DROP INDEX", Parser._drop_index),
    ("DROP HYPO INDEX", Parser._drop_index),
    ("DROP", Parser._drop_tables),
    form_rule(nodes.RenameTables),
    form_rule(nodes.TruncateTable),
    ("RECOVER TABLE", Parser._recover),
    ("FLASHBACK", Parser._flashback),
    ("LOCK|UNLOCK", Parser._lock_tables),
    ("ADMIN REPAIR TABLE", Parser._repair_table),
)
"""Statements that the catalog runs, by their first words."""
