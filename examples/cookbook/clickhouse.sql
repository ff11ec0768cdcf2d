-- ClickHouse keeps the current tables of topics.

-- %% Canal-JSON
CREATE TABLE changes (
  `table` String,
  type String,
  pkNames Array(String),
  data Array(Map(String, Nullable(String))),
  _tidb Tuple(commitTs UInt64)
) ENGINE = Kafka SETTINGS
  kafka_broker_list = '127.0.0.1:9092',
  kafka_topic_list = 'shop',
  kafka_group_name = 'clickhouse',
  kafka_format = 'JSONEachRow';

CREATE TABLE newest (
  `table` String,
  key String,
  row Map(String, Nullable(String)),
  version UInt64,
  is_deleted UInt8
) ENGINE = ReplacingMergeTree(version, is_deleted) ORDER BY (`table`, key);

CREATE MATERIALIZED VIEW changes_to_newest TO newest AS
SELECT
  `table`,
  toString(arrayMap(name -> data[1][name], pkNames)) AS key,
  data[1] AS row,
  2 * _tidb.commitTs + (type != 'DELETE') AS version,
  type = 'DELETE' AS is_deleted
FROM changes
WHERE type IN ('INSERT', 'UPDATE', 'DELETE');

CREATE VIEW orders AS
SELECT
  row['id']::Int64 AS id,
  row['customer']::String AS customer,
  row['total']::Nullable(Decimal(10, 2)) AS total,
  row['note'] AS note,
  row['placed']::DateTime64(0, 'UTC') AS placed,
  row['channel'] AS channel,
  row['points']::Nullable(Int32) AS points
FROM newest FINAL
WHERE `table` = 'orders';

-- %% Avro
CREATE TABLE orders_rows (
  id Int64,
  customer String,
  total Nullable(Decimal(10, 2)),
  note Nullable(String),
  placed String,
  channel Nullable(String),
  points Nullable(Int32),
  _tidb_commit_ts UInt64
) ENGINE = Kafka SETTINGS
  kafka_broker_list = '127.0.0.1:9092',
  kafka_topic_list = 'shop_orders',
  kafka_group_name = 'clickhouse',
  kafka_format = 'AvroConfluent',
  format_avro_schema_registry_url = 'http://127.0.0.1:8081',
  input_format_avro_allow_missing_fields = 1;

CREATE TABLE orders_newest AS orders_rows
ENGINE = ReplacingMergeTree(_tidb_commit_ts) ORDER BY id;

CREATE MATERIALIZED VIEW orders_to_newest TO orders_newest AS
SELECT * FROM orders_rows;
