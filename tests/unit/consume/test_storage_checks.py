"""What ``verify`` finds in the files of a storage sink as a whole: numbers, index files, schema files."""

from __future__ import annotations

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.storage_folder import folder_findings
from ticdc_emit.storage.folder import MemoryFolder

CONFIG = load_changefeed("noop:///?protocol=csv")
VERSION = 450000000262143999
ROWS = f"shop/orders/{VERSION}/2024-05-25"
INDEX = f"{ROWS}/meta/CDC.index"


def name(number: int) -> str:
    return f"CDC{number:020d}.csv"


def folder(files: int = 3) -> MemoryFolder:
    made = MemoryFolder()
    made.write(f"shop/orders/meta/schema_{VERSION}_0123456789.json", b"{}")
    for number in range(1, files + 1):
        made.write(f"{ROWS}/{name(number)}", b"x")
    made.write(INDEX, f"{name(files)}\n".encode())
    made.write("metadata", b"{}")
    return made


def found(made: MemoryFolder) -> list[tuple[str, str, str]]:
    return [(each.invariant, each.place, each.text) for each in folder_findings(CONFIG, made)]


def test_a_clean_folder_has_no_finding() -> None:
    made = folder()
    made.write(f"{ROWS}/{name(4)}.tmp.1", b"TiCDC renames it")
    made.write(f"shop/orders/{VERSION}/2024-05-26/{name(1)}", b"a new day counts from 1")
    made.write(f"shop/orders/{VERSION}/2024-05-26/meta/CDC.index", f"{name(1)}\n".encode())
    made.write(f"shop/meta/schema_{VERSION}_0123456789.json", b"of a database")
    assert found(made) == []


def test_an_index_names_a_missing_file() -> None:
    made = folder()
    del made.contents[f"{ROWS}/{name(3)}"]
    assert found(made) == [("file-numbers", INDEX, f"the index names {name(3)}, which does not exist")]


def test_a_gap_in_the_numbers() -> None:
    made = folder(7)
    del made.contents[f"{ROWS}/{name(2)}"]
    (gap,) = found(made)
    assert gap == ("file-numbers", INDEX, f"1 file below the newest one is missing: {name(2)}")
    for number in (1, 3, 4):
        del made.contents[f"{ROWS}/{name(number)}"]
    (gap,) = found(made)
    assert gap[2] == f"4 files below the newest one are missing: {name(1)}, {name(2)}, {name(3)}, …"


@pytest.mark.timeout(20)
def test_an_index_may_name_any_number() -> None:
    made = folder()
    made.write(INDEX, f"{name(8 * 10**17)}\n".encode())
    assert [text for _, _, text in found(made)] == [
        f"the index names {name(8 * 10**17)}, which does not exist",
        f"799,999,999,999,999,996 files below the newest one are missing: {name(4)}, {name(5)}, {name(6)}, …",
    ]
    for digits in ("9" * 21, "9" * 5000):  # not a name of such a file: the reader of the index says so
        made.write(INDEX, f"CDC{digits}.csv\n".encode())
        assert {text for _, _, text in found(made)} == {"no index file covers the file: readers do not see it"}


def test_files_that_readers_do_not_see() -> None:
    made = folder()
    made.write(f"{ROWS}/{name(4)}", b"x")
    made.write(f"{ROWS}/CDC000005.csv", b"with other digits")
    made.write(f"shop/orders/{VERSION}/2024-05-26/{name(1)}", b"x")
    newer = f"the file is newer than {name(3)}, which the index names: readers do not see it"
    alone = "no index file covers the file: readers do not see it"
    assert found(made) == [
        ("file-numbers", f"{ROWS}/{name(4)}", newer),
        ("file-numbers", f"{ROWS}/CDC000005.csv", alone),
        ("file-numbers", f"shop/orders/{VERSION}/2024-05-26/{name(1)}", alone),
    ]


def test_rows_without_their_schema_file() -> None:
    made = folder()
    del made.contents[f"shop/orders/meta/schema_{VERSION}_0123456789.json"]
    made.write(f"shop/orders/meta/schema_{VERSION + 1}_0123456789.json", b"{}")
    assert found(made) == [("schema-files", INDEX, f"there are rows of version {VERSION}, and no schema file of it")]


def test_files_of_dispatchers_and_partitions() -> None:
    made = MemoryFolder()
    made.write(f"shop/orders/meta/schema_{VERSION}_0123456789.json", b"{}")
    made.write(f"shop/orders/{VERSION}/104/2024-05-25/CDC_77_{1:06d}.csv", b"x")
    made.write(f"shop/orders/{VERSION}/104/2024-05-25/meta/CDC_77.index", f"CDC_77_{1:06d}.csv\n".encode())
    made.write(f"shop/orders/{VERSION}/104/2024-05-25/CDC_88_{2:06d}.csv", b"x")
    made.write(f"shop/orders/{VERSION}/104/2024-05-25/meta/CDC_88.index", f"CDC_88_{2:06d}.csv\n".encode())
    ((_, place, text),) = found(made)
    assert place.endswith("CDC_88.index")
    assert text == "1 file below the newest one is missing: CDC_88_000001.csv"
