"""Delivery: batches of messages in, acknowledged messages out, per-partition order kept.

Only ``delivery.kafka*`` talk to confluent_kafka, and only inside their functions.
"""
