"""TiDB's grammar: tokens of one statement in, a node of :mod:`ticdc_emit.sql.nodes` out.

Each module's class adds its rules to those that they use: :mod:`.base` (words, names, numbers), :mod:`.expressions`,
:mod:`.functions`, :mod:`.queries`, :mod:`.changes`, :mod:`.columns`, :mod:`.tables`, :mod:`.alter`, :mod:`.statements`.
Tables of first words choose statements, changes and options.
"""

from __future__ import annotations
