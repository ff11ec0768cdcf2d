"""What Debezium's two formats share, JSON and Avro."""

from __future__ import annotations
