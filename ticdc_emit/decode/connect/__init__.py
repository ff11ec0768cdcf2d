"""Shared by the readers of Debezium's messages in JSON and in Avro: records, and text by Kafka Connect's types."""
