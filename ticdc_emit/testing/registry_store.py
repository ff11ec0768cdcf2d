"""The state and rules of a schema registry like Confluent's, without HTTP.

In: subjects, Avro schema texts, compatibility levels. Out: ids and versions, or a :class:`Refusal` with Confluent's
status and error code (docs.confluent.io, Schema Registry API reference). Ids are global, one per schema text; versions
count within a subject. Whether one schema can read what another wrote is decided by Apache Avro's own rules
(``avro.compatibility``), which need the extra ``registry``.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from typing import Any

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.json_depth import parsed
from ticdc_emit.registry.base import compact_json

__all__ = ["LEVELS", "Refusal", "RegistryStore", "Version", "whole_number"]

LEVELS = (
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
    "NONE",
)


_MOST_DIGITS = 10


class Refusal(Exception):  # noqa: N818 - an answer of the registry
    """``status`` is HTTP's, ``code`` Confluent's error_code."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Version:
    """One version of a subject; ``id`` is that of its schema text."""

    subject: str
    version: int
    id: int
    schema: str


class RegistryStore:
    """Subjects, schemas and levels in memory; safe to call from several threads."""

    def __init__(self, level: str) -> None:
        """``level``: the global compatibility.

        Raises :class:`~ticdc_emit.errors.MissingDependencyError` without the extra ``registry``.
        """
        try:
            import avro.compatibility  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError("the embedded registry needs Apache Avro", extra="registry") from error
        self._lock = threading.RLock()
        self._ids: dict[str, int] = {}
        self._subjects: dict[str, list[Version]] = {}
        self._levels: dict[str, str] = {}
        self._global_level = _checked_level(level)

    def register(self, subject: str, schema: str) -> int:
        """Register a schema as a version of the subject and return its id; 409 if the subject's level forbids it."""
        text = _checked_schema(schema)
        with self._lock:
            versions = self._subjects.get(subject, [])
            for known in versions:
                if known.schema == text:
                    return known.id
            level = self._levels.get(subject, self._global_level)
            reasons = _incompatibilities(level, text, versions)
            if reasons:
                raise Refusal(
                    409,
                    409,
                    f'Schema being registered is incompatible with an earlier schema for subject "{subject}", '
                    f"details: [{'; '.join(reasons)}; {{compatibility: '{level}'}}]",
                )
            number = self._ids.setdefault(text, len(self._ids) + 1)
            self._subjects[subject] = [*versions, Version(subject, len(versions) + 1, number, text)]
            return number

    def lookup(self, subject: str, schema: str) -> Version:
        """Return the version of the subject that has this schema text."""
        text = _checked_schema(schema)
        for known in self._versions(subject):
            if known.schema == text:
                return known
        raise Refusal(404, 40403, "Schema not found")

    def schema(self, number: int) -> str:
        """Return the schema text of an id."""
        with self._lock:
            for text, known in self._ids.items():
                if known == number:
                    return text
        raise Refusal(404, 40403, f"Schema {number} not found")

    def subjects(self) -> list[str]:
        """Return the subjects in the order of their names."""
        with self._lock:
            return sorted(self._subjects)

    def users(self, number: int) -> list[Version]:
        """Return the versions that have the schema of this id."""
        self.schema(number)
        with self._lock:
            return [one for versions in self._subjects.values() for one in versions if one.id == number]

    def numbers(self, subject: str) -> list[int]:
        """Return the numbers of a subject's versions."""
        return [version.version for version in self._versions(subject)]

    def version(self, subject: str, which: str) -> Version:
        """Return a version by number, or the newest (``latest``, ``-1``)."""
        versions = self._versions(subject)
        if which in ("latest", "-1"):
            return versions[-1]
        number = whole_number(which)
        if not number:
            raise Refusal(422, 42202, f"The specified version '{which}' is not a valid version id.")
        if number > len(versions):
            raise Refusal(404, 40402, f"Version {which} not found.")
        return versions[number - 1]

    def incompatibilities(self, subject: str, schema: str, which: str | None) -> list[str]:
        """Return why a schema cannot follow a version of a subject (``None``: the versions that its level covers)."""
        text = _checked_schema(schema)
        with self._lock:
            versions = [self.version(subject, which)] if which is not None else self._subjects.get(subject, [])
            return _incompatibilities(self._levels.get(subject, self._global_level), text, versions)

    def level(self, subject: str | None, default_to_global: bool = False) -> str:
        """Return the compatibility of a subject, or the global one (``None``)."""
        with self._lock:
            if subject is None or (default_to_global and subject not in self._levels):
                return self._global_level
            if subject not in self._levels:
                raise Refusal(404, 40408, f"Subject '{subject}' does not have subject-level compatibility configured")
            return self._levels[subject]

    def set_level(self, subject: str | None, level: object) -> str:
        """Set the compatibility of a subject, or the global one (``None``), and return it."""
        checked = _checked_level(level)
        with self._lock:
            if subject is None:
                self._global_level = checked
            else:
                self._levels[subject] = checked
        return checked

    def _versions(self, subject: str) -> list[Version]:
        with self._lock:
            versions = self._subjects.get(subject)
        if versions is None:
            raise Refusal(404, 40401, f"Subject '{subject}' not found.")
        return versions


def _checked_level(level: object) -> str:
    text = str(level).upper()
    if text not in LEVELS:
        raise Refusal(422, 42203, f"Invalid compatibility level. Valid values are {', '.join(LEVELS)}")
    return text


def whole_number(text: str) -> int | None:
    """Return the number in ASCII digits, up to the size of an id or length; ``None`` for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def _checked_schema(text: str) -> str:
    """Return the canonical text of a schema; parsing checks that it is one."""
    from avro.errors import AvroException

    try:
        parsed(text.encode())
        compact = compact_json(text)
        _parse(compact)
    except (AvroException, ValueError, TypeError, AttributeError, ArithmeticError, LookupError) as error:
        raise Refusal(422, 42201, f"Invalid schema of type AVRO, details: {error}") from None
    return compact


def _parse(text: str) -> Any:
    from avro.schema import parse

    with warnings.catch_warnings():
        # an unknown logical type is an ordinary property
        warnings.simplefilter("ignore")
        return parse(text)


def _incompatibilities(level: str, text: str, versions: list[Version]) -> list[str]:
    """Why the schema cannot follow the versions; empty if it can."""
    from avro import compatibility

    direction, _, transitive = level.partition("_")
    if direction == "NONE":
        return []
    checker: Any = compatibility.ReaderWriterCompatibilityChecker
    compatible = compatibility.SchemaCompatibilityType.compatible
    new = _parse(text)
    reasons = []
    for version in versions if transitive else versions[-1:]:
        old = _parse(version.schema)
        pairs = [("new", new, "old", old)] if direction in ("BACKWARD", "FULL") else []
        pairs += [("old", old, "new", new)] if direction in ("FORWARD", "FULL") else []
        for reader_name, reader, writer_name, writer in pairs:
            result = checker().get_compatibility(reader, writer)
            if result.compatibility is not compatible:
                kinds = ", ".join(kind.name for kind in result.incompatibilities)
                reasons.append(
                    f"the {reader_name} schema cannot read what the {writer_name} one (version {version.version}) "
                    f"wrote: {kinds} at {', '.join(sorted(result.locations))}: {', '.join(sorted(result.messages))}"
                )
    return reasons
