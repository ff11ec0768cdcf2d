"""What Debezium's two formats share, JSON and Avro."""
