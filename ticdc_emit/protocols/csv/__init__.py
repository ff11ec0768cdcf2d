"""CSV: one line per row change, in the files of a storage sink."""
