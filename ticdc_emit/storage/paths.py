"""The paths of a storage sink's files, relative to the folder of the sink URI, made and read.

Names are joined as they are, without any escape, and then cleaned as Go's ``path.Join`` does: a table ``a/b`` makes a
folder in a folder. A name that would leave the folder is refused.

====================================================  ======================================
``metadata``                                          the checkpoint
``SCHEMA/meta/schema_VERSION_CHECKSUM.json``          the DDL of a database
``SCHEMA/TABLE/meta/schema_VERSION_CHECKSUM.json``    a table's schema
``SCHEMA/TABLE/VERSION[/PARTITION][/DATE]/CDC…``      rows
``…/meta/CDC.index``, beside them                     the name of the newest file with rows
====================================================  ======================================
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import NamedTuple

from ticdc_emit.config.storage import LEAST_DIGITS, MOST_DIGITS
from ticdc_emit.errors import DeliveryError, SchemaError

METADATA = "metadata"
"""The file of the checkpoint."""
_FIRST = "CDC"
_SCHEMA_FILE = re.compile(r"schema_(\d+)_(\d{10})\.json")


def joined(*names: str) -> str:
    """Return names as one path. Raises :class:`~ticdc_emit.errors.SchemaError` for one that leaves the folder."""
    path = posixpath.normpath("/".join(name for name in names if name)).lstrip("/")
    if path == ".." or path.startswith("../"):
        raise SchemaError(
            f"the name {'.'.join(names[:2])!r} leads out of the folder of the storage sink",
            remedy="Rename the database or table, or leave it out in filter.rules",
        )
    return path


class SchemaFile(NamedTuple):
    """The name of a schema file, taken apart."""

    version: int
    checksum: int

    @classmethod
    def parse(cls, path: str) -> SchemaFile | None:
        """Return what the last name of a path says; ``None`` if it is not a schema file."""
        found = _SCHEMA_FILE.fullmatch(path.rpartition("/")[2])
        return None if found is None else cls(int(found[1]), int(found[2]))

    def path(self, folder: str) -> str:
        return joined(folder, "meta", f"schema_{self.version}_{self.checksum:010d}.json")


def table_folder(schema_file: str) -> str:
    """Return the folder of the table, or of the database, to which a schema file belongs."""
    return schema_file.rpartition("/meta/")[0]


class FileNames(NamedTuple):
    """How files with rows are named. ``dispatcher``: the id of the one that writes them, "" if names do not show it."""

    extension: str
    digits: int
    dispatcher: str = ""

    @property
    def _first(self) -> str:
        return f"{_FIRST}_{self.dispatcher}_" if self.dispatcher else _FIRST

    @property
    def index_file(self) -> str:
        """The path of the index file, relative to the folder of the rows."""
        return f"meta/{self._first.removesuffix('_')}.index"

    def name(self, number: int) -> str:
        return f"{self._first}{number:0{self.digits}d}{self.extension}"

    def number(self, name: str) -> int:
        """Return the number in a name. Raises :class:`~ticdc_emit.errors.DeliveryError` for another name."""
        digits = name.removeprefix(self._first).removesuffix(self.extension)
        is_number = LEAST_DIGITS <= len(digits) <= MOST_DIGITS and digits.isdecimal()
        if not is_number or name != f"{self._first}{digits}{self.extension}":
            raise DeliveryError(
                f"[CDC:ErrStorageSinkInvalidFileName]filename in storage sink is invalid: {name!r}",
                remedy="Restore the index file, or remove it and the files with rows beside it",
            )
        return int(digits)

    def numbers(self, present: Iterable[str]) -> set[int]:
        """Return the numbers of the files that are named so."""
        digits = f"[0-9]{{{self.digits}}}|[1-9][0-9]{{{self.digits},}}"
        named = re.compile(f"{re.escape(self._first)}({digits}){re.escape(self.extension)}")
        return {int(found[1]) for name in present if (found := named.fullmatch(name))}
