"""TiDB's grammar, a class per module: tokens of one statement in, a node of :mod:`ticdc_emit.sql.nodes` out.

Each class adds the rules of its module to those that its rules use, so a rule is in the module of what it reads:
:mod:`.base` (the cursor, words, names, numbers), :mod:`.expressions`, :mod:`.functions`, :mod:`.queries`,
:mod:`.changes` (statements that change rows),
:mod:`.columns` (types, column options, keys), :mod:`.tables` (table options, partitions), :mod:`.alter` (also fixed
forms), and :mod:`.statements`, whose :class:`~.statements.Parser` has them all. Tables of first words choose
statements, changes and options; where a clause has a fixed form, its node or row in ``nodes`` states what is read.
"""

from __future__ import annotations
