"""Schema registries. In: a subject and a schema text. Out: an id and the header of messages.

:mod:`~ticdc_emit.registry.contract` is the interface for the rest of the library. httpx, tenacity and boto3 are
imported when a client is made, not with this package.
"""

from __future__ import annotations

from ticdc_emit.registry.cache import SubjectCache
from ticdc_emit.registry.confluent import ConfluentRegistry
from ticdc_emit.registry.contract import RegisteredSchema, SchemaRegistry
from ticdc_emit.registry.factory import registry_for
from ticdc_emit.registry.glue import GlueRegistry
from ticdc_emit.registry.memory import MemoryRegistry, SchemaPost
from ticdc_emit.registry.request import RegistrationRequest, registration_request
from ticdc_emit.registry.tls import RegistryTls

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
