"""confluent-kafka reads a table from Avro, or from Debezium in Avro."""

# %% connect
from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

TOPIC = "shop_orders"
OF_KEY = SerializationContext(TOPIC, MessageField.KEY)
OF_VALUE = SerializationContext(TOPIC, MessageField.VALUE)

registry = SchemaRegistryClient({"url": "http://127.0.0.1:8081"})
read_key = AvroDeserializer(registry)
read_value = AvroDeserializer(registry)
consumer = Consumer({"bootstrap.servers": "127.0.0.1:9092", "group.id": "table", "auto.offset.reset": "earliest"})
consumer.subscribe([TOPIC])

# %% Avro
table = {}
while (message := consumer.poll(10)) is not None:  # until nothing comes for ten seconds
    key = tuple(read_key(message.key(), OF_KEY).values())
    row = read_value(message.value(), OF_VALUE)
    if row is None:
        table.pop(key, None)
    else:
        table[key] = row
consumer.close()
print(len(table), "rows")

# %% Avro: the newest schema for all rows
newest = registry.get_latest_version(f"{TOPIC}-value").schema.schema_str
read_value = AvroDeserializer(registry, newest)

# %% Debezium in Avro
table = {}
while (message := consumer.poll(10)) is not None:
    key = tuple(read_key(message.key(), OF_KEY).values())
    change = read_value(message.value(), OF_VALUE)
    if change["after"] is None:
        table.pop(key, None)
    else:
        table[key] = change["after"]
consumer.close()
print(len(table), "rows")
