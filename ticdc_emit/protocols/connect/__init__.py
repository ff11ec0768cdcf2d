"""Shared by Debezium's protocols: MySQL types as Kafka Connect types."""

from __future__ import annotations
