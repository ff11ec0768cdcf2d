"""Schema registries. In: a subject and a schema text. Out: an id and the header of messages.

:mod:`~ticdc_emit.registry.base` is the interface for the rest of the library. The clients are imported when they are
first used, and httpx, tenacity and boto3 when one is made.
"""

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
