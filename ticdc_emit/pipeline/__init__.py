"""The way of a row (ARCHITECTURE.md), on any engine, for the micro-batches of a changefeed."""
