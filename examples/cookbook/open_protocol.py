"""A parser of Open Protocol, and tables that it keeps."""

# %%
import base64
import json
import struct
from collections.abc import Iterator

from ticdc_emit import Encoder, to_messages  # for the example at the end

ROW, DDL, WATERMARK = 1, 2, 3
TEXTS = {249, 250, 251, 252}  # MySQL's types of TEXT and BLOB
BINARY = 1  # the flag that tells BLOB from TEXT


def frames(data: bytes, start: int = 0) -> list[bytes]:
    found = []
    while start < len(data):
        (length,) = struct.unpack_from(">Q", data, start)
        found.append(data[start + 8 : start + 8 + length])
        start += 8 + length
    return found


def events(key: bytes, value: bytes | None) -> Iterator[tuple[dict, dict]]:
    """Yield head and body of each row, statement or watermark that a message holds."""
    (version,) = struct.unpack_from(">Q", key)
    if version != 1:
        raise ValueError(f"version {version} of Open Protocol")
    for head, body in zip(frames(key, 8), frames(value or b""), strict=True):
        yield json.loads(head), json.loads(body or b"{}")


def column_value(column: dict) -> object:
    value = column["v"]
    if value is None or column["t"] not in TEXTS:
        return value
    content = base64.b64decode(value)
    return content if column["f"] & BINARY else content.decode()


def apply(tables: dict, key: bytes, value: bytes | None) -> None:
    """Apply a message to tables: (schema, table) to handle key to row."""
    for head, body in events(key, value):
        if head["t"] != ROW:
            continue
        rows = tables.setdefault((head["scm"], head["tbl"]), {})
        image = body.get("u") or body["d"]
        row = {name: column_value(column) for name, column in image.items()}
        handle = tuple(row[name] for name in sorted(row) if image[name].get("h"))
        if "d" in body:
            rows.pop(handle, None)
        else:
            rows[handle] = row


encoder = Encoder(
    "memory://demo?protocol=open-protocol&partition-num=1",
    "create table shop.orders (id bigint primary key, total decimal(10,2), note text)",
)
at = 450_000_000_262_144_000
first, second = ({"id": number, "total": "9.90", "note": "né"} for number in (1, 2))
changes = [
    {"op": "c", "commit_ts": at, "after": first},
    {"op": "c", "commit_ts": at + 1, "after": second},
    {"op": "u", "commit_ts": at + 2, "before": first, "after": {**first, "total": "7.50"}},
    {"op": "d", "commit_ts": at + 3, "before": second},
]
tables = {}
for message in to_messages(encoder.encode(changes)):
    print(len(list(events(message.key, message.value))), "rows in one message")
    apply(tables, message.key, message.value)
print(tables)

# %% prints
# 4 rows in one message
# {('shop', 'orders'): {(1,): {'id': 1, 'note': 'né', 'total': '7.50'}}}
