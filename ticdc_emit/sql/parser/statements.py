"""Whole statements: which rules a statement's first words choose. Tokens in, one node out.

Rule source: pingcap/tidb ``pkg/parser/parser.y``.
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.sql.nodes.alter import AddConstraint, DropIndex
from ticdc_emit.sql.nodes.base import CURRENT_USER, Node, TableName, User
from ticdc_emit.sql.nodes.statements import (
    AlterDatabase,
    Analyze,
    Compact,
    CreateDatabase,
    CreateIndex,
    CreateMaskingPolicy,
    CreateTable,
    CreateView,
    DatabaseOption,
    DropDatabase,
    DropIndexOn,
    DropSequences,
    DropTables,
    Flashback,
    LockTables,
    OtherStatement,
    PlacementPolicy,
    Recover,
    RenameTables,
    RepairTable,
    ResourceGroup,
    Sequence,
    Statement,
    TableWork,
    TruncateTable,
    UseDatabase,
)
from ticdc_emit.sql.nodes.tables import Constraint, ConstraintKind
from ticdc_emit.sql.parser.alter import AlterGrammar

__all__ = ["Parser"]


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
_VERBS = ("CREATE", "ALTER", "DROP")


class Parser(AlterGrammar):
    """The parser of one statement or expression: every rule of the modules of this package."""

    # -- statements that change schemas ---------------------------------------------------------------------------

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

    # -- views -----------------------------------------------------------------------------------------------

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
        return CreateView(table, columns, select, query, or_replace, algorithm, definer, security, check_option)

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

    # -- databases and the rest ------------------------------------------------------------------------------

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

    # -- other statements -----------------------------------------------------------------------------------------

    def job_statement(self) -> Statement | OtherStatement:
        """Consume one whole statement that the catalog can run."""
        statement = self._other_job() or self._ddl_body()
        self._expect_end()
        return statement

    def any_statement(self) -> Node:
        """Consume one whole statement, DDL or not."""
        statement = self._other_body()
        if statement is None:
            statement = self._ddl_body()
        self._expect_end()
        return statement

    def _other_body(self) -> Node | None:
        word = self._word_at()
        if word in ("SELECT", "WITH", "TABLE", "VALUES") or self._symbol_at("("):
            return self._query()
        if (job := self._other_job()) is not None:
            return job
        if self._accept("OPTIMIZE"):
            binlog = "NO_WRITE_TO_BINLOG " if self._no_binlog() else ""
            self._expect_any("TABLE", "TABLES")
            return TableWork(f"OPTIMIZE {binlog}TABLE", self._list(self._table_name))
        if self._accept("ANALYZE"):
            no_binlog = self._no_binlog()
            self._expect("TABLE")
            return Analyze(self._list(self._table_name), no_binlog=no_binlog)
        return self._alter_as_other() if word == "ALTER" else None

    def _other_job(self) -> OtherStatement | None:
        word, following = self._word_at(), self._word_at(1)
        if word in _VERBS and following == "PLACEMENT":
            return self._placement_policy()
        if word in _VERBS and following == "SEQUENCE":
            return self._sequence()
        if word in _VERBS and following == "RESOURCE":
            return self._resource_group()
        if self._at_words("CREATE", "MASKING") or self._at_words("CREATE", "OR", "REPLACE", "MASKING"):
            return self._create_masking_policy()
        if self._accept("RECOVER", "TABLE"):
            return self._recover()
        if self._accept("FLASHBACK"):
            return self._flashback()
        if self._accept("LOCK"):
            self._expect_any("TABLE", "TABLES")
            return LockTables(self._list(self._table_lock))
        if self._accept("UNLOCK"):
            self._expect_any("TABLE", "TABLES")
            return LockTables(())
        return self._repair() if self._accept("ADMIN", "REPAIR", "TABLE") else None

    def _alter_as_other(self) -> Node | None:
        """ALTER TABLE ... ANALYZE PARTITION and COMPACT, which are statements of their own."""
        start = self._index
        self._advance()
        self._accept("IGNORE")
        if self._accept("TABLE") and self._at_name():
            table = self._table_name()
            if self._accept("ANALYZE", "PARTITION"):
                return self._analyze_partition(table)
            if self._accept("COMPACT"):
                return self._compact(table)
        self._retreat(start)
        return None

    def _analyze_partition(self, table: TableName) -> Node:
        partitions = self._names("a partition")
        if not self._accept("INDEX"):
            return Analyze((table,), partitions)
        names = () if self._at_end else self._list(self._index_name)
        return Analyze((table,), partitions, names)

    def _compact(self, table: TableName) -> Node:
        partitions = self._names("a partition") if self._accept("PARTITION") else ()
        return Compact(table, partitions, self._accept("TIFLASH", "REPLICA"))

    def _recover(self) -> Recover:
        if self._accept("BY", "JOB"):
            return Recover(None, self._integer("a job"))
        table = self._table_name()
        return Recover(table, 0 if self._at_end else self._integer("a number"))

    def _flashback(self) -> Flashback:
        if self._accept("CLUSTER"):
            return self._flashed_back("CLUSTER", ())
        if self._accept_any("DATABASE", "SCHEMA"):
            names = (TableName("", self._name("a database")),)
            return self._flashed_back("DATABASE", names)
        self._expect("TABLE")
        return self._flashed_back("TABLE", self._list(self._table_name))

    def _flashed_back(self, what: str, names: tuple[TableName, ...]) -> Flashback:
        if self._at_words("TO", "TIMESTAMP") and self._peek(2).kind == "string":
            self._advance(2)
            return Flashback(what, names, timestamp=self._string())
        if self._at_words("TO", "TSO") and self._peek(2).kind == "integer":
            self._advance(2)
            return Flashback(what, names, tso=self._integer())
        if len(names) != 1:
            self._fail("expected TO TIMESTAMP or TO TSO")
        return Flashback(what, names, self._name("a name") if self._accept("TO") else "")

    def _table_lock(self) -> tuple[TableName, str]:
        table = self._table_name()
        word = self._expect_any("READ", "WRITE")
        return table, f"{word} LOCAL" if self._accept("LOCAL") else word

    def _repair(self) -> RepairTable:
        table = self._table_name()
        self._expect("CREATE", "TABLE")
        definition = self._create_table(temporary="")
        if not isinstance(definition, CreateTable):
            self._fail("expected a table's definition", self._prev)
        return RepairTable(table, definition)

    def _condition(self) -> str:
        return "IF NOT EXISTS " if self._if_not_exists() else "IF EXISTS " if self._if_exists() else ""

    def _sequence(self) -> Sequence | DropSequences:
        verb = self._any_word("a verb")
        self._expect("SEQUENCE")
        if verb == "DROP":
            if_exists = self._if_exists()
            return DropSequences(self._list(self._table_name), if_exists)
        condition, name = self._condition(), self._table_name()
        options: list[str] = []
        while option := self._sequence_option():
            options.append(option)
        of_table = self._table_options() if verb == "CREATE" and not self._at_end else ()
        return Sequence(verb, name, condition, tuple(options), of_table)

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

    def _signed_integer(self) -> int:
        is_negative = self._accept_symbol("-")
        if not is_negative:
            self._accept_symbol("+")
        value = self._integer()
        return -value if is_negative else value

    def _resource_group(self) -> ResourceGroup:
        verb = self._any_word("a verb")
        self._expect("RESOURCE", "GROUP")
        condition, name = self._condition(), self._name("a resource group")
        offset = None if self._at_end else self._curr.start
        if offset is not None and verb == "DROP":
            self._fail("not understood")
        self._advance(self._last - self._index)  # its options have no job that concerns a changefeed
        return ResourceGroup(verb, name, condition, offset)

    def _create_masking_policy(self) -> CreateMaskingPolicy:
        self._expect("CREATE")
        or_replace = self._accept("OR", "REPLACE")
        self._expect("MASKING", "POLICY")
        if_not_exists = not or_replace and self._if_not_exists()
        name = self._name("a policy")
        self._expect("ON")
        return CreateMaskingPolicy(name, self._table_name(), self._masking_rule(), or_replace, if_not_exists)

    def _placement_policy(self) -> PlacementPolicy:
        verb = self._any_word("a verb")
        self._expect("PLACEMENT", "POLICY")
        condition = self._condition()
        name = self._name("a policy")
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
        return PlacementPolicy(verb, name, options, condition)
