"""``[sink.kafka-config.glue-schema-registry-config]``: the AWS Glue registry, used instead of ``schema-registry``.

Rules: ``GlueSchemaRegistryConfig.Validate`` and ``SinkConfig.validateAndAdjust`` in ``pkg/config/sink.go`` of
pingcap/tiflow.
"""

from __future__ import annotations

from ticdc_emit.config.document import Section
from ticdc_emit.config.options import GlueSchemaRegistry
from ticdc_emit.config.refusal import refused
from ticdc_emit.config.secrets import Secret

__all__ = ["read_glue"]

# TiCDC's text, without the spaces that a reader would expect.
_TWO_REGISTRIES = (
    "invalid replica config, schema-registry and glue-schema-registry-configcannot be set at the same time,"
    "schema-registry is used by confluent schema registry, "
    "glue-schema-registry-config is used by aws glue schema registry"
)


def read_glue(sink: Section, kafka: Section | None) -> GlueSchemaRegistry | None:
    """``[sink.kafka-config.glue-schema-registry-config]``, None where it is absent."""
    table = kafka.table("glue-schema-registry-config") if kafka else None
    if table is None:
        return None
    if sink.text("schema-registry") is not None:
        raise refused("ErrInvalidReplicaConfig", _TWO_REGISTRIES, option="schema-registry", remedy="Remove one of them")
    name, region = table.text("registry-name") or "", table.text("region") or ""
    access, secret, token = table.text("access-key"), table.text("secret-access-key"), table.text("token")
    cause, option = "", ""
    if not name:
        cause, option = "registry-name is empty, is must be set", "registry-name"
    elif not region:
        cause, option = "region is empty, is must be set", "region"
    elif access and not secret:
        cause = "access-key is set, but access-key-secret is empty, they must be set together"
        option = "secret-access-key"
    if cause:
        raise refused("ErrInvalidGlueSchemaRegistryConfig", cause, option=option, remedy=f"Set {option}")
    return GlueSchemaRegistry(name, region, *(Secret(text) if text else None for text in (access, secret, token)))
