"""Schema registries of scenarios: one that records its schemas, one that enforces BACKWARD compatibility."""

from __future__ import annotations

from ticdc_emit.errors import IncompatibleSchemaError, RegistryError
from ticdc_emit.registry.base import RegisteredSchema, SchemaRegistry, confluent_schema
from ticdc_emit.testing.registry_store import Refusal, RegistryStore

__all__ = ["BackwardRegistry", "RecordingRegistry"]

_INCOMPATIBLE = 409


class RecordingRegistry:
    """Forwards to another registry. ``schemas``: the registered texts by id."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self.schemas: dict[int | str, str] = {}

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        """Register with the other registry, and record the schema."""
        registered = self._registry.register(subject, schema)
        self.schemas[registered.id] = schema
        return registered

    def close(self) -> None:
        """Close the other registry."""
        self._registry.close()


class BackwardRegistry:
    """A registry in memory that accepts a schema only if it can read data of the subject's last schema.

    Needs the extra ``registry``.
    """

    def __init__(self) -> None:
        self._store = RegistryStore("BACKWARD")

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        """Raises :class:`~ticdc_emit.errors.IncompatibleSchemaError` for a schema that cannot."""
        try:
            return confluent_schema(self._store.register(subject, schema))
        except Refusal as refusal:
            kind = IncompatibleSchemaError if refusal.status == _INCOMPATIBLE else RegistryError
            raise kind(refusal.message, subject=subject, status=refusal.status) from None

    def close(self) -> None:
        """Nothing to release."""
