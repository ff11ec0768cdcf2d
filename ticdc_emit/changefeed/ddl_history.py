"""The DDL of a changefeed in its state store, kept once: the record of a batch only says where its DDL is.

In: the DDL up to and with a batch. Out: its places in the history; and for such places the DDL again, in commit order.
The history holds statements in the order in which they came, and only grows: what a refused batch left there is in no
record's places. It is in files ``ddl-0.json``, ``ddl-1.json`` and so on, of 256 statements each, of which only the last
is written again. So what a batch costs does not depend on how many statements came before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from ticdc_emit.changefeed.record import Places, damaged, is_ddl, object_of
from ticdc_emit.changefeed.state import DdlStatement
from ticdc_emit.changefeed.state_storage import storage

__all__ = ["DdlHistory"]

_PER_FILE = 256
_Ddl: TypeAlias = "tuple[DdlStatement, ...]"


class DdlHistory:
    """The history in the folder ``root`` of an fsspec file system. Only the holder of the store's lease adds to it."""

    def __init__(self, fs: Any, root: str) -> None:
        self._fs, self._root = fs, root
        self.refresh()

    def refresh(self) -> None:
        """Forget what was read: another writer may have added to the history."""
        self._statements: list[DdlStatement] = []
        self._numbers: dict[DdlStatement, int] = {}
        self._is_read = False
        self._latest: tuple[_Ddl, Places] = ((), [])

    def places(self, ddl: _Ddl) -> Places:
        """Return where the statements are; add those that are new."""
        latest, places = self._latest
        if ddl is latest:  # as for every batch without DDL
            return places
        if not self._is_read:
            self._read()
        new = [entry for entry in ddl if entry not in self._numbers]
        if new:
            before = len(self._statements)
            self._take(new)
            for number in range(before // _PER_FILE, (len(self._statements) - 1) // _PER_FILE + 1):
                self._write(number)
        places = _ranges(sorted(self._numbers[entry] for entry in ddl))
        self._latest = ddl, places
        return places

    def ddl(self, places: Places) -> _Ddl:
        """Return the statements at these places, in commit order.

        Raises :class:`~ticdc_emit.errors.StateError` if a file of the history is missing or damaged.
        """
        latest, known = self._latest
        if places == known:
            return latest
        end = max((end for _, end in places), default=0)
        if end > len(self._statements):
            self._read()
            if end > len(self._statements):
                raise damaged(_name(len(self._statements) // _PER_FILE), "statements of a batch are missing")
        found = [entry for first, last in places for entry in self._statements[first:last]]
        ddl = tuple(sorted(found, key=lambda entry: entry[0]))
        self._latest = ddl, places
        return ddl

    def _take(self, statements: Iterable[DdlStatement]) -> None:
        for entry in statements:
            self._numbers[entry] = len(self._statements)
            self._statements.append(entry)

    def _read(self) -> None:
        """Read what was added since the last file that is not full."""
        number = len(self._statements) // _PER_FILE
        for entry in self._statements[number * _PER_FILE :]:
            del self._numbers[entry]
        del self._statements[number * _PER_FILE :]
        self._latest = (), []
        while len(self._statements) == number * _PER_FILE:
            with storage("read"):
                try:
                    content = bytes(self._fs.cat_file(f"{self._root}/{_name(number)}"))
                except FileNotFoundError:
                    break
            record = object_of(content, _name(number))
            if set(record) != {"ddl"} or not is_ddl(record["ddl"]) or len(record["ddl"]) > _PER_FILE:
                raise damaged(_name(number), "it is not a list of DDL statements")
            self._take((commit_ts, schema, query) for commit_ts, schema, query in record["ddl"])
            number += 1
        self._is_read = True

    def _write(self, number: int) -> None:
        path = f"{self._root}/{_name(number)}"
        statements = self._statements[number * _PER_FILE : (number + 1) * _PER_FILE]
        with storage("written"):
            with self._fs.open(path + ".tmp", "wb") as file:
                file.write(json.dumps({"ddl": statements}).encode())
            self._fs.mv(path + ".tmp", path)


def _name(number: int) -> str:
    return f"ddl-{number}.json"


def _ranges(numbers: Sequence[int]) -> Places:
    """Return ascending numbers as ranges [first, end)."""
    places: Places = []
    for number in numbers:
        if places and places[-1][1] == number:
            places[-1][1] = number + 1
        else:
            places.append([number, number + 1])
    return places
