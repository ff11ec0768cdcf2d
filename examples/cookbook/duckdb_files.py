"""DuckDB reads files of the storage sink: CSV and Canal-JSON."""

# %% files for this example
from ticdc_emit import ArrowBatch, Changefeed, History, load_changefeed, sink_for

schema = "create table shop.orders (id bigint primary key, customer varchar(40), total decimal(10,2))"
ts = 450000000262144000
order = {"schema": "shop", "table": "orders", "op": "c"}
rows = [
    order | {"commit_ts": ts, "after": {"id": "1", "customer": 'Ann "A"', "total": "9.50"}},
    order | {"commit_ts": ts + 1, "after": {"id": "2", "customer": None, "total": "4.00"}},
    order | {"commit_ts": ts + 9, "after": {"id": "3", "customer": "Łódź", "total": "1.25", "points": "7"}},
]
ddl = [(ts + 5, "alter table shop.orders add column points int not null default 5")]
changes = ArrowBatch(History(schema, rows, ddl).to_arrow())
csv = {"sink": {"csv": {"include-commit-ts": True}}}
for uri, changefeed in (
    ("file:///tmp/duck_csv?protocol=csv", csv),
    ("file:///tmp/duck_json?protocol=canal-json&enable-tidb-extension=true", None),
):
    config = load_changefeed(uri, changefeed)
    report = Changefeed(config, sink_for(config), schema, ddl=ddl).run(changes, 0, final=True)
    print(report.rows)

# %% CSV: the table at the checkpoint
import duckdb

CSV = r"""header = false, auto_detect = false, delim = ',', quote = '"', escape = '"', new_line = '\r\n',
    nullstr = '\N', allow_quoted_nulls = false"""
HEAD = {"op": "VARCHAR", "table": "VARCHAR", "schema": "VARCHAR", "commit_ts": "UBIGINT"}
COLUMN = "STRUCT(ColumnName TEXT, ColumnType TEXT, ColumnPrecision INT, ColumnScale INT, ColumnDefault TEXT)"


def checkpoint(lake: str) -> int:
    file = duckdb.sql(f"FROM read_json('{lake}/metadata', columns = {{'checkpoint-ts': 'UBIGINT'}})")
    return file.fetchall()[0][0]


def duckdb_type(column: dict) -> str:
    kind, _, unsigned = column["ColumnType"].partition(" ")
    if kind in ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "BIT", "YEAR"):
        return "UBIGINT" if unsigned else "BIGINT"
    if kind == "DECIMAL" and column["ColumnPrecision"] <= 38:
        return f"DECIMAL({column['ColumnPrecision']},{column['ColumnScale']})"
    return kind if kind in ("FLOAT", "DOUBLE") else "BLOB" if kind.endswith(("BINARY", "BLOB")) else "VARCHAR"


def versions(lake: str, name: str, until: int) -> dict[int, dict[str, dict]]:
    """Return the columns of each version of a table, in order."""
    wire = f"""columns = {{TableVersion: 'UBIGINT', TableColumns: '{COLUMN}[]'}}, format = 'unstructured'"""
    files = duckdb.sql(
        f"FROM read_json('{lake}/{name}/meta/schema_*.json', {wire}) WHERE TableVersion <= {until} ORDER BY 1"
    )
    return {version: {column["ColumnName"]: column for column in columns} for version, columns in files.fetchall()}


def changes_sql(lake: str, name: str, until: int) -> str:
    """Return a query of all changes, with the columns of the newest version; what a row lacks has its default."""
    found = versions(lake, name, until)
    *_, newest = found.values()
    parts = []
    for version, columns in found.items():
        files = [path for (path,) in duckdb.sql(f"FROM glob('{lake}/{name}/{version}/**/CDC*.csv')").fetchall()]
        if not files:
            continue  # no row between two DDL
        types = {column: duckdb_type(each).replace("BLOB", "VARCHAR") for column, each in columns.items()}
        values = ["op", "commit_ts"]
        for column, each in newest.items():
            kind, default = duckdb_type(each), each["ColumnDefault"]
            value = "NULL" if default is None else "'" + default.replace("'", "''") + "'"
            if column in columns:
                value = f'from_base64("{column}")' if kind == "BLOB" else f'"{column}"'
            values.append(f'CAST({value} AS {kind}) AS "{column}"')
        parts.append(f"SELECT {', '.join(values)} FROM read_csv({files}, columns = {HEAD | types}, {CSV})")
    return " UNION ALL ".join(parts)


LAKE = "/tmp/duck_csv"
until = checkpoint(LAKE)
orders = duckdb.sql(f"""
    SELECT * EXCLUDE (op, commit_ts) FROM ({changes_sql(LAKE, "shop/orders", until)})
    WHERE commit_ts <= {until}
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY commit_ts DESC, op = 'D') = 1 AND op <> 'D'
    ORDER BY id
""")
print(orders.fetchall())

# %% prints
# [(1, 'Ann "A"', Decimal('9.50'), 5), (2, None, Decimal('4.00'), 5), (3, 'Łódź', Decimal('1.25'), 7)]


# %% CSV: a table that each load brings to the checkpoint
def load(lake: str, name: str, keys: list[str], since: int) -> int:
    """Bring a table to the checkpoint, and return it: the next load continues after it."""
    until, table = checkpoint(lake), name.rpartition("/")[2]
    *_, newest = versions(lake, name, until).values()
    columns = {f'"{column}"': duckdb_type(each) for column, each in newest.items()}
    duckdb.sql(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(map(' '.join, columns.items()))})")
    for column, each in newest.items():
        default = f" DEFAULT '{each['ColumnDefault']}'" if each["ColumnDefault"] is not None else ""
        duckdb.sql(f'ALTER TABLE {table} ADD COLUMN IF NOT EXISTS "{column}" {duckdb_type(each)}{default}')
    duckdb.sql(f"""
        MERGE INTO {table} AS t USING (
            FROM ({changes_sql(lake, name, until)}) WHERE commit_ts > {since} AND commit_ts <= {until}
            QUALIFY row_number() OVER (PARTITION BY {", ".join(keys)} ORDER BY commit_ts DESC, op = 'D') = 1
        ) AS s ON {" AND ".join(f"t.{key} = s.{key}" for key in keys)}
        WHEN MATCHED AND s.op = 'D' THEN DELETE
        WHEN MATCHED THEN UPDATE SET {", ".join(f"{column} = s.{column}" for column in columns)}
        WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT ({", ".join(columns)})
            VALUES ({", ".join(f"s.{column}" for column in columns)})
    """)
    return until


until = load(LAKE, "shop/orders", ["id"], since=0)
print(duckdb.sql("FROM orders ORDER BY id").fetchall())

# %% prints
# [(1, 'Ann "A"', Decimal('9.50'), 5), (2, None, Decimal('4.00'), 5), (3, 'Łódź', Decimal('1.25'), 7)]

# %% Canal-JSON: all tables
rows = duckdb.sql("""
    SELECT "table", list_transform(pkNames, lambda name: data[1][name]) AS key, data[1] AS row
    FROM read_json('/tmp/duck_json/shop/**/CDC*.json', format = 'newline_delimited', columns = {
        "table": 'VARCHAR', type: 'VARCHAR', pkNames: 'VARCHAR[]', data: 'MAP(VARCHAR, VARCHAR)[]',
        _tidb: 'STRUCT(commitTs UBIGINT)'})
    WHERE _tidb.commitTs <= (FROM read_json('/tmp/duck_json/metadata', columns = {"checkpoint-ts": 'UBIGINT'}))
    QUALIFY row_number() OVER (
        PARTITION BY "table", key ORDER BY _tidb.commitTs DESC, type = 'DELETE') = 1 AND type <> 'DELETE'
    ORDER BY "table", key
""")
for _, key, row in rows.fetchall():
    print(key, row)

# %% prints
# ['1'] {'id': '1', 'customer': 'Ann "A"', 'total': '9.50'}
# ['2'] {'id': '2', 'customer': None, 'total': '4.00'}
# ['3'] {'id': '3', 'customer': 'Łódź', 'total': '1.25', 'points': '7'}
