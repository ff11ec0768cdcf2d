"""ALTER TABLE: a list of specs. Tokens in, the nodes of :class:`AlterTable` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``AlterTableStmt``, ``AlterTableSpec``).
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.table import TableGrammar
from ticdc_emit.schema.nodes import (
    AddColumn,
    AddConstraint,
    AddPartitions,
    AlterOptions,
    AlterSpec,
    ChangeColumn,
    ChangePartitions,
    DropColumn,
    DropForeignKey,
    DropIndex,
    ExchangePartition,
    NoSchemaChange,
    Position,
    RemoveTtl,
    RenameColumn,
    RenameIndex,
    RenameTo,
    SetColumnDefault,
    SetIndexVisibility,
    TableOption,
)
from ticdc_emit.schema.statements import AlterTable

__all__ = ["AlterGrammar"]

_IGNORED_WORDS = ("SECONDARY_LOAD", "SECONDARY_UNLOAD")
_PARTITION_MAINTENANCE = ("OPTIMIZE", "REPAIR", "REBUILD", "CHECK", "IMPORT", "DISCARD")


class AlterGrammar(TableGrammar):
    def _alter_table(self) -> AlterTable:
        table = self._table_name()
        specs: list[AlterSpec] = []
        while not self._at_end:
            specs.extend(self._alter_spec())
            if not self._accept_symbol(","):
                # PARTITION BY and REMOVE PARTITIONING may follow without a comma.
                if self._word_at() not in ("PARTITION", "REMOVE"):
                    break
            elif self._at_end:
                self._fail("expected another change")
        if not specs:
            self._fail("expected what to change")
        return AlterTable(table, tuple(specs))

    def _alter_spec(self) -> tuple[AlterSpec, ...]:
        word = self._word_at()
        if word == "ADD":
            return self._alter_add()
        if word == "DROP":
            return (self._alter_drop(),)
        if word in ("MODIFY", "CHANGE"):
            return (self._alter_change(),)
        if word == "ALTER":
            return (self._alter_alter(),)
        if word == "RENAME":
            return (self._alter_rename(),)
        partition = self._alter_partition()
        return (partition,) if partition is not None else (self._alter_rest(),)

    # -- columns and indexes -------------------------------------------------------------------------------------

    def _alter_add(self) -> tuple[AlterSpec, ...]:
        self._expect("ADD")
        if self._accept("PARTITION"):
            return (self._add_partitions(),)
        if self._word_at() == "STATS_EXTENDED":
            self._fail("extended statistics are not understood")
        constraint = self._constraint()
        if constraint is not None:
            return (AddConstraint(constraint),)
        self._accept("COLUMN")
        if_not_exists = self._if_not_exists()
        if self._symbol_at("("):
            columns, constraints = self._table_elements()
            added = tuple(AddColumn(column, None, if_not_exists) for column in columns)
            return added + tuple(AddConstraint(constraint) for constraint in constraints)
        return (AddColumn(self._column_def(), self._position(), if_not_exists),)

    def _position(self) -> Position | None:
        if self._accept("FIRST"):
            return Position()
        return Position(self._column_name()) if self._accept("AFTER") else None

    def _alter_drop(self) -> AlterSpec:
        self._expect("DROP")
        if self._accept("PRIMARY", "KEY"):
            return DropIndex("PRIMARY")
        if self._accept("FOREIGN", "KEY"):
            self._if_exists()
            return DropForeignKey(self._name("a foreign key"))
        if self._accept("PARTITION"):
            if_exists = self._if_exists()
            return ChangePartitions("drop", self._names("a partition"), if_exists=if_exists)
        if self._accept_any("KEY", "INDEX"):
            if_exists = self._if_exists()
            return DropIndex(self._name("an index"), if_exists)
        if self._accept_any("CHECK", "CONSTRAINT"):
            self._name("a constraint")
            return NoSchemaChange()  # check constraints are off by default, so there is none to drop
        self._accept("COLUMN")
        if_exists = self._if_exists()
        name = self._column_name()
        self._accept_any("RESTRICT", "CASCADE")
        return DropColumn(name, if_exists)

    def _alter_change(self) -> AlterSpec:
        word = self._accept_any("MODIFY", "CHANGE")
        self._accept("COLUMN")
        if_exists = self._if_exists()
        old_name = self._column_name() if word == "CHANGE" else ""
        column = self._column_def()
        return ChangeColumn(old_name or column.name, column, self._position(), if_exists)

    def _alter_alter(self) -> AlterSpec:
        self._expect("ALTER")
        if self._accept("INDEX"):
            name = self._name("an index")
            word = self._accept_any("VISIBLE", "INVISIBLE")
            if not word:
                self._fail("expected VISIBLE or INVISIBLE")
            return SetIndexVisibility(name, word == "VISIBLE")
        if self._accept_any("CHECK", "CONSTRAINT"):
            self._name("a constraint")
            self._enforced()
            return NoSchemaChange()
        self._accept("COLUMN")
        column = self._column_name()
        if self._accept("DROP", "DEFAULT"):
            return SetColumnDefault(column, None)
        self._expect("SET", "DEFAULT")
        return SetColumnDefault(column, self._default())

    def _alter_rename(self) -> AlterSpec:
        self._expect("RENAME")
        if self._accept("COLUMN"):
            old = self._name("a column name")
            self._expect("TO")
            return RenameColumn(old, self._name("a column name"))
        if self._word_at() in ("KEY", "INDEX"):
            self._advance()
            old = self._name("an index")
            self._expect("TO")
            return RenameIndex(old, self._name("an index"))
        _ = self._accept_any("TO", "AS") or self._accept_symbol("=")
        return RenameTo(self._table_name())

    # -- partitions ----------------------------------------------------------------------------------------------

    def _no_binlog(self) -> None:
        _ = self._accept("NO_WRITE_TO_BINLOG") or self._accept("LOCAL")

    def _add_partitions(self) -> AddPartitions:
        if_not_exists = self._if_not_exists()
        self._no_binlog()
        if self._accept("PARTITIONS"):
            return AddPartitions(count=self._partition_count(), if_not_exists=if_not_exists)
        return AddPartitions(self._partition_definitions(), if_not_exists=if_not_exists)

    def _partition_names_or_all(self) -> tuple[str, ...]:
        return () if self._accept("ALL") else self._names("a partition")

    def _alter_partition(self) -> AlterSpec | None:
        if self._accept("PARTITION", "BY"):
            partitioning = self._partition_by()
            return ChangePartitions("partition by", by=partitioning)
        if self._accept("REMOVE", "PARTITIONING"):
            return ChangePartitions("remove")
        if self._accept("TRUNCATE", "PARTITION"):
            return ChangePartitions("truncate", self._partition_names_or_all())
        if self._accept("COALESCE", "PARTITION"):
            self._no_binlog()
            return ChangePartitions("coalesce", count=self._integer("a number of partitions"))
        if self._accept("REORGANIZE", "PARTITION"):
            self._no_binlog()
            if self._at_end:
                self._fail("expected partition names")
            names = self._names("a partition")
            self._expect("INTO")
            return ChangePartitions("reorganize", names, self._partition_definitions())
        if self._accept("EXCHANGE", "PARTITION"):
            name = self._name("a partition")
            self._expect("WITH", "TABLE")
            table = self._table_name()
            _ = self._accept("WITH", "VALIDATION") or self._accept("WITHOUT", "VALIDATION")
            return ExchangePartition(name, table)
        if self._word_at(1) == "PARTITION" and self._accept_any(*_PARTITION_MAINTENANCE):
            self._advance()
            self._no_binlog()
            self._partition_names_or_all()
            self._accept("TABLESPACE")
            return NoSchemaChange()
        if self._accept("PARTITION"):
            self._name("a partition")
            return self._partition_property()
        return None

    def _partition_property(self) -> NoSchemaChange:
        if self._accept("ATTRIBUTES"):
            self._attributes()
            return NoSchemaChange("alter table partition attributes")
        if not self._partition_option():
            self._fail("expected ATTRIBUTES or PLACEMENT POLICY")
        return NoSchemaChange("alter table partition placement")

    # -- the rest ------------------------------------------------------------------------------------------------

    def _attributes(self) -> None:
        self._accept_symbol("=")
        if not self._accept("DEFAULT"):
            self._string()

    def _alter_rest(self) -> AlterSpec:
        if self._accept("CONVERT", "TO"):
            return self._convert_to()
        if self._accept("REMOVE", "TTL"):
            return RemoveTtl()
        if self._accept_any("ALGORITHM", "LOCK"):
            self._accept_symbol("=")
            self._text_value()
            return NoSchemaChange()
        if self._accept("CACHE"):
            return NoSchemaChange("alter table cache")
        if self._accept("NOCACHE"):
            return NoSchemaChange("alter table nocache")
        if self._accept("ATTRIBUTES"):
            self._attributes()
            return NoSchemaChange("alter table attributes")
        if self._accept("SET", "TIFLASH", "REPLICA"):
            self._integer("a number of replicas")
            if self._accept("LOCATION", "LABELS"):
                self._string()
                while self._accept_symbol(","):
                    self._string()
            return NoSchemaChange("set tiflash replica")
        if (
            self._accept_any(*_IGNORED_WORDS)
            or self._accept("WITH", "VALIDATION")
            or self._accept("WITHOUT", "VALIDATION")
            or (self._word_at() in ("ENABLE", "DISABLE") and self._word_at(1) == "KEYS" and self._skip(2))
            or (self._word_at() in ("IMPORT", "DISCARD") and self._word_at(1) == "TABLESPACE" and self._skip(2))
        ):
            return NoSchemaChange()
        if self._accept("ORDER", "BY"):
            self._column_name()
            while self._accept_any("ASC", "DESC") or (self._accept_symbol(",") and self._column_name()):
                pass
            return NoSchemaChange()
        options = self._table_options(commas=False)
        if not options:
            self._fail("not understood in ALTER TABLE")
        return AlterOptions(options)

    def _skip(self, tokens: int) -> bool:
        self._advance(tokens)
        return True

    def _convert_to(self) -> AlterOptions:
        if not self._charset_keyword():
            self._fail("expected CHARACTER SET")
        options: list[TableOption] = []
        if not self._accept("DEFAULT"):
            options.append(TableOption("charset", self._charset_or_collation_name()))
        if self._accept("COLLATE"):
            options.append(TableOption("collate", self._charset_or_collation_name()))
        return AlterOptions(tuple(options), convert=True)
