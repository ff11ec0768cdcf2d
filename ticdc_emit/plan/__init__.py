"""PLAN: everything that encoding needs, fixed before the first row: tables, registrations, control messages, limits."""
