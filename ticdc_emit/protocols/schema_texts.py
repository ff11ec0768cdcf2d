"""JSON texts of schemas, as ``json.Marshal`` prints them, and the headers of registered ones.

In: values of schemas, texts by part. Out: the text that TiCDC registers, and the header of a message. Rule source:
semantics 2.0.1 and 2.0.2 (Go's ``encoding/json``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pyarrow as pa

from ticdc_emit.columnar.escape import GO_STD
from ticdc_emit.columnar.floats import number_text
from ticdc_emit.errors import RegistryError
from ticdc_emit.protocols.json_values import Json, json_value
from ticdc_emit.schema.model import TableInfo


def float_text(value: float) -> str:
    """Return the shortest digits of a float64, with an exponent only for very small and very large values."""
    return str(number_text(pa.array([value], pa.float64()), exponent_digits=1)[0].as_py())


def schema_text(value: Json) -> str:
    """Return a schema, or a part of one, with the members of its objects in the order of their names."""
    return json_value(value, GO_STD, by_name=True).decode()


class SchemaTexts(Mapping[str, str]):
    """Schema texts by part, made when they are read, because a key is registered before an invalid value schema is
    refused.
    """

    def __init__(self, makers: Mapping[str, Callable[[], str]]) -> None:
        self._made = makers

    def __getitem__(self, part: str) -> str:
        return self._made[part]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


_Rows = TypeVar("_Rows", bound="RowsWithHeaders")


@dataclass(frozen=True)
class RowsWithHeaders:
    """A row encoder with the headers of its registered schemas (see ``changes.codec.RegisteredRows``)."""

    table: TableInfo
    headers: Mapping[str, bytes] = field(default_factory=dict, kw_only=True)
    borrowed: frozenset[str] = field(default=frozenset(), kw_only=True)

    def with_headers(self: _Rows, headers: Mapping[str, bytes], borrowed: frozenset[str] = frozenset()) -> _Rows:
        """Return the encoder with these additional headers by part, some of them ``borrowed``."""
        return replace(self, headers={**self.headers, **headers}, borrowed=(self.borrowed - headers.keys()) | borrowed)

    def stand_in(self, part: str) -> tuple[str, str] | None:
        """Return the part whose schema serves for this part too, with that schema; ``None`` if there is none."""
        return None

    @property
    def shape(self) -> Hashable:
        """What the encoders of tables have in common, beside their columns, whose rows are encoded together."""
        return None

    def header(self, part: str) -> bytes:
        """Return the header of a part; :class:`RegistryError` if its schema is not registered."""
        try:
            return self.headers[part]
        except KeyError:
            raise RegistryError(
                f"the {part} schema is not registered",
                remedy="Register the schemas that the batch needs before it is encoded",
                table=self.table.full_name,
                version=self.table.version,
            ) from None
