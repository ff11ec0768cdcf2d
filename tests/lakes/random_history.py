"""Random histories of Delta and Iceberg tables, by SQL: every kind of commit that changes rows, columns, or only files.

In: a session with the format, the name of a table or the folder of a Delta table, a seed. Out: a table with that many
commits. Keys stay unique, as in TiDB. Values repeat often, so that rows are also written again unchanged, and names of
dropped columns come back.

A history makes only commits that the format's change feed can show. One with ``fixed_columns`` never changes columns.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

COLUMNS = {
    "id": "bigint",
    "shelf": "int",
    "name": "string",
    "price": "decimal(8,2)",
    "ratio": "double",
    "day": "date",
    "seen": "timestamp",
}
"""The columns of a new table."""

_MOVED = 1_000_000
_NAMES = ("a", "b", "c", "ratio")
_WIDER = {"int": "bigint", "float": "double", "decimal(8,2)": "decimal(10,2)"}
_VALUES: dict[str, Callable[[random.Random], str]] = {
    "int": lambda draw: str(draw.randint(-3, 3)),
    "bigint": lambda draw: str(draw.randint(-3, 3)),
    "string": lambda draw: repr(draw.choice(["", "a", "é", "long " * 9])),
    "decimal(8,2)": lambda draw: f"cast({draw.randint(-300, 300)} / 100 as decimal(8,2))",
    "decimal(10,2)": lambda draw: f"cast({draw.randint(-300, 300)} * 1000 as decimal(10,2))",
    "float": lambda draw: draw.choice(["0F", "-0.0F", "0.125F", "-7.5F"]),
    "double": lambda draw: draw.choice(["0D", "-0.0D", "0.125D", "-7.5D"]),
    "date": lambda draw: f"date'2024-02-{draw.randint(27, 29)}'",
    "timestamp": lambda draw: f"timestamp'2026-03-29 02:30:0{draw.randint(0, 2)}.12345{draw.randint(0, 1)}Z'",
}


def sql_name(table: str) -> str:
    """Return the name in SQL of a table, or of the folder of a Delta table."""
    return f"delta.`{table}`" if table.startswith("/") else table


class RandomHistory:
    """Writes random commits to a table. ``columns``: name and type of each column by now."""

    def __init__(self, spark: Any, table: str, seed: int, *, fixed_columns: bool = False) -> None:
        self._spark = spark
        self._fixed_columns = fixed_columns
        self._draw = random.Random(seed)
        self.table = sql_name(table)
        self.columns = dict(COLUMNS)
        self.is_partitioned = self._draw.random() < 0.5
        self._new = self._moves = 0
        columns = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in self.properties(self._draw).items())
        partitioned = " PARTITIONED BY (shelf)" if self.is_partitioned else ""
        spark.sql(
            f"CREATE TABLE {self.table} ({columns}) USING {self.format}{partitioned} TBLPROPERTIES ({properties})"
        )

    format = ""

    def properties(self, draw: random.Random) -> dict[str, str]:
        """Return the properties of the new table."""
        raise NotImplementedError

    def commit(self) -> str:
        """Make a random change; return what it was. A change that the format finds to be nothing makes no commit."""
        weights = {
            self.insert: 8,
            self.update: 8,
            self.delete: 6,
            self.merge: 12,
            self.overwrite: 1,
            self.replace_shelf: 1,
            self.move_key: 1,
            self.compact: 1,
            self.go_back: 1,
        }
        if not self._fixed_columns:
            weights |= {self.add_column: 1, self.drop_column: 1, self.rename_column: 1, self.widen_column: 1}
        (kind,) = self._draw.choices(list(weights), list(weights.values()))
        kind()
        return kind.__name__

    # -- rows ------------------------------------------------------------------------------------------------------

    def insert(self) -> None:
        keys = [self._new + nth for nth in range(self._draw.randint(1, 5))]
        self._new += len(keys)
        self._sql(f"INSERT INTO {self.table} ({self._names()}) VALUES {', '.join(map(self._row, keys))}")

    def update(self) -> None:
        changed = self._draw.sample(sorted(set(self.columns) - {"id"}), k=2)
        settings = ", ".join(f"`{name}` = {self._value(name)}" for name in changed)
        self._sql(f"UPDATE {self.table} SET {settings} WHERE {self._some()}")

    def move_key(self) -> None:
        self._moves += 1  # a key that was moved may come again, and moves to another place
        self._sql(f"UPDATE {self.table} SET id = id + {self._moves * _MOVED} WHERE id < {_MOVED} AND {self._some()}")

    def delete(self) -> None:
        self._sql(f"DELETE FROM {self.table} WHERE {self._some()}")

    def merge(self) -> None:
        keys = self._draw.sample(range(self._new + 5), k=min(self._new + 5, 8))
        self._new = max(self._new, *(key + 1 for key in keys))
        rows = ", ".join(f"({self._draw.choice('duuu')!r}, {self._row(key)[1:]}" for key in keys)
        names = [name for name in self.columns if name != "id"]
        self._sql(
            f"MERGE INTO {self.table} t USING (SELECT * FROM VALUES {rows} AS s(op, {self._names()})) s ON t.id = s.id "
            "WHEN MATCHED AND s.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET "
            + ", ".join(f"t.`{name}` = s.`{name}`" for name in names)
            + f" WHEN NOT MATCHED THEN INSERT ({self._names()}) VALUES "
            + f"({', '.join(f's.`{name}`' for name in self.columns)})"
        )

    def overwrite(self) -> None:
        """Write the table again: most rows as they were, some with another value, some not."""
        name = self._draw.choice(sorted(set(self.columns) - {"id", "shelf"}))
        changed = f"CASE WHEN {self._some()} THEN {self._value(name)} ELSE `{name}` END AS `{name}`"
        columns = ", ".join(changed if each == name else f"`{each}`" for each in self.columns)
        self._sql(f"INSERT OVERWRITE {self.table} SELECT {columns} FROM {self.table} WHERE NOT ({self._some()})")

    def replace_shelf(self) -> None:
        """Write the rows of a shelf again, some of them with another value."""
        if self.is_partitioned:
            shelf = self._draw.randint(-3, 3)
            self._replace(f"shelf = {shelf}", ", ".join(f"`{each}`" for each in self.columns))

    def _replace(self, condition: str, columns: str) -> None:
        rows = f"SELECT {columns} FROM {self.table} WHERE {condition} AND NOT ({self._some()})"
        self._sql(f"INSERT INTO {self.table} REPLACE WHERE {condition} {rows}")

    def go_back(self) -> None:
        """Make the rows those of an earlier version."""
        raise NotImplementedError

    # -- columns ---------------------------------------------------------------------------------------------------

    def add_column(self) -> None:
        name = next((name for name in _NAMES if name not in self.columns), None)
        if name is not None:
            kind = self._draw.choice(sorted(_VALUES))
            place = self._draw.choice(["", " FIRST", " AFTER shelf"])
            self._sql(f"ALTER TABLE {self.table} ADD COLUMN {name} {kind} COMMENT 'added'{place}")
            columns = list(self.columns.items())
            at = {" FIRST": 0, " AFTER shelf": [name for name, _ in columns].index("shelf") + 1}.get(
                place, len(columns)
            )
            self.columns = dict([*columns[:at], (name, kind), *columns[at:]])

    def drop_column(self) -> None:
        name = self._other_column()
        if name is not None and len(self.columns) > 5:
            self._sql(f"ALTER TABLE {self.table} DROP COLUMN {name}")
            del self.columns[name]

    def rename_column(self) -> None:
        old = self._other_column()
        new = next((name for name in reversed(_NAMES) if name not in self.columns), None)
        if old is not None and new is not None:
            self._sql(f"ALTER TABLE {self.table} RENAME COLUMN {old} TO {new}")
            self.columns = {new if name == old else name: kind for name, kind in self.columns.items()}

    def widen_column(self) -> None:
        name = self._other_column(*_WIDER)
        if name is not None:
            self.columns[name] = _WIDER[self.columns[name]]
            self._sql(f"ALTER TABLE {self.table} ALTER COLUMN {name} TYPE {self.columns[name]}")

    def _other_column(self, *kinds: str) -> str | None:
        """Return a column that is neither the key nor the partition, of one of the types."""
        names = [name for name, kind in self.columns.items() if name not in ("id", "shelf")]
        names = [name for name in names if not kinds or self.columns[name] in kinds]
        return self._draw.choice(names) if names else None

    # -- files -----------------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Write the same rows to fewer files."""
        raise NotImplementedError

    # -- parts of SQL ----------------------------------------------------------------------------------------------

    def _sql(self, statement: str) -> None:
        self._spark.sql(statement).collect()

    def _names(self) -> str:
        return ", ".join(f"`{name}`" for name in self.columns)

    def _row(self, key: int) -> str:
        values = [str(key)] + [self._value(name) for name in self.columns if name != "id"]
        at = list(self.columns).index("id")
        return f"({', '.join([*values[1 : at + 1], values[0], *values[at + 1 :]])})"

    def _value(self, name: str) -> str:
        kind = self.columns[name]
        value = "null" if self._draw.random() < 0.2 else _VALUES[kind](self._draw)
        return f"cast({value} as {kind})"

    def _some(self) -> str:
        divisor = self._draw.randint(3, 9)
        return f"id % {divisor} = {self._draw.randrange(divisor)}"


class DeltaHistory(RandomHistory):
    """A history of a Delta table with a change feed and column mapping, and with deletion vectors or not.

    Delta's feed has no rows for a column that RESTORE brings back, so it goes back only to versions with the columns of
    today.
    """

    format = "delta"

    def __init__(self, spark: Any, table: str, seed: int, *, fixed_columns: bool = False) -> None:
        super().__init__(spark, table, seed, fixed_columns=fixed_columns)
        location = spark.sql(f"DESCRIBE DETAIL {self.table}").first()["location"]
        self._log = Path(urlsplit(location).path, "_delta_log")
        self._columns_since = 0  # the version

    def properties(self, draw: random.Random) -> dict[str, str]:
        return {
            "delta.enableChangeDataFeed": "true",
            "delta.enableDeletionVectors": draw.choice(["true", "false"]),
            "delta.columnMapping.mode": "name",
            "delta.enableTypeWidening": "true",
        }

    def commit(self) -> str:
        before = list(self.columns.items())
        kind = super().commit()
        if before != list(self.columns.items()):
            self._columns_since = self._version()
        return kind

    def _version(self) -> int:
        return max(int(file.stem) for file in self._log.glob(f"{'[0-9]' * 20}.json"))

    def go_back(self) -> None:
        version = self._version()
        back = version - self._draw.randint(1, 3)
        if back > 0 and back >= self._columns_since:
            self._sql(f"RESTORE TABLE {self.table} TO VERSION AS OF {back}")
            schema = self._spark.table(self.table).schema
            self.columns = {field.name: field.dataType.simpleString() for field in schema}

    def compact(self) -> None:
        self._sql(f"OPTIMIZE {self.table}")


class IcebergHistory(RandomHistory):
    """A history of an Iceberg table of format 2 or 3, with copy-on-write: its feed refuses delete files."""

    format = "iceberg"

    def properties(self, draw: random.Random) -> dict[str, str]:
        return {
            "format-version": draw.choice("23"),  # copy-on-write is Iceberg's default
            "write.delete.granularity": draw.choice(["partition", "file"]),
        }

    def drop_column(self) -> None:
        """Do nothing: the feed refuses columns that were dropped since."""

    def go_back(self) -> None:
        snapshots = self._spark.sql(f"SELECT snapshot_id FROM {self.table}.history WHERE is_current_ancestor")
        ids = [row[0] for row in snapshots.collect()]
        if len(ids) > 3:
            snapshot = ids[-1 - self._draw.randint(1, 2)]
            self._call("rollback_to_snapshot", f"snapshot_id => {snapshot}")

    def compact(self) -> None:
        if self._draw.random() < 0.5:
            self._call("rewrite_data_files", "options => map('rewrite-all', 'true')")
        else:
            self._call("rewrite_manifests")

    def _call(self, procedure: str, *arguments: str) -> None:
        catalog, _, table = self.table.partition(".")
        self._sql(f"CALL {catalog}.system.{procedure}({', '.join([f'table => {table!r}', *arguments])})")
