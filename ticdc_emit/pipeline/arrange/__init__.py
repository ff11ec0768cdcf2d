"""ARRANGE: rows read, filtered, split and brought into total order."""
