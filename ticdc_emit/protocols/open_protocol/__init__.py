"""Open Protocol, TiCDC's default for Kafka: JSON in frames, several rows in one message."""
