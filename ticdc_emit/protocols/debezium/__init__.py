"""Debezium's messages in JSON: Kafka Connect envelopes, with or without their schemas."""
