"""Schema registries. Clients are imported when first used, and httpx, tenacity and boto3 when one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.registry.base import MemoryRegistry as MemoryRegistry
    from ticdc_emit.registry.base import SchemaPost as SchemaPost
    from ticdc_emit.registry.base import SchemaRegistry as SchemaRegistry
    from ticdc_emit.registry.base import SubjectCache as SubjectCache
    from ticdc_emit.registry.base import registry_for as registry_for
    from ticdc_emit.registry.confluent import ConfluentRegistry as ConfluentRegistry
    from ticdc_emit.registry.confluent import RegistrationRequest as RegistrationRequest
    from ticdc_emit.registry.confluent import registration_request as registration_request
    from ticdc_emit.registry.glue import GlueRegistry as GlueRegistry
    from ticdc_emit.registry.headers import RegisteredSchema as RegisteredSchema
    from ticdc_emit.registry.http import RegistryTls as RegistryTls

__getattr__, __dir__ = lazy(__name__)
