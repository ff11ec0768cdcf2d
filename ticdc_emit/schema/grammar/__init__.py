"""The TiDB DDL grammar as sqlglot parser overrides, layered: base, literal, column, table, alter, statement."""
