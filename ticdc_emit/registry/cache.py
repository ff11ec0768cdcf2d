"""When a schema is registered: TiCDC's cache, with one entry per subject that is valid for one table version.

In: the schemas that messages need, in the messages' order. Out: headers. A subject that several tables or versions
share is registered again at every change between them. It gets the same ids, because registering is idempotent. Source:
``pingcap/tiflow: pkg/sink/codec/avro/confluent_schema_registry.go`` (GetCachedOrRegister).

TiCDC compares versions only. One DDL job can give several tables the same version (RENAME of several tables, EXCHANGE
PARTITION), and in the new architecture a RENAME keeps the version by which TiCDC compares. If they also share a topic,
TiCDC writes the rows of one with the schema of the other. With equal fields that is harmless and this library does the
same. With other fields it corrupts data and is refused. Records inside a schema have names, too: a message that names
one fails in TiCDC, any other is written.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ticdc_emit.errors import RegistryError, SharedSubjectError
from ticdc_emit.registry.contract import SchemaRegistry

__all__ = ["SubjectCache"]


class _Entry(NamedTuple):
    version: int
    schema: str
    header: bytes


def _record(schema: str) -> str:
    """Return the name of a schema's record, which is that of the table."""
    return str(json.loads(schema).get("name"))


class SubjectCache:
    """Asks the registry if the version of a subject's table changed."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._entries: dict[str, _Entry] = {}

    def header(self, subject: str, version: int, schema: str, *, named: bool = True) -> bytes:
        """Return the header of messages of ``schema``; ``version`` is the TSO of the table's version.

        ``named``: every message names the records inside its schema. Raises what :meth:`SchemaRegistry.register`
        raises, and :class:`~ticdc_emit.errors.SharedSubjectError`.
        """
        known = self._entries.get(subject)
        if known is not None and known.version == version:
            if known.schema != schema and _fields(known.schema, named=named) != _fields(schema, named=named):
                raise SharedSubjectError(
                    f"TiCDC would write rows of {_record(schema)} with the schema of {_record(known.schema)}, because "
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

    def holds(self, subject: str, schema: str) -> bool:
        """Return whether the subject's last header is that of this very text, names included."""
        return self._entries[subject].schema == schema


def _fields(schema: str, *, named: bool) -> Any:
    return json.loads(schema, object_hook=None if named else _nameless)["fields"]


def _nameless(shown: dict[str, Any]) -> dict[str, Any]:
    if shown.get("type") != "record":
        return shown
    return {name: value for name, value in shown.items() if name not in ("name", "namespace")}
