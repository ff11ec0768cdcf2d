"""The interface of schema registries, and one in this process; :class:`SubjectCache` asks once per table version."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ticdc_emit.errors import ConfigError, IncompatibleSchemaError, RegistryError, SharedSubjectError
from ticdc_emit.registry.headers import RegisteredSchema, confluent_schema

if TYPE_CHECKING:
    from ticdc_emit.config.changefeed import ChangefeedConfig
    from ticdc_emit.registry.http import RegistryTls


class SchemaRegistry(Protocol):
    """A registry of Avro schemas."""

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        """Register a schema text; the same text gives the same id again. Raises
        :class:`~ticdc_emit.errors.IncompatibleSchemaError`, else :class:`~ticdc_emit.errors.RegistryError`.
        """
        ...

    def close(self) -> None:
        """Release connections."""
        ...


def registry_for(config: ChangefeedConfig, tls: RegistryTls | None = None) -> SchemaRegistry:
    """Return a client of the registry; nothing is sent yet, and the caller closes it. Raises
    :class:`~ticdc_emit.errors.ConfigError`, and :class:`~ticdc_emit.errors.MissingDependencyError` without the extra.
    """
    # clients are imported here, because ssl and they take longer to load than an encoder without a registry should wait
    codec = config.codec
    if codec.schema_registry is not None:
        from ticdc_emit.registry.confluent import ConfluentRegistry

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
    from ticdc_emit.registry.glue import GlueRegistry

    return GlueRegistry(codec.glue_schema_registry)


class _Entry(NamedTuple):
    version: int
    schema: str
    header: bytes


class SubjectCache:
    """Asks the registry if the version of a subject's table changed."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._entries: dict[str, _Entry] = {}

    def header(self, subject: str, version: int, schema: str, *, named: bool = True) -> bytes:
        """Return the header of messages of a schema and its table's ``version`` (TSO). ``named``: they name its
        records. Raises what :meth:`SchemaRegistry.register` raises, and :class:`~ticdc_emit.errors.SharedSubjectError`.
        """
        known = self._entries.get(subject)
        if known is not None and known.version == version:
            if not self.serves(subject, version, schema, named=named):
                raise SharedSubjectError(
                    f"TiCDC would write rows of {_table(schema)} with the schema of {_table(known.schema)}, because "
                    "both have the same subject and version, as after RENAME TABLE or EXCHANGE PARTITION",
                    remedy=SharedSubjectError.REMEDY,
                    subject=subject,
                )
            return known.header
        try:
            header = self._registry.register(subject, schema).header
        except RegistryError as fault:
            fault.context["version"] = version
            raise
        self._entries[subject] = _Entry(version, schema, header)
        return header

    def serves(self, subject: str, version: int, schema: str, *, named: bool = True) -> bool:
        """Return whether the subject's last header serves for messages of ``schema``, as its fields are the same."""
        known = self._entries.get(subject)
        if known is None or known.version != version:
            return False
        return known.schema == schema or _fields(known.schema, named=named) == _fields(schema, named=named)

    def holds(self, subject: str, schema: str) -> bool:
        """Return whether the subject's last header is that of this very text, names included."""
        return self._entries[subject].schema == schema


def _table(schema: str) -> str:
    return str(json.loads(schema).get("name"))


def _fields(schema: str, *, named: bool) -> Any:
    return json.loads(schema, object_hook=None if named else _nameless)["fields"]


def _nameless(shown: dict[str, Any]) -> dict[str, Any]:
    if shown.get("type") != "record":
        return shown
    return {name: value for name, value in shown.items() if name not in ("name", "namespace")}


@dataclass(frozen=True)
class SchemaPost:
    """One request to register; ``id`` is ``None`` if it was refused (``status`` 409, else 200)."""

    subject: str
    schema: str
    id: int | None
    status: int


class MemoryRegistry:
    """A registry in this process: for tests, and encoding without a server. Compatibility is not checked. Ids begin at
    1, one per distinct schema text. ``posts``: every registration. ``reject``: refuse this text with 409.
    """

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
