"""Traffic: histories of tables, made or taken from data, as what a changefeed would send of them."""

from __future__ import annotations

from ticdc_emit.traffic.history import History

__all__ = ["History"]
