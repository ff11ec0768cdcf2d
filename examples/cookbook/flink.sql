-- Flink SQL reads the table shop.orders.

-- %% Canal-JSON
CREATE TABLE orders (
  id BIGINT,
  customer STRING,
  total DECIMAL(10,2),
  note STRING,
  placed TIMESTAMP(0),
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = 'shop_orders',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'canal-json',
  'canal-json.ignore-parse-errors' = 'true',
  'canal-json.table.include' = 'orders'
);

-- %% an added column in a sum: give the column's DEFAULT
SELECT SUM(COALESCE(points, 5)) FROM orders;

-- %% Debezium
CREATE TABLE orders (
  id BIGINT,
  customer STRING,
  total DECIMAL(10,2),
  note STRING,
  placed BIGINT,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = 'shop_orders',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'debezium-json',
  'debezium-json.schema-include' = 'true',
  'debezium-json.ignore-parse-errors' = 'true'
);

-- %% Debezium in Avro
CREATE TABLE orders (
  id BIGINT,
  customer STRING,
  total DECIMAL(10,2),
  note STRING,
  placed BIGINT,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'kafka',
  'topic' = 'shop_orders',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'debezium-avro-confluent',
  'debezium-avro-confluent.url' = 'http://127.0.0.1:8081'
);

-- %% Avro
CREATE TABLE orders (
  id BIGINT,
  customer STRING,
  total DECIMAL(10,2),
  note STRING,
  placed STRING,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'shop_orders',
  'properties.bootstrap.servers' = '127.0.0.1:9092',
  'key.format' = 'avro-confluent',
  'key.avro-confluent.url' = 'http://127.0.0.1:8081',
  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = 'http://127.0.0.1:8081'
);
