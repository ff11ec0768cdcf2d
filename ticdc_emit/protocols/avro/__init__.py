"""Avro as TiCDC writes it: one record per row change, after the header of its registered schema."""
