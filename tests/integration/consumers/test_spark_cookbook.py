"""Spark's from_json and from_avro read Canal-JSON, Debezium and Avro: docs/cookbook.md#spark.

The page's code runs as a job of its own, which has the jars of Spark's Kafka source and of its Avro reader.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from apicurio import Apicurio
from comparison import Comparison, compared
from cookbook_data import KEYS
from cookbook_send import Measured, Send, Sent
from missing_parts import java_and_jars
from page_blocks import KAFKA, REGISTRY, page_block
from wire_values import Shape, avro, canal, debezium, shaped

from ticdc_emit.testing.java import java_env

pyspark = pytest.importorskip("pyspark")
pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

ALL = "shop_kinds,shop_orders,shop_lines"
VERSION = ".".join(pyspark.__version__.split(".")[:2])
_HERE = Path(__file__).parent
_JARS = (_HERE / "spark_avro", _HERE.parents[1] / "scale" / "spark_kafka")
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}

_COLLECT = """
import pickle
import sys

topics, path = json.loads(sys.argv[1]), sys.argv[2]
found = {"orders": [row.asDict() for row in orders.collect()], "canal_json": {}, "debezium": {}, "avro": {}}
for name, read in (("canal_json", canal_json), ("debezium", debezium)):
    for table, row in read(topics[name]["orders"]).collect():
        found[name].setdefault(table, []).append(row)
for table, topic in topics["avro"].items():
    found["avro"][table] = [row.asDict() for row in avro(topic).collect()]
wide = {"type": "bytes", "logicalType": "decimal", "precision": 65, "scale": 30}
schema = json.dumps({"type": "record", "name": "wide", "fields": [{"name": "n", "type": wide}]})
try:
    kafka.option("subscribe", topics["avro"]["orders"]).load().select(from_avro("value", schema)).collect()
except Exception as error:
    found["refusal"] = str(error)
with open(path, "wb") as file:
    pickle.dump(found, file)
"""
"""What follows the page's code: it writes all rows to a file, and what Spark says of DECIMAL(65,30)."""


@pytest.fixture(scope="module")
def all_sent(send: Send, apicurio: Apicurio) -> dict[str, Sent]:
    return {
        "canal_json": send("canal-json", "enable-tidb-extension=true"),
        "debezium": send("debezium", "enable-tidb-extension=true"),
        "avro": send("avro", registry=apicurio.url),
    }


@pytest.fixture(scope="module")
def found(all_sent: Mapping[str, Sent], apicurio: Apicurio, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run the page's code, and return the rows by protocol and table."""
    topics = {protocol: sent.topics for protocol, sent in all_sent.items()}
    kafka = {KAFKA: all_sent["avro"].bootstrap}
    code = [
        page_block("spark", "python", "def canal_json", places={**kafka, ALL: topics["canal_json"]["orders"]}),
        page_block("spark", "python", "def debezium", places={ALL: topics["debezium"]["orders"]}),
        page_block(
            "spark", "python", "def avro", places={REGISTRY: apicurio.url, "shop_orders": topics["avro"]["orders"]}
        ),
        _COLLECT,
    ]
    folder = tmp_path_factory.mktemp("spark")
    (folder / "job.py").write_text("\n".join([*code, _COLLECT]), encoding="utf-8")
    jars = ",".join(sorted(str(jar) for each in _JARS for jar in java_and_jars(each)[1].glob("*.jar")))
    settings = " ".join(f"--conf {name}={value}" for name, value in _LOCAL.items())
    own = {"PYSPARK_SUBMIT_ARGS": f"--master local[2] --jars {jars} {settings} pyspark-shell"}
    answer = subprocess.run(
        [sys.executable, "job.py", json.dumps(topics), "found"],
        cwd=folder,
        env={**os.environ, **java_env(), **own, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert answer.returncode == 0, answer.stderr[-5000:]
    return dict(pickle.loads((folder / "found").read_bytes()))


def _compared(sent: Sent, read: Mapping[str, list[dict[str, Any]]], shape: Shape) -> Comparison:
    total = Comparison(0, 0, ())
    for table, rows in sent.data.tables(defaults=False).items():
        expected = shaped(table, rows, shape)
        every_column = dict.fromkeys(next(iter(rows.values())))
        by_key = {tuple(str(row[name]) for name in KEYS[table]): every_column | row for row in read[table]}
        total += compared(table, expected, {key: _values(row, expected.get(key, {})) for key, row in by_key.items()})
    return total


def _values(row: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of texts with the JSON values of those that must not be texts."""
    return {
        name: json.loads(value) if isinstance(value, str) and isinstance(expected.get(name), int | float) else value
        for name, value in row.items()
    }


def test_canal_json(found: Mapping[str, Any], all_sent: Mapping[str, Sent], measured: Measured) -> None:
    orders = {(str(row["id"]),): row for row in found["orders"]}
    expected = {
        key: {"id": int(key[0]), "customer": row["customer"], "total": Decimal(row["total"])}
        for key, row in all_sent["canal_json"].data.tables()["orders"].items()
    }
    assert not compared("orders", expected, orders).differences
    total = _compared(all_sent["canal_json"], found["canal_json"], canal)
    measured("Spark, `from_json`", VERSION, "Canal-JSON", total)


def test_debezium(found: Mapping[str, Any], all_sent: Mapping[str, Sent], measured: Measured) -> None:
    total = _compared(all_sent["debezium"], found["debezium"], debezium)
    measured("Spark, `from_json`", VERSION, "Debezium", total)


def test_avro(found: Mapping[str, Any], all_sent: Mapping[str, Sent], measured: Measured) -> None:
    measured("Spark, `from_avro`", VERSION, "Avro", _compared(all_sent["avro"], found["avro"], avro))


def test_from_avro_refuses_decimals_of_more_than_38_digits(found: Mapping[str, Any]) -> None:
    assert "38" in found["refusal"]
