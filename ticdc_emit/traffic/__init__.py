"""Traffic: histories of tables, generated or from data, as a changefeed would send them."""
