"""The interface of a schema registry.

In: a subject and a schema text. Out: the registry's id, and the header with which messages refer to it. Only the driver
(PLAN) sends requests to registries; workers get headers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["RegisteredSchema", "SchemaRegistry"]


@dataclass(frozen=True)
class RegisteredSchema:
    """``id``: a number (Confluent) or a UUID (AWS Glue); ``header``: the first bytes of every message of the schema."""

    id: int | str
    header: bytes


class SchemaRegistry(Protocol):
    """A registry of Avro schemas."""

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        """Register a schema text under a subject; registering the same text again gives the same id.

        Raises :class:`~ticdc_emit.errors.IncompatibleSchemaError` if the registry refuses it, else the
        :class:`~ticdc_emit.errors.RegistryError` family.
        """
        ...

    def close(self) -> None:
        """Release connections."""
        ...
