"""What Debezium's protocols share: how a MySQL type is shown through Kafka Connect's types."""
