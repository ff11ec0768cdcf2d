"""Frames, Arrow's and Spark's schemas and tables of Spark's catalog as ``CREATE TABLE`` of TiDB."""
