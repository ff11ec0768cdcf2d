"""DDL statements: the top of the TiDB grammar. Tokens in, one :data:`Statement` node out.

Rule source: pingcap/tidb ``pkg/parser/parser.y``.
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.alter import AlterGrammar
from ticdc_emit.schema.nodes import AddConstraint, Constraint, DropIndex, TableName
from ticdc_emit.schema.statements import (
    AlterDatabase,
    AlterTable,
    CreateDatabase,
    CreateView,
    DropDatabase,
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


class StatementGrammar(AlterGrammar):
    def _ddl_statement(self) -> Statement:
        """Consume one whole statement."""
        statement = self._statement_body()
        if not self._at_end:
            self._fail("not understood")
        return statement

    def _statement_body(self) -> Statement:
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
        if self._accept("RENAME", "TABLE") or self._accept("RENAME", "TABLES"):
            return self._rename_tables()
        if self._accept("TRUNCATE"):
            self._accept("TABLE")
            return TruncateTable(self._table_name())
        if not self._accept("USE"):
            self._fail(f"expected {_STATEMENTS}")
        return UseDatabase(self._name("a database"))

    def _create_statement(self) -> Statement:
        or_replace = self._accept("OR", "REPLACE")
        if self._is_view():
            return self._create_view(or_replace=or_replace)
        if or_replace:
            self._fail("expected VIEW")
        if self._accept_any("DATABASE", "SCHEMA"):
            if_not_exists = self._if_not_exists()
            name = self._name("a database")
            charset, collate, _ = self._database_options()
            return CreateDatabase(name, charset, collate, if_not_exists)
        temporary = self._accept("TEMPORARY") or self._accept("GLOBAL", "TEMPORARY")
        if self._accept("TABLE"):
            return self._create_table(temporary=temporary)
        if self._word_at() not in ("INDEX", *_INDEX_KINDS):
            self._fail("expected TABLE" if temporary else f"expected {_CREATED}")
        return self._create_index()

    def _create_index(self) -> AlterTable:
        start = self._curr.start
        kind = self._accept_any(*_INDEX_KINDS)
        if kind == "SPATIAL":
            self._fail("TiDB has no spatial indexes", self._prev)
        self._expect("INDEX")
        if_not_exists = self._if_not_exists()
        name = self._name("an index name")
        self._index_type()
        self._expect("ON")
        table = self._table_name()
        keys = self._key_parts()
        clustered, visible = self._index_options()
        self._algorithm_and_lock()
        constraint = Constraint(
            "unique" if kind == "UNIQUE" else "fulltext" if kind == "FULLTEXT" else "columnar" if kind else "index",
            name,
            keys,
            clustered,
            visible,
            if_not_exists,
            offset=start,
        )
        return AlterTable(table, (AddConstraint(constraint),))

    def _algorithm_and_lock(self) -> None:
        while self._accept_any("ALGORITHM", "LOCK"):
            self._accept_symbol("=")
            self._text_value()

    # -- views ---------------------------------------------------------------------------------------------------

    def _is_view(self) -> bool:
        """Whether VIEW follows after ALGORITHM, DEFINER and SQL SECURITY, which it consumes."""
        start = self._index
        if self._accept("ALGORITHM"):
            self._accept_symbol("=")
            self._accept_any("UNDEFINED", "MERGE", "TEMPTABLE")
        if self._accept("DEFINER"):
            self._expect_symbol("=")
            while not self._at_end and self._word_at() not in ("SQL", "VIEW"):
                self._advance()
        if self._accept("SQL", "SECURITY"):
            self._accept_any("DEFINER", "INVOKER")
        if self._accept("VIEW"):
            return True
        self._retreat(start)
        return False

    def _create_view(self, *, or_replace: bool) -> CreateView:
        table = self._table_name()
        columns: tuple[str, ...] = ()
        if self._accept_symbol("("):
            columns = self._names("a column name")
            self._expect_symbol(")")
        self._expect("AS")
        if self._at_end:
            self._fail("expected SELECT")
        start = end = self._curr.start
        while not self._at_end and not self._accept_check_option():
            end = self._curr.end + 1
            self._advance()
        return CreateView(table, columns, self.sql[start:end], or_replace)

    def _accept_check_option(self) -> bool:
        start = self._index
        if self._accept("WITH"):
            self._accept_any("CASCADED", "LOCAL")
            if self._accept("CHECK", "OPTION") and self._at_end:
                return True
        self._retreat(start)
        return False

    # -- databases and the rest ----------------------------------------------------------------------------------

    def _database_options(self) -> tuple[str, str, bool]:
        """Return charset, collation, and whether a placement policy was given."""
        charset = collate = ""
        placement = False
        while not self._at_end:
            self._accept("DEFAULT")
            if self._charset_keyword():
                self._accept_symbol("=")
                charset = self._charset_or_collation_name()
            elif self._accept("COLLATE"):
                self._accept_symbol("=")
                collate = self._charset_or_collation_name()
            elif self._accept("ENCRYPTION"):
                self._accept_symbol("=")
                self._string()
            elif self._accept("PLACEMENT", "POLICY"):
                self._accept_symbol("=")
                placement = True
                if not self._accept("DEFAULT"):
                    self._name_or_string("a policy")
            elif self._accept("SET", "TIFLASH", "REPLICA"):
                self._fail("not understood in a database statement", self._prev)
            else:
                self._fail("not a database option")
        return charset, collate, placement

    def _alter_database(self) -> AlterDatabase:
        name = "" if self._is_database_option() else self._name("a database")
        charset, collate, placement = self._database_options()
        if not (charset or collate or placement):
            self._fail("expected a database option")
        return AlterDatabase(name, charset, collate, placement and not (charset or collate))

    def _is_database_option(self) -> bool:
        word = self._word_at()
        return word in ("DEFAULT", "CHARACTER", "COLLATE") or (word == "CHARSET" and self._word_at(1) != "CHARSET")

    def _drop_statement(self) -> Statement:
        if self._accept_any("DATABASE", "SCHEMA"):
            if_exists = self._if_exists()
            return DropDatabase(self._name("a database"), if_exists)
        if self._accept("INDEX"):
            if_exists = self._if_exists()
            name = self._name("an index")
            self._expect("ON")
            table = self._table_name()
            self._algorithm_and_lock()
            return AlterTable(table, (DropIndex(name, if_exists),))
        view = self._accept("VIEW")
        temporary = not view and (self._accept("TEMPORARY") or self._accept("GLOBAL", "TEMPORARY"))
        if not view and not self._accept_any("TABLE", "TABLES"):
            self._fail("expected TABLE, VIEW, INDEX or DATABASE")
        if_exists = self._if_exists()
        tables = [self._table_name()]
        while self._accept_symbol(","):
            tables.append(self._table_name())
        self._accept_any("RESTRICT", "CASCADE")
        return DropTables(tuple(tables), if_exists, view, temporary)

    def _rename_tables(self) -> RenameTables:
        pairs: list[tuple[TableName, TableName]] = []
        while True:
            old = self._table_name()
            self._expect("TO")
            pairs.append((old, self._table_name()))
            if not self._accept_symbol(","):
                return RenameTables(tuple(pairs))
