"""The layout of row messages: which constants, which rendered columns, in which order.

In: changes. Out: keys and values in their frames. Members of a key, in the order of each lineage::

    classic  ts scm tbl [rid] [ptn] t [ohk | ccl]
    next     ts scm tbl t [ohk] [ohk ccl] [ptn]

``rid`` is the row's handle if that is an integer but 0, ``ptn`` the id of its partition; a message that is too large
says ``ohk`` (only the handle key is shown) or ``ccl`` (where it is stored). A value has the row as ``u``, and of an
update as ``p`` what was before; the row of a delete is ``d``. Rule sources: reference ``pingcap/tiflow:
pkg/sink/codec/open/open_protocol_message.go``, ``pingcap/ticdc: pkg/sink/codec/open/codec.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import Encoded, refuse_empty
from ticdc_emit.changes.model import Changes, Op, json_overhead
from ticdc_emit.columnar.assemble import NULL, Fragment, blank_where, share
from ticdc_emit.columnar.integers import integer_text
from ticdc_emit.columnar.packed_fields import framed
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.json_members import Members
from ticdc_emit.protocols.open_protocol.control import name_members
from ticdc_emit.protocols.open_protocol.options import OpenOptions, json_string
from ticdc_emit.protocols.open_protocol.updated import updated_columns
from ticdc_emit.protocols.open_protocol.values import members_of
from ticdc_emit.schema.model import Column, TableInfo

__all__ = ["OpenRows"]

_KEY_BYTES = 256  # of a key, but for the names and a location


@dataclass(frozen=True)
class OpenRows:
    """The row encoder of one table version (see ``changes.codec.ReducibleRows``)."""

    table: TableInfo
    options: OpenOptions
    refuses_large: ClassVar[bool] = True
    reduces_by_any_option: ClassVar[bool] = False

    @property
    def reads_old(self) -> bool:
        """Whether updates show what was before."""
        return self.options.output_old_value

    @cached_property
    def overhead(self) -> int:
        """Bytes besides the values: a column's name is in both images."""
        return json_overhead(self.table, name_uses=2, label_uses=0) + len(self._names) + _KEY_BYTES

    @cached_property
    def _all(self) -> Members:
        return members_of(self.table, self.table.data_columns, self.options.switches)

    @cached_property
    def _handle_key(self) -> Members:
        return members_of(self.table, self.table.handle_key, self.options.switches)

    @cached_property
    def _names(self) -> bytes:
        return name_members(self.table.schema, self.table.name, self.options.switches)

    @cached_property
    def _shown_handle(self) -> Column | None:
        """The column whose text is that of the rows' handles."""
        key = self.table.whole_primary_key
        return key[0] if self.table.pk_is_handle and not key[0].unsigned and key[0] in self.table.handle_key else None

    def check(self, changes: Changes) -> None:
        """Refuse what would show no column, and what :attr:`Changes.row_ids` refuses.

        Raises :class:`~ticdc_emit.errors.SchemaError` and the :class:`~ticdc_emit.errors.RowError` family.
        """
        refuse_empty(self.table)
        if changes.op is Op.DELETE and self.options.delete_only_output_handle_key_columns:
            self._refuse_keyless()
        if self.options.switches.row_ids:
            _ = changes.row_ids

    def encode(self, changes: Changes) -> Encoded:
        """Return key and value of each change."""
        reduces = changes.op is Op.DELETE and self.options.delete_only_output_handle_key_columns
        return self._encoded(changes, self._handle_key if reduces else self._all, [])

    def reduced(self, changes: Changes, locations: Sequence[str] | None) -> Encoded:
        """Return messages with the handle key's columns only, and where each whole message is stored, if it is.

        Raises :class:`~ticdc_emit.errors.SchemaError` where these are none.
        """
        self._refuse_keyless()
        marks: list[Fragment] = [b',"ohk":true']
        if locations is not None:
            stored = [json_string(location, self.options.switches) for location in locations]
            flags = b',"ohk":true,"ohk":false' if self.options.switches.claims == "flagged" else b""
            marks = [flags + b',"ccl":', pa.array(stored, pa.binary())]
        return self._encoded(changes, self._handle_key, marks)

    def _refuse_keyless(self) -> None:
        if not self.table.handle_key:
            raise SchemaError(
                "messages with the handle key alone would show no column",
                remedy="Keep the handle key's columns, or give the table a key",
                code="CDC:ErrOpenProtocolCodecInvalidData",
                table=self.table.full_name,
            )

    def _encoded(self, changes: Changes, members: Members, marks: list[Fragment]) -> Encoded:
        count = len(changes)
        key = self._key(changes, members, marks)
        return Encoded(framed(self._value(changes, members), count, NULL), framed(key, count))

    def _key(self, changes: Changes, members: Members, marks: list[Fragment]) -> list[Fragment]:
        names = changes.constant(self, lambda encoder: encoder._names)
        partition: list[Fragment] = []
        if self.table.partitions:
            partition = [b',"ptn":', integer_text(changes.physical_table_ids)]
        row_id = self._row_id(changes, members) if self.options.switches.row_ids else []
        behind = [b',"t":1', *marks, *partition, b"}"]
        if self.options.switches.partition == "before-type":
            behind = [*partition, b',"t":1', *marks, b"}"]
        return [b'{"ts":', changes.commit_ts_text, names, *row_id, *behind]

    def _row_id(self, changes: Changes, members: Members) -> list[Fragment]:
        """Lay out ``rid``, nothing where it is 0 or not known."""
        numbers = changes.row_ids
        if numbers.null_count == len(numbers):
            return []
        known = (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy()
        if known.all():
            column = self._shown_handle
            return [b',"rid":', integer_text(numbers) if column is None else members.text(changes.current, column)]
        texts = pc.binary_join_element_wise(
            pa.scalar(b',"rid":'), integer_text(numbers).view(pa.binary()), pa.scalar(b"")
        )
        return [blank_where(texts, known == 0)]

    def _value(self, changes: Changes, members: Members) -> list[Fragment]:
        shown = members.laid(changes.current)
        if changes.op is Op.DELETE:
            return [b'{"d":', *shown, b"}"]
        if changes.op is Op.INSERT or not self.options.output_old_value:
            return [b'{"u":', *shown, b"}"]
        if self.options.only_output_updated_columns:
            return [b'{"u":', *shown, *updated_columns(changes, members, self.options.switches), b"}"]
        new, old = share(list(shown), list(members.laid(changes.old, shown)), len(changes), NULL)
        return [b'{"u":', *new, b',"p":', *old, b"}"]
