"""The table of docs/types.md: which Arrow types each MySQL type takes, and an array of one row for each."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa

_DOCUMENT = (Path(__file__).parents[3] / "docs" / "types.md").read_text()


def _listed() -> dict[str, set[str]]:
    """Read the table: MySQL type -> names of Arrow types, with the shorthands spelled out."""
    words = " ".join(_DOCUMENT.split())
    shorthands = {
        name: set(re.findall(r"`(\w+)`", words.split(f"`{name}` = ")[1].split("; `")[0].split(". `")[0]))
        for name in ("ints", "floats", "decimals", "strings", "bytes")
    }
    found: dict[str, set[str]] = {}
    for line in _DOCUMENT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 4 or cells[0] in ("MySQL", "---"):
            continue
        types = {"null", *re.findall(r"`(\w+)`", cells[1])}
        for word in re.sub(r"`\w+`", "", cells[1]).split():
            types |= shorthands[word]
        names = [name.strip() for name in re.sub(r"\(.*?\)", "", cells[0]).split(",")]
        for name in names:
            found[name] = types
            if "UNSIGNED" in cells[0]:
                found[f"{name} UNSIGNED"] = types
    return found


LISTED = _listed()
"""MySQL type -> names of the Arrow types in its line, with the shorthands spelled out."""

_ONE = Decimal(1)
_DAY, _MOMENT = dt.date(2024, 5, 5), dt.datetime(2024, 5, 5)
MAKERS: dict[str, Callable[[str], pa.Array]] = {
    "null": lambda _: pa.nulls(1),
    "bool": lambda _: pa.array([False]),
    **{f"int{bits}": (lambda _, bits=bits: pa.array([0], f"int{bits}")) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (lambda _, bits=bits: pa.array([0], f"uint{bits}")) for bits in (8, 16, 32, 64)},
    "float16": lambda mysql: pa.array([np.float16(_whole(mysql))], pa.float16()),
    "float32": lambda mysql: pa.array([float(_whole(mysql))], pa.float32()),
    "float64": lambda mysql: pa.array([float(_whole(mysql))], pa.float64()),
    "decimal32": lambda mysql: pa.array([_whole(mysql)], pa.decimal32(5, 0)),
    "decimal64": lambda mysql: pa.array([_whole(mysql)], pa.decimal64(9, 0)),
    "decimal128": lambda mysql: pa.array([_whole(mysql)], pa.decimal128(20, 0)),
    "decimal256": lambda mysql: pa.array([_whole(mysql)], pa.decimal256(40, 0)),
    "string": lambda mysql: pa.array([_text(mysql)], pa.string()),
    "large_string": lambda mysql: pa.array([_text(mysql)], pa.large_string()),
    "string_view": lambda mysql: pa.array([_text(mysql)], pa.string_view()),
    "binary": lambda mysql: pa.array([_text(mysql, "a").encode()], pa.binary()),
    "large_binary": lambda mysql: pa.array([_text(mysql, "a").encode()], pa.large_binary()),
    "binary_view": lambda mysql: pa.array([_text(mysql, "a").encode()], pa.binary_view()),
    "fixed_size_binary": lambda _: pa.array([b"1"], pa.binary(1)),
    "date32": lambda _: pa.array([_DAY], pa.date32()),
    "date64": lambda _: pa.array([_DAY], pa.date64()),
    "timestamp": lambda _: pa.array([_MOMENT], pa.timestamp("us")),
    "timestamp_tz": lambda _: pa.array([_MOMENT], pa.timestamp("us", tz="UTC")),
    "time32": lambda _: pa.array([5], pa.time32("s")),
    "time64": lambda _: pa.array([5_000_000], pa.time64("us")),
    "duration": lambda _: pa.array([5], pa.duration("s")),
    "month_day_nano_interval": lambda _: pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    "list": lambda _: pa.array([[1.0, 2.0]], pa.list_(pa.float32())),
    "large_list": lambda _: pa.array([[1.0, 2.0]], pa.large_list(pa.float32())),
    "fixed_size_list": lambda _: pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)),
    "list_view": lambda _: pa.array([[1.0, 2.0]], pa.list_view(pa.float32())),
    "struct": lambda _: pa.array([{"a": 1}]),
    "map": lambda _: pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
    "run_end_encoded": lambda _: pa.RunEndEncodedArray.from_arrays([1], pa.array([1])),
}
_TEXTS = {
    "DATE": "2024-05-05", "DATETIME": "2024-05-05 12:34:56", "TIMESTAMP": "2024-05-05 12:34:56", "TIME": "12:34:56",
    "ENUM": "a", "SET": "a", "VECTOR": "[1,2]", "YEAR": "2024",
    **dict.fromkeys(["BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"], "YQ=="),
}  # fmt: skip
_BYTES = {"JSON": "[]", "BINARY": "a"}


def _text(mysql: str, otherwise: str = "1") -> str:
    return _BYTES.get(mysql, otherwise) if otherwise != "1" else _TEXTS.get(mysql, "1")


def _whole(mysql: str) -> Decimal:
    return Decimal(2024) if mysql == "YEAR" else _ONE
