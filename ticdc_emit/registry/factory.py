"""The registry that a changefeed's configuration names.

In: a validated configuration. Out: Confluent's API for ``schema-registry``, AWS Glue for
``[sink.kafka-config.glue-schema-registry-config]``.
"""

from __future__ import annotations

from ticdc_emit.config.options import ChangefeedConfig
from ticdc_emit.errors import ConfigError
from ticdc_emit.registry.base import SchemaRegistry
from ticdc_emit.registry.confluent import ConfluentRegistry
from ticdc_emit.registry.glue import GlueRegistry
from ticdc_emit.registry.http import RegistryTls

__all__ = ["registry_for"]


def registry_for(config: ChangefeedConfig, tls: RegistryTls | None = None) -> SchemaRegistry:
    """Return a client of the registry; nothing is sent yet, and the caller closes it. ``tls`` is for an https URL.

    Raises :class:`~ticdc_emit.errors.ConfigError` if the changefeed has no registry or an option is wrong, and
    :class:`~ticdc_emit.errors.MissingDependencyError` without the extra ``avro`` or ``glue``.
    """
    codec = config.codec
    if codec.schema_registry is not None:
        return ConfluentRegistry(codec.schema_registry, tls)
    if codec.glue_schema_registry is None:
        raise ConfigError(
            "the changefeed has no schema registry",
            remedy="Add schema-registry=http://host:port to the sink URI",
            option="schema-registry",
        )
    if tls is not None:
        raise ConfigError(
            "TLS files are for schema-registry; AWS Glue does not use them",
            remedy="Remove them",
            option="schema-registry",
        )
    return GlueRegistry(codec.glue_schema_registry)
