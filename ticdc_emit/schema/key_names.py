"""The names that TiDB gives to keys without one, and how many keys a table can have.

In: the constraints of a CREATE TABLE, or one that is added later. Out: the same constraints with names.
Rule source: pingcap/tidb ``pkg/ddl/create_table.go`` (``setEmptyConstraintName``) and ``pkg/ddl/index.go``
(``GetName4AnonymousIndex``).
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.nodes import Constraint
from ticdc_emit.schema.state import TableState

__all__ = ["PRIMARY", "check_count", "check_foreign_keys", "name_for_alter", "names_for_create"]

PRIMARY = "PRIMARY"

_MAX_INDEXES = 512
"""The most that TiDB's ``index-limit`` can be set to."""
_MAX_FOREIGN_KEYS = 4096
"""TiDB has no limit. This one bounds the work; no real table comes near it."""
_INDEX_KINDS = ("unique", "index", "columnar")
_ANONYMOUS_EXPRESSION, _ANONYMOUS_VECTOR = "expression_index", "vector_index"


def names_for_create(constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """Name the anonymous keys of a CREATE TABLE after their first column, with a number if that name is taken."""
    check_count(sum(constraint.kind in _INDEX_KINDS for constraint in constraints))
    check_foreign_keys(sum(constraint.kind == "foreign" for constraint in constraints))
    known_names: set[str] = set()
    foreign: set[str] = set()
    for constraint in constraints:
        names = foreign if constraint.kind == "foreign" else known_names
        if constraint.kind == "primary" or not constraint.name:
            continue
        if constraint.name.lower() in names:
            raise DdlError(
                f"duplicate key name {constraint.name!r}", remedy="Choose another name", position=constraint.offset
            )
        names.add(constraint.name.lower())
    named: list[Constraint] = []
    for constraint in constraints:
        if constraint.kind in ("primary", "foreign", "check") or constraint.name:
            named.append(constraint)
            continue
        base = _base_name(constraint)
        name, number = (f"{base}_2", 3) if base.upper() == PRIMARY else (base, 2)
        while name.lower() in known_names:
            name, number = f"{base}_{number}", number + 1
        known_names.add(name.lower())
        named.append(replace(constraint, name=name))
    return tuple(named)


def name_for_alter(state: TableState, constraint: Constraint) -> str:
    """Name an anonymous key that is added to an existing table."""
    check_count(len(state.info.indexes) + 1)
    base = constraint.keys[0].column or _anonymous(constraint)
    name, number = (f"{base}_2", 3) if base.upper() == PRIMARY else (base, 2)
    while state.find_index(name):
        name, number = f"{base}_{number}", number + 1
    return name


def check_count(indexes: int) -> None:
    """Raise :class:`DdlError` for more indexes than a table can have."""
    if indexes > _MAX_INDEXES:
        raise DdlError(f"a table has at most {_MAX_INDEXES} indexes", remedy="Leave some of them out")


def check_foreign_keys(keys: int) -> None:
    """Raise :class:`DdlError` for more foreign keys than a table can have here."""
    if keys > _MAX_FOREIGN_KEYS:
        raise DdlError(f"a table has at most {_MAX_FOREIGN_KEYS} foreign keys", remedy="Leave some of them out")


def _base_name(constraint: Constraint) -> str:
    if any(part.expression is not None for part in constraint.keys):
        return _anonymous(constraint)
    return constraint.keys[0].column


def _anonymous(constraint: Constraint) -> str:
    return _ANONYMOUS_VECTOR if constraint.kind == "columnar" else _ANONYMOUS_EXPRESSION
