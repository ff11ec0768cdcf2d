"""ClickHouse (chDB) reads CSV files of the storage sink from S3 (moto's server): docs/cookbook/clickhouse-s3.md."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from comparison import Comparison, compared
from cookbook_data import KEYS
from cookbook_files import EDGES, checkpoint_in_the_middle, tables_at, write_edges, write_files
from cookbook_send import Measured
from embedded_clickhouse import ClickHouse
from missing_parts import missing
from page_blocks import page_block
from wire_values import kind_of, shaped, stored_csv

from ticdc_emit.storage.files import checkpoint_file

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FEED = {"csv": {"include-commit-ts": True}}
_STRUCTURE = re.compile(r"'op String,.*?'", re.DOTALL)
_HTTP = "http://127.0.0.1:9000"


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The URL of a server that speaks the protocol of S3, with an empty bucket ``bucket``."""
    try:
        import boto3
        from moto.server import ThreadedMotoServer
    except ImportError:
        missing("moto's server is not installed (pip install moto[server] s3fs)")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    login = {"aws_access_key_id": "KEY", "aws_secret_access_key": "SECRET", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=url, **login).create_bucket(Bucket="bucket")
    yield url
    server.stop()


def _uri(s3: str, lake: str) -> str:
    access = f"endpoint={s3}&region=us-east-1&access-key=KEY&secret-access-key=SECRET&force-path-style=true"
    return f"s3://bucket/{lake}?protocol=csv&flush-interval=2s&{access}"


def _block(containing: str, s3: str, lake: str, table: str = "orders") -> str:
    """Return a statement of the page for another lake and table."""
    code = page_block("clickhouse-s3", "sql", containing, places={_HTTP: s3, "bucket/lake": f"bucket/{lake}"})
    return code.replace("/orders/", f"/{table}/").strip().rstrip(";")


def _now(clickhouse: ClickHouse, s3: str, lake: str, table: str, keys: tuple[str, ...]) -> str:
    """Return the page's last query for a table, with the structure that its first query makes."""
    (made,) = clickhouse.rows(_block("AS structure", s3, lake, table))
    structure = made["structure"].replace("'", "\\'")
    query = _STRUCTURE.sub(lambda _: f"'{structure}'", _block("LIMIT 1 BY", s3, lake, table))
    return query.replace("LIMIT 1 BY id", f"LIMIT 1 BY {', '.join(keys)}")


def _read(clickhouse: ClickHouse, query: str, table: str) -> dict[Any, dict[str, Any]]:
    """Return the rows of a query by key, their values as those of the types that the page gives."""
    rows, settings = query.rsplit("SETTINGS", 1)
    columns = [f"toFloat64({name}) AS {name}" for name in ("ratio",) if table == "kinds"]  # else shown with few digits
    shown = f"SELECT * {f'REPLACE ({columns[0]})' if columns else ''} FROM ({rows})"
    return {
        tuple(str(row[name]) for name in KEYS[table]): {name: _value(table, name, row[name]) for name in row}
        for row in clickhouse.rows(shown, settings.strip())
    }


def _value(table: str, name: str, value: Any) -> Any:
    kind = kind_of(table, name)
    if value is None:
        return None
    return Decimal(value) if kind.startswith("decimal") else b64decode(value) if kind.startswith("varbinary") else value


def test_csv(s3: str, clickhouse: ClickHouse, measured: Measured) -> None:
    data, total = write_files(_uri(s3, "all"), FEED), Comparison(0, 0, ())
    for table, rows in data.tables().items():
        read = _read(clickhouse, _now(clickhouse, s3, "all", table, KEYS[table]), table)
        total += compared(table, shaped(table, rows, stored_csv), read)
    clickhouse.run(_block("CREATE TABLE orders", s3, "all"))
    clickhouse.run(_block("CREATE TABLE orders", s3, "all").partition(";\n")[2])  # rows that come again
    kept = _read(
        clickhouse, "SELECT * EXCEPT (version, is_deleted) FROM orders FINAL SETTINGS max_threads = 1", "orders"
    )
    result = compared("orders", shaped("orders", data.tables()["orders"], stored_csv), kept)
    assert not result.differences, str(result)
    measured("ClickHouse, `s3()`", clickhouse.version, "CSV files", total)


def test_a_table_at_the_checkpoint(s3: str, clickhouse: ClickHouse) -> None:
    import s3fs

    data = write_files(_uri(s3, "middle"), FEED)
    ts = checkpoint_in_the_middle(data)
    files = s3fs.S3FileSystem(key="KEY", secret="SECRET", endpoint_url=s3, skip_instance_cache=True)
    files.pipe("bucket/middle/metadata", checkpoint_file(ts))
    read = _read(clickhouse, _now(clickhouse, s3, "middle", "lines", KEYS["lines"]), "lines")
    for row in read.values():
        assert row.pop("discount") == Decimal("1.50"), "the newest schema file is already that of the next version"
    result = compared("lines", shaped("lines", tables_at(data, ts)["lines"], stored_csv), read)
    assert result.rows > 100
    assert not result.differences, str(result)


def test_what_is_difficult(s3: str, clickhouse: ClickHouse) -> None:
    """Each remark of the page about values."""
    write_edges(_uri(s3, "edges"), FEED)
    query = _now(clickhouse, s3, "edges", "edges", ("id",))
    rows, settings = query.rsplit("SETTINGS", 1)
    read = {row["id"]: row for row in clickhouse.rows(rows, settings.strip())}
    expected = {
        key: {"id": key, **row, "huge": row["huge"] and int(row["huge"]), "exact": _short(row["exact"])}
        for key, row in EDGES.items()
    }
    assert not (result := compared("edges", expected, read)).differences, str(result)
    as_dates = clickhouse.rows(rows.replace("`day` String", "`day` Date32"), settings.strip())
    assert {row["id"]: row["day"] for row in as_dates} == {
        "null": None,
        "empty": "1970-01-01",
        "ends": "1970-01-01",
        "marker": "9999-12-31",
    }


def _short(text: str | None) -> str | None:
    """Return a decimal as ClickHouse shows it."""
    return text if text is None or "." not in text else text.rstrip("0").rstrip(".")
