"""Which tables, DDL and rows a changefeed replicates, by ``[filter]`` and TiCDC's own lists."""
