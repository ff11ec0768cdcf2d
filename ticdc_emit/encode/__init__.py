"""ENCODE: from row changes to messages, a pure function of the plan and the batch (no clock, no network, no global)."""
