"""Row checksums of changes: computed from the values, taken from the input where it marks a row as corrupted.

The optional input column ``checksum`` is a struct of any of these members:

=============  ===================  =====================================================================
``corrupted``  boolean              true: the row carries ``current`` and ``previous`` as given
``current``    integer, 32 bits     checksum of the after image (0 for a delete)
``previous``   integer, 32 bits     checksum of the before image (0 for an insert)
``version``    0, 1 or 2            which storage checksum TiDB had; where not given 2 (TiDB 8.4 and later), or 0
                                    in releases that know no other, in which rows of version 2 have none
=============  ===================  =====================================================================

Of other rows a number that is given and differs from the values is refused. Rule sources: semantics 3;
``pingcap/tiflow: cdc/entry/mounter.go`` (verifyChecksum, mountRowKVEntry).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.attributes import CHECKSUM, SPLIT
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.integers import parse_integers
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.errors import CorruptedRowError, InvalidValueError, SchemaError, UnsupportedTypeError

FIRST_VERSION, CHECKSUM_VERSION = 0, 2
_WHOLE = "Give a whole number"
_LIMITS = {"current": (1 << 32) - 1, "previous": (1 << 32) - 1, "version": 2}


@dataclass(frozen=True)
class Checksums:
    """One entry per row; ``present`` is false where TiCDC has no checksum."""

    current: npt.NDArray[np.uint32]
    previous: npt.NDArray[np.uint32]
    corrupted: Mask
    version: npt.NDArray[np.int32]
    present: Mask


def read_given(column: pa.Array, table: str) -> dict[str, pa.Array]:
    """Return the members of the input column ``checksum``: ``corrupted`` as bool, others as ``uint64``, with nulls."""
    if pa.types.is_null(column.type):
        return {}
    if not pa.types.is_struct(column.type):
        raise UnsupportedTypeError(
            f"checksum is {column.type}, not a struct",
            remedy="Give corrupted, current, previous, version, or leave the column out",
            table=table,
            column=CHECKSUM,
        )
    members = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    by_name = {}
    for name, values in members.items():
        if name == "corrupted" and (pa.types.is_boolean(values.type) or pa.types.is_null(values.type)):
            by_name[name] = values.cast(pa.bool_())
        elif name in _LIMITS:
            by_name[name] = _numbers(name, values, table)
        else:
            raise SchemaError(
                f"checksum has a member {name!r} of type {values.type}",
                remedy="Its members are corrupted (boolean), current, previous, version (integers)",
                table=table,
                column=CHECKSUM,
            )
    return by_name


def _numbers(name: str, values: pa.Array, table: str) -> pa.Array:
    try:
        numbers = parse_integers(values, unsigned=True)
    except ValueRefused as fault:
        raise InvalidValueError(
            fault.reason, remedy=_WHOLE, table=table, column=CHECKSUM, row={"position": fault.index}
        ) from None
    except TypeError:
        raise UnsupportedTypeError(
            f"the checksum's {name} is {values.type}", remedy=_WHOLE, table=table, column=CHECKSUM
        ) from None
    beyond = np.flatnonzero(np.asarray(numbers.fill_null(0)) > _LIMITS[name])
    if len(beyond):
        index = int(beyond[0])
        raise InvalidValueError(
            f"the checksum's {name} is {numbers[index]}, the greatest is {_LIMITS[name]}",
            remedy="Give TiDB's checksum, or leave the column out",
            table=table,
            column=CHECKSUM,
            row={"position": index},
        )
    return numbers


def given_checksums(changes: Changes) -> dict[str, pa.Array]:
    """Return the given checksums, by member (for :meth:`Changes.once`). Raises what :func:`read_given` does."""
    column = changes.attributes.get(CHECKSUM)
    return {} if column is None else read_given(column, changes.table.full_name)


def checksums_of(changes: Changes) -> Checksums:
    """Return the checksums that messages show, for :meth:`Changes.once`: an encoder asks for them in its check, too."""
    computed = {"current": _crc(changes.after, changes), "previous": _crc(changes.before, changes)}
    corrupted = _corrupted(changes)
    given = changes.once(given_checksums)
    if corrupted.any():
        for name, numbers in computed.items():
            if name in given:
                taken = np.asarray(given[name].fill_null(0)).astype(np.uint32)
                computed[name] = np.where(corrupted, taken, numbers)
    current, previous = computed["current"], computed["previous"]
    present = ((current | previous) != 0) & _known(changes)
    halves = changes.attributes.get(SPLIT)
    if halves is not None:  # TiCDC's halves share one record, in which each clears the other's number
        whole = ~np.asarray(halves.to_numpy(zero_copy_only=False), np.bool_)
        current, previous = current * whole, previous * whole
    return Checksums(current, previous, corrupted, _versions(changes), present)


def check_given(changes: Changes, *, refuse_corrupted: bool) -> None:
    """Refuse wrong given checksums, before anything is encoded.

    ``refuse_corrupted``: as ``corruption-handle-level = error``, with which TiCDC stops at such a row.
    """
    given = changes.once(given_checksums)
    corrupted = _corrupted(changes)
    if refuse_corrupted and corrupted.any():
        marked = np.flatnonzero(corrupted)
        raise changes.current.refused(
            marked,
            lambda number: CorruptedRowError(
                "the row is marked as corrupted",
                remedy="Repair the row, or set corruption-handle-level = 'warn'",
                code="CDC:ErrCorruptedDataMutation",
                table=changes.table.full_name,
                row=changes.current.row_key(int(marked[number])),
            ),
        )
    images = {"current": changes.after, "previous": changes.before}
    compared = ~corrupted & _known(changes)
    for name in given.keys() & images.keys():
        stated = np.asarray(given[name].is_valid()) & compared
        if images[name] is None or not stated.any():
            continue
        wrong = stated & (np.asarray(given[name].fill_null(0)) != _crc(images[name], changes))
        if wrong.any():
            rows = np.flatnonzero(wrong)
            raise changes.current.refused(rows, partial(_other_checksum, changes, name, rows))


def _other_checksum(changes: Changes, name: str, rows: npt.NDArray[np.int64], number: int) -> InvalidValueError:
    place = int(rows[number])
    cause = f"the given checksum {name}={changes.once(given_checksums)[name][place]} does not match the values"
    remedy, key = "Leave it out, or mark the row as corrupted", changes.current.row_key(place)
    return InvalidValueError(cause, remedy=remedy, table=changes.table.full_name, column=CHECKSUM, row=key)


def _corrupted(changes: Changes) -> Mask:
    marks = changes.once(given_checksums).get("corrupted")
    if marks is None:
        return np.zeros(len(changes), np.bool_)
    marked = np.asarray(marks.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
    return marked & _known(changes)


def _versions(changes: Changes) -> npt.NDArray[np.int32]:
    version = FIRST_VERSION if _knows_first_only(changes) else CHECKSUM_VERSION
    given = changes.once(given_checksums).get("version")
    if given is None:
        return np.full(len(changes), version, np.int32)
    return np.asarray(given.fill_null(version)).astype(np.int32)


def _known(changes: Changes) -> Mask | np.bool_:
    return _versions(changes) == FIRST_VERSION if _knows_first_only(changes) else np.True_


def _knows_first_only(changes: Changes) -> bool:
    return changes.current.how.switches.checksum_version == "first-only"


def _crc(image: Image | None, changes: Changes) -> npt.NDArray[np.uint32]:
    if image is None:
        return np.zeros(len(changes), np.uint32)
    return image.row_crc
