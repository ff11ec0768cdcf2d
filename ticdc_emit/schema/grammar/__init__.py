"""The TiDB grammar in layers, each a class over the one below it: from single tokens up to whole statements."""
