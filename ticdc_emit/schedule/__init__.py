"""Schedules: the place of control messages (DDL, watermarks) among the rows, as pure functions of TSO."""
