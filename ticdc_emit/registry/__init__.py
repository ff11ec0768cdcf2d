"""Schema registries. In: a subject and a schema text. Out: an id and the header of messages.

:mod:`~ticdc_emit.registry.base` is the interface for the rest of the library. httpx, tenacity and boto3 are
imported when a client is made, not with this package.
"""

from __future__ import annotations

from ticdc_emit.registry.base import (
    RegisteredSchema,
    RegistrationRequest,
    SchemaRegistry,
    SubjectCache,
    registration_request,
)
from ticdc_emit.registry.confluent import ConfluentRegistry
from ticdc_emit.registry.factory import registry_for
from ticdc_emit.registry.glue import GlueRegistry
from ticdc_emit.registry.http import RegistryTls
from ticdc_emit.registry.memory import MemoryRegistry, SchemaPost

__all__ = [
    "ConfluentRegistry",
    "GlueRegistry",
    "MemoryRegistry",
    "RegisteredSchema",
    "RegistrationRequest",
    "RegistryTls",
    "SchemaPost",
    "SchemaRegistry",
    "SubjectCache",
    "registration_request",
    "registry_for",
]
