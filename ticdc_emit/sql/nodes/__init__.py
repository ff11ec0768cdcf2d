"""The syntax tree: immutable nodes with the content of the SQL, which print themselves in a :class:`~.base.Style`.

The modules follow each other: what prints (:mod:`.base`, :mod:`.forms`), :mod:`.expressions`, :mod:`.queries`,
:mod:`.tables`, :mod:`.alter`, :mod:`.statements`.
"""

# ruff: noqa: F403 (one namespace for all nodes)
from __future__ import annotations

from ticdc_emit.sql.nodes.alter import *
from ticdc_emit.sql.nodes.base import *
from ticdc_emit.sql.nodes.expressions import *
from ticdc_emit.sql.nodes.forms import *
from ticdc_emit.sql.nodes.queries import *
from ticdc_emit.sql.nodes.statements import *
from ticdc_emit.sql.nodes.tables import *
