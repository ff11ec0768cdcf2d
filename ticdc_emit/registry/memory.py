"""A registry in this process: for tests, conformance runs, and encoding without a server.

In: schemas. Out: ids from 1, one per distinct schema text, whatever its subject, as in real registries. It records all
registrations in order and does not check compatibility.
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.errors import IncompatibleSchemaError
from ticdc_emit.registry.base import RegisteredSchema, confluent_schema

__all__ = ["MemoryRegistry", "SchemaPost"]


@dataclass(frozen=True)
class SchemaPost:
    """One request to register; ``id`` is ``None`` if it was refused (``status`` 409, else 200)."""

    subject: str
    schema: str
    id: int | None
    status: int


class MemoryRegistry:
    """``posts``: every registration in order. ``reject``: a schema that contains this text is refused with 409."""

    def __init__(self, reject: str | None = None) -> None:
        self._reject = reject
        self._ids: dict[str, int] = {}
        self.posts: list[SchemaPost] = []

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        """Raises :class:`~ticdc_emit.errors.IncompatibleSchemaError` for a schema to reject."""
        if self._reject is not None and self._reject in schema:
            self.posts.append(SchemaPost(subject, schema, None, 409))
            raise IncompatibleSchemaError(
                f"the registry refuses every schema that holds {self._reject!r}",
                remedy="Leave it out of the schema",
                subject=subject,
                status=409,
            )
        number = self._ids.setdefault(schema, len(self._ids) + 1)
        self.posts.append(SchemaPost(subject, schema, number, 200))
        return confluent_schema(number)

    def close(self) -> None:
        """Does nothing; ``posts`` stay."""
