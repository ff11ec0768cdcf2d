"""Schemas of other systems as ``CREATE TABLE`` of TiDB: Spark's and Arrow's types, and other databases' DDL."""
