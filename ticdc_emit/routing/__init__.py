"""Routing: which topic and which partitions each event goes to, and which columns appear in messages."""
