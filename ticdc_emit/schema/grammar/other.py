"""Statements that do not change a table's definition: RECOVER and FLASHBACK, and those that no changefeed sends.

Tokens in, one node out.

Rule source: pingcap/tidb ``pkg/parser/parser.y``.
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.statement import StatementGrammar
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.other_statements import (
    Analyze,
    Compact,
    CreateMaskingPolicy,
    DropSequences,
    Flashback,
    LockTables,
    OtherStatement,
    PlacementPolicy,
    Recover,
    RepairTable,
    ResourceGroup,
    Sequence,
    TableWork,
)
from ticdc_emit.schema.statements import CreateTable, Statement

__all__ = ["OtherGrammar"]

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


class OtherGrammar(StatementGrammar):
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
