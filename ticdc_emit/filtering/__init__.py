"""What a changefeed replicates: which tables, which DDL, which rows, by ``[filter]`` and TiCDC's own lists."""
