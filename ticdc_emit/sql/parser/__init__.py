"""The TiDB grammar in layers, from single tokens up to whole statements. Each layer is a subclass of the one below."""

from __future__ import annotations
