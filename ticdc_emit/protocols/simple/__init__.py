"""The Simple protocol, in JSON and in Avro without a schema registry."""
