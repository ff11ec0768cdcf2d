"""Shared by Debezium's protocols: MySQL types as Kafka Connect types."""
