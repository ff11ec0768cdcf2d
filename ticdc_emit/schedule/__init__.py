"""Schedules: where control messages (DDL, watermarks) stand among the rows, as pure functions of TSO."""
