"""Shared by all encoders with registered schemas (``changes.codec.RegisteredRows``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ticdc_emit.errors import RegistryError
from ticdc_emit.schema.model import TableInfo

__all__ = ["SchemaTexts", "header_of"]


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


def header_of(headers: Mapping[str, bytes], part: str, table: TableInfo) -> bytes:
    """Return the header of a part; :class:`RegistryError` if its schema is not registered."""
    try:
        return headers[part]
    except KeyError:
        raise RegistryError(
            f"the {part} schema is not registered",
            remedy="Register the schemas that the batch needs before it is encoded",
            table=table.full_name,
            version=table.version,
        ) from None
