"""Tables whose rows are held in memory, and what acts on them: row changes, DDL, SQL."""
