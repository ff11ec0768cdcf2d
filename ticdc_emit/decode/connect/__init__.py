"""What the readers of Debezium's messages in JSON and in Avro share: records, and text by Kafka Connect's types."""
