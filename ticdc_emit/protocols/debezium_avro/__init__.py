"""Debezium's envelopes in Avro, with the schemas of a registry."""
