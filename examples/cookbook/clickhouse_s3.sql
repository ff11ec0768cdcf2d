-- ClickHouse reads CSV files of the storage sink from S3.

-- %% the structure of a table's rows, from its newest schema file
WITH arrayMap(
  c -> concat('`', c.ColumnName, '` ',
    multiIf(
      c.ColumnType LIKE 'DECIMAL%', 'Decimal(' || c.ColumnPrecision || ',' || c.ColumnScale || ')',
      c.ColumnType LIKE 'FLOAT%', 'Float32',
      c.ColumnType LIKE 'DOUBLE%', 'Float64',
      match(c.ColumnType, '^(\\w*INT|BIT|YEAR) UNSIGNED'), 'UInt64',
      match(c.ColumnType, '^(\\w*INT|BIT|YEAR)'), 'Int64',
      'String') AS kind,
    if(c.ColumnNullable = 'false', '', ' NULL'),
    if(c.ColumnDefault IS NULL, '', ' DEFAULT ' || '''' || replaceAll(c.ColumnDefault, '''', '''''') || '''')),
  TableColumns) AS columns
SELECT 'op String, `table` String, `schema` String, commit_ts UInt64, ' || arrayStringConcat(columns, ', ') AS structure
FROM s3('http://127.0.0.1:9000/bucket/lake/shop/orders/meta/schema_*.json', 'KEY', 'SECRET', 'JSONEachRow',
  'TableVersion UInt64, TableColumns Array(Tuple(ColumnName String, ColumnType String, ColumnPrecision String,
   ColumnScale String, ColumnNullable String, ColumnDefault Nullable(String)))')
ORDER BY TableVersion DESC
LIMIT 1;

-- %% a table
CREATE TABLE orders (
  id Int64,
  customer String,
  total Nullable(Decimal(10, 2)),
  note Nullable(String),
  placed String,
  channel Nullable(String),
  points Int64,
  version UInt64,
  is_deleted UInt8
) ENGINE = ReplacingMergeTree(version, is_deleted) ORDER BY id;

INSERT INTO orders
SELECT id, customer, total, note, placed, channel, points, 2 * commit_ts + (op != 'D') AS version, op = 'D' AS is_deleted
FROM s3('http://127.0.0.1:9000/bucket/lake/shop/orders/**/CDC*.csv', 'KEY', 'SECRET', 'CSV',
  'op String, `table` String, `schema` String, commit_ts UInt64, id Int64, customer String, total Nullable(Decimal(10, 2)),
   note Nullable(String), placed String, channel Nullable(String), points Int64 DEFAULT 5')
SETTINGS input_format_csv_allow_variable_number_of_columns = 1;

-- %% the files themselves, up to the checkpoint
SELECT * EXCEPT (op, `table`, `schema`, commit_ts)
FROM (
  SELECT *
  FROM s3('http://127.0.0.1:9000/bucket/lake/shop/orders/**/CDC*.csv', 'KEY', 'SECRET', 'CSV',
    'op String, `table` String, `schema` String, commit_ts UInt64, id Int64, customer String, total Nullable(Decimal(10, 2)),
     note Nullable(String), placed String, channel Nullable(String), points Int64 DEFAULT 5')
  WHERE commit_ts <= (
    SELECT `checkpoint-ts`
    FROM s3('http://127.0.0.1:9000/bucket/lake/metadata', 'KEY', 'SECRET', 'JSONEachRow', '`checkpoint-ts` UInt64'))
  ORDER BY commit_ts DESC, op = 'D'
  LIMIT 1 BY id
)
WHERE op != 'D'
SETTINGS input_format_csv_allow_variable_number_of_columns = 1;
