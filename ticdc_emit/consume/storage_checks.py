"""The files of a storage sink as a whole: numbers without gaps, index files that are true, schema files.

In: a changefeed and its folder. Out: a :class:`Finding` for each rule that the files break (:func:`folder_findings`).
What is in a file is checked when it is read (``storage_folder.py``, ``invariants.py``).

- ``file-numbers``: an index file names the newest file with rows beside it, and all numbers below it exist. TiCDC
  counts from 1 in each folder. Older releases write the index first, so while a changefeed writes, or after a crash,
  an index may name a file that does not exist; newer ones write it last, so a file may be newer than its index.
- ``schema-files``: a folder with rows has the schema file of its version, without which CSV has no columns.

What is newer than the checkpoint is checked, too. Source: ``storage/files.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.invariants import Finding
from ticdc_emit.consume.storage_folder import IndexFile
from ticdc_emit.errors import DeliveryError
from ticdc_emit.hints import counted
from ticdc_emit.storage.files import EXTENSIONS
from ticdc_emit.storage.folder import Folder
from ticdc_emit.storage.paths import FileNames, SchemaFile, table_folder

FILE_NUMBERS, SCHEMA_FILES = "file-numbers", "schema-files"
_MOST_NAMED = 3


def folder_findings(config: ChangefeedConfig, folder: Folder) -> Iterator[Finding]:
    """Yield what is wrong with the files of a changefeed's folder. An index file that names no file is left to readers.

    Raises :class:`~ticdc_emit.errors.DeliveryError` where the storage fails.
    """
    extension = EXTENSIONS[config.codec.protocol.value]
    paths = sorted(folder.files(""))
    versions = {(table_folder(path), schema.version) for path in paths if (schema := SchemaFile.parse(path))}
    tables = {table for table, _ in versions}
    rows_by_folder: dict[str, set[str]] = {}
    for path in paths:
        place, _, name = path.rpartition("/")
        if name.startswith("CDC") and name.endswith(extension):
            rows_by_folder.setdefault(place, set()).add(name)
    for path in paths:
        index = IndexFile.parse(path, tables)
        if index is None:
            continue
        try:
            names, newest = index.newest(folder.read(path), extension)
        except DeliveryError:
            continue
        numbers = names.numbers(rows_by_folder.get(index.folder, set()))
        rows_by_folder.get(index.folder, set()).difference_update(map(names.name, numbers))
        yield from _of_index(index, names, newest, numbers)
        if (index.rows.table, index.rows.version) not in versions:
            text = f"there are rows of version {index.rows.version}, and no schema file of it"
            yield _finding(SCHEMA_FILES, text, index.rows.table, path)
    for place, left in rows_by_folder.items():
        for name in sorted(left):
            text = "no index file covers the file: readers do not see it"
            yield _finding(FILE_NUMBERS, text, place, f"{place}/{name}")


def _of_index(index: IndexFile, names: FileNames, newest: int, numbers: set[int]) -> Iterator[Finding]:
    if newest not in numbers:
        text = f"the index names {names.name(newest)}, which does not exist"
        yield _finding(FILE_NUMBERS, text, index.rows.table, index.path)
    missing = newest - 1 - sum(0 < number < newest for number in numbers)  # a damaged index may name any number
    if missing > 0:
        first = islice((number for number in count(1) if number not in numbers), min(missing, _MOST_NAMED))
        shown = ", ".join(map(names.name, first)) + (", …" if missing > _MOST_NAMED else "")
        text = f"{counted(missing, 'file')} below the newest one {'is' if missing == 1 else 'are'} missing"
        yield _finding(FILE_NUMBERS, f"{text}: {shown}", index.rows.table, index.path)
    for number in sorted(each for each in numbers if each > newest):
        text = f"the file is newer than {names.name(newest)}, which the index names: readers do not see it"
        yield _finding(FILE_NUMBERS, text, index.rows.table, f"{index.folder}/{names.name(number)}")


def _finding(invariant: str, text: str, table: str, path: str) -> Finding:
    return Finding(invariant, text, table, 0, stored_at=path)
