"""ticdc_emit: emit the exact bytes that TiCDC would put on Kafka, without a TiDB cluster."""
