"""A consumer of Canal-JSON with enable-tidb-extension: it keeps the current rows of tables, and prints how many it has.

Environment: KAFKA, the brokers; TOPICS, with commas; CHANGES, after how many row changes it ends (default: never).
"""

import json
import os
import time

from confluent_kafka import Consumer, KafkaException

NEWEST = {}
"""By table and key: commit_ts and row, None for a deleted one."""


def apply(value):
    """Apply a message; return how many rows it changes."""
    message = json.loads(value)
    if message["type"] not in ("INSERT", "UPDATE", "DELETE"):
        return 0  # a statement or a watermark
    commit_ts = message["_tidb"]["commitTs"]
    for row in message["data"]:
        key = message["database"], message["table"], *(row[name] for name in message["pkNames"])
        rank = commit_ts, message["type"] != "DELETE"  # an update of a key is a delete and an insert of one commit
        if NEWEST.get(key, ((0, False), None))[0] <= rank:  # a message may come again
            NEWEST[key] = rank, None if message["type"] == "DELETE" else row
    return len(message["data"])


def counts():
    tables = {}
    for (schema, table, *_), (_, row) in NEWEST.items():
        name = f"{schema}.{table}"
        tables[name] = tables.get(name, 0) + (row is not None)
    return tables


def main():
    most = int(os.environ.get("CHANGES") or 0)
    consumer = Consumer(
        {"bootstrap.servers": os.environ["KAFKA"], "group.id": "compose", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(os.environ["TOPICS"].split(","))
    changes, told = 0, time.monotonic()
    while not most or changes < most:
        message = consumer.poll(0.5)
        if message is not None and message.error():
            raise KafkaException(message.error())
        if message is not None and message.value() is not None:
            changes += apply(message.value())
        if time.monotonic() - told >= 1:
            told = time.monotonic()
            print(json.dumps({"changes": changes, "rows": counts()}), flush=True)
    print(json.dumps({"changes": changes, "rows": counts()}), flush=True)
    consumer.close()


main()
