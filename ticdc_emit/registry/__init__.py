"""Schema registries. Clients are imported when first used, and httpx, tenacity and boto3 when one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.registry.base import MemoryRegistry, SchemaPost, SchemaRegistry, SubjectCache, registry_for
    from ticdc_emit.registry.confluent import ConfluentRegistry, RegistrationRequest, registration_request
    from ticdc_emit.registry.glue import GlueRegistry
    from ticdc_emit.registry.headers import RegisteredSchema
    from ticdc_emit.registry.http import RegistryTls

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

__getattr__, __dir__ = lazy(__name__)
