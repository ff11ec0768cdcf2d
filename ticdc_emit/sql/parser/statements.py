"""Whole statements; tables at the end choose rules by the first words. Source: pingcap/tidb ``pkg/parser/parser.y``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from ticdc_emit.sql import nodes
from ticdc_emit.sql.parser.alter import AlterGrammar, form_rule
from ticdc_emit.sql.parser.base import Rules, rules_by_word
from ticdc_emit.sql.parser.tables import YES_OR_NO

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
_POLICY_NUMBERS = ("FOLLOWERS", "VOTERS", "LEARNERS")
_POLICY_STRINGS = (
    *("PRIMARY_REGION", "REGIONS", "SCHEDULE", "CONSTRAINTS", "LEADER_CONSTRAINTS", "FOLLOWER_CONSTRAINTS"),
    *("VOTER_CONSTRAINTS", "LEARNER_CONSTRAINTS", "SURVIVAL_PREFERENCES"),
)
_SEQUENCE_NUMBERS = {"INCREMENT": "BY", "START": "WITH", "RESTART": "WITH", "MINVALUE": "", "MAXVALUE": "", "CACHE": ""}
_SEQUENCE_WORDS = {
    "NOMINVALUE": "NO MINVALUE",
    "NOMAXVALUE": "NO MAXVALUE",
    "NOCACHE": "NOCACHE",
    "NOCYCLE": "NOCYCLE",
    "CYCLE": "CYCLE",
}


class Parser(AlterGrammar):
    def whole_expression(self) -> nodes.Node:
        self._what, self._subject = "expression", "the expression"
        if self._at_end:
            self._fail("expected an expression")
        node = self._expression()
        self._expect_end("expected the end of the expression")
        return node

    def job_statement(self) -> nodes.Statement | nodes.OtherStatement:
        """Consume one whole statement that the catalog can run."""
        return self._whole(self._rule_of(_JOBS), _STATEMENTS)

    def any_statement(self) -> nodes.Node:
        others = Parser._query if self._symbol_at("(") else self._rule_of(_OTHERS)
        return self._whole(others or self._rule_of(_JOBS), _STATEMENTS)

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
            return nodes.DatabaseOption("encryption", self._text_of(YES_OR_NO, "'Y' or 'N'"))
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

    def _definition(self) -> nodes.CreateTable:
        self._expect("CREATE", "TABLE")
        definition = self._create_table(temporary="")
        if not isinstance(definition, nodes.CreateTable):
            self._fail("expected a table's definition", self._prev)
        return definition

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
        columns = self._in_parentheses(lambda: self._names("a column name")) if self._symbol_at("(") else ()
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

    def _lock_tables(self) -> nodes.LockTables:
        is_lock = self._expect_any("LOCK", "UNLOCK") == "LOCK"
        self._expect_any("TABLE", "TABLES")
        return nodes.LockTables(self._list(self._table_lock) if is_lock else ())

    def _table_lock(self) -> tuple[nodes.TableName, str]:
        table = self._table_name()
        word = self._expect_any("READ", "WRITE")
        return table, f"{word} LOCAL" if self._accept("LOCAL") else word

    # -- sequences, policies, resource groups ----------------------------------------------------------------

    def _sequence(self) -> nodes.Sequence:
        sequence = self._read(nodes.Sequence)
        options: list[str] = []
        while option := self._sequence_option():
            options.append(option)
        of_table = self._table_options() if sequence.verb == "CREATE" and not self._at_end else ()
        return replace(sequence, options=tuple(options), table_options=of_table)

    def _sequence_option(self) -> str:
        word = self._word_at()
        if word == "NO":
            self._advance()
            what = self._expect_any("MINVALUE", "MAXVALUE", "CACHE", "CYCLE")
            return _SEQUENCE_WORDS[f"NO{what}"]
        if word in _SEQUENCE_WORDS:
            return _SEQUENCE_WORDS[self._any_word("an option")]
        if word not in _SEQUENCE_NUMBERS:
            return ""
        self._advance()
        joint = _SEQUENCE_NUMBERS[word]
        if not joint or not self._accept(joint):
            self._equals()
        if word == "RESTART" and self._curr.kind != "integer" and not self._symbol_at("-") and not self._symbol_at("+"):
            return word
        return " ".join(filter(None, (word, joint, str(self._signed_integer()))))

    def _placement_policy(self) -> nodes.PlacementPolicy:
        policy = self._read(nodes.PlacementPolicy)
        options = 0
        while not self._at_end:
            if self._accept_any(*_POLICY_NUMBERS):
                self._equals()
                self._integer()
            elif self._accept_any(*_POLICY_STRINGS):
                self._equals()
                self._string()
            else:
                self._fail("not a placement option")
            options += 1
            self._accept_symbol(",")
        return replace(policy, options=options)

    def _resource_group(self) -> nodes.ResourceGroup:
        group = self._read(nodes.ResourceGroup)
        if self._at_end:
            return group
        if group.verb == "DROP":
            self._fail("not understood")
        offset = self._curr.start
        self._advance(self._last - self._index)  # its options have no job that concerns a changefeed
        return replace(group, options_offset=offset)

    # -- statements that are not jobs ------------------------------------------------------------------------

    def _alter_or_maintain_table(self) -> nodes.Node:
        """ALTER TABLE, of which ANALYZE PARTITION and COMPACT are statements of their own."""
        table = self._altered_table()
        if self._accept("ANALYZE", "PARTITION"):
            partitions, of_indexes = self._partition_names(), self._accept("INDEX")
            indexes = self._list(self._index_name) if of_indexes and not self._at_end else ()
            return nodes.Analyze((table,), partitions, of_indexes, indexes)
        if self._accept("COMPACT"):
            partitions = self._partition_names() if self._accept("PARTITION") else ()
            return nodes.Compact(table, partitions, self._accept("TIFLASH", "REPLICA"))
        return self._changes(table)

    _KINDS: ClassVar[dict[str, Callable[[Any], Any]]] = {
        **AlterGrammar._KINDS,
        "close tables": lambda self: self._list(self._table_name),
        "current or name": _current_or_name,
        "database options": lambda self: () if self._at_end else self._database_options(),
        "definition": _definition,
        "renamings": lambda self: self._list(self._renaming),
        "some database options": _database_options,
    }


_JOBS: Rules[Callable[[Parser], nodes.Statement | nodes.OtherStatement]] = rules_by_word(
    ("CREATE|ALTER|DROP PLACEMENT", Parser._placement_policy),
    ("CREATE|ALTER|DROP RESOURCE", Parser._resource_group),
    ("CREATE|ALTER SEQUENCE", Parser._sequence),
    form_rule(nodes.DropSequences),
    form_rule(nodes.CreateDatabase),
    form_rule(nodes.AlterDatabase),
    form_rule(nodes.DropDatabase),
    form_rule(nodes.UseDatabase),
    ("CREATE OR REPLACE", Parser._create_view),
    ("CREATE ALGORITHM|DEFINER|SQL|VIEW", Parser._create_view),
    ("CREATE TABLE|TEMPORARY", Parser._create_table_statement),
    ("CREATE GLOBAL TEMPORARY", Parser._create_table_statement),
    ("CREATE", Parser._create_index),
    ("ALTER", lambda parser: parser._changes(parser._altered_table())),
    ("DROP INDEX", Parser._drop_index),
    ("DROP HYPO INDEX", Parser._drop_index),
    ("DROP", Parser._drop_tables),
    form_rule(nodes.RenameTables),
    form_rule(nodes.TruncateTable),
    ("RECOVER TABLE", Parser._recover),
    ("FLASHBACK", Parser._flashback),
    ("LOCK|UNLOCK", Parser._lock_tables),
    form_rule(nodes.RepairTable),
)
"""Statements that the catalog runs, by their first words."""
_OTHERS: Rules[Callable[[Parser], nodes.Node]] = rules_by_word(
    ("SELECT|WITH|TABLE|VALUES", Parser._query),
    form_rule(nodes.Analyze),
    form_rule(nodes.OptimizeTables),
    ("ALTER TABLE", Parser._alter_or_maintain_table),
    ("ALTER IGNORE TABLE", Parser._alter_or_maintain_table),
)
"""Statements that are only printed; all other statements are in the table above."""
