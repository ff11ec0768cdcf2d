"""DELIVER: chunks are merged, control messages take their places, and the sink gets what is due."""
