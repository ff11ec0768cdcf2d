=== what INFORMATION_SCHEMA gives
CREATE TABLE `my-project.shop.orders`
(
  order_id INT64 NOT NULL OPTIONS(description="The order's number"),
  customer STRING(40),
  amount NUMERIC(10, 2) DEFAULT 0,
  paid BOOL DEFAULT FALSE,
  created TIMESTAMP DEFAULT CURRENT_TIMESTAMP(),
  PRIMARY KEY (order_id) NOT ENFORCED
)
PARTITION BY DATE(created)
CLUSTER BY customer
OPTIONS(
  description='One row per order',
  partition_expiration_days=90.0,
  labels=[("team", "sales")]
);
--- becomes
-- A schema of BigQuery in TiDB's SQL.
-- Keys are those of the script; BigQuery does not check that they are unique.

-- `created` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- Left out: partitioning.
CREATE TABLE `shop`.`orders` (
  `order_id` BIGINT NOT NULL COMMENT 'The order''s number',
  `customer` VARCHAR(40),
  `amount` DECIMAL(10,2) DEFAULT 0,
  `paid` TINYINT(1) DEFAULT 0,
  `created` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (`order_id`)
) COMMENT='One row per order';

=== every type
CREATE TABLE ds.every_type (
  a INT64, b INTEGER, c FLOAT64, d NUMERIC, e NUMERIC(10), f BIGNUMERIC, g BIGNUMERIC(40, 20), h DECIMAL(5, 1), i BOOL,
  j STRING, k STRING(10), l BYTES, m BYTES(16), n DATE, o DATETIME, p TIMESTAMP, q TIME, r JSON, s GEOGRAPHY, t INTERVAL,
  u RANGE<DATE>, v ARRAY<STRING>, w STRUCT<x INT64, y STRING>, x ARRAY<STRUCT<a INT64 OPTIONS(description="in"), b ARRAY<STRING>>>
);
--- becomes
-- A schema of BigQuery in TiDB's SQL.

-- `f` is DECIMAL(65,30), the longest of TiDB.
-- `p` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- `s`, `t`, `u` are text, as the system writes its values.
-- `v`, `w`, `x` are JSON, which accepts lists, maps and structs.
CREATE TABLE `ds`.`every_type` (
  `a` BIGINT,
  `b` BIGINT,
  `c` DOUBLE,
  `d` DECIMAL(38,9),
  `e` DECIMAL(10,0),
  `f` DECIMAL(65,30),
  `g` DECIMAL(40,20),
  `h` DECIMAL(5,1),
  `i` TINYINT(1),
  `j` LONGTEXT,
  `k` VARCHAR(10),
  `l` LONGBLOB,
  `m` VARBINARY(16),
  `n` DATE,
  `o` DATETIME(6),
  `p` DATETIME(6),
  `q` TIME(6),
  `r` JSON,
  `s` LONGTEXT,
  `t` VARCHAR(64),
  `u` LONGTEXT,
  `v` JSON,
  `w` JSON,
  `x` JSON
);

=== names
CREATE TABLE my-project.ds.a (Id INT64);
CREATE TABLE `my-project`.`ds`.`b` (id INT64);
CREATE TABLE `ds.c` (`order` INT64);
CREATE TABLE d (id INT64);
--- becomes
-- A schema of BigQuery in TiDB's SQL.

CREATE TABLE `ds`.`a` (
  `Id` BIGINT
);

CREATE TABLE `ds`.`b` (
  `id` BIGINT
);

CREATE TABLE `ds`.`c` (
  `order` BIGINT
);

CREATE TABLE `test`.`d` (
  `id` BIGINT
);

=== strings and comments
# a comment; CREATE TABLE no (a INT64);
CREATE OR REPLACE TABLE ds.t ( -- another;
  a STRING DEFAULT "it's; fine" OPTIONS(description='a \'quoted\' "word"'),
  b STRING DEFAULT '''three ' quotes;''',
  c STRING(5) DEFAULT r'\d',
  d STRING(9) DEFAULT 'x\ty'
);
--- becomes
-- A schema of BigQuery in TiDB's SQL.

-- `a` has no default in TiDB, instead of "it's; fine".
-- `b` has no default in TiDB, instead of '''three ' quotes;'''.
CREATE TABLE `ds`.`t` (
  `a` LONGTEXT COMMENT 'a ''quoted'' "word"',
  `b` LONGTEXT,
  `c` VARCHAR(5) DEFAULT '\\d',
  `d` VARCHAR(9) DEFAULT 'x	y'
);

=== defaults
CREATE TABLE ds.defaults (
  a DATETIME DEFAULT CURRENT_DATETIME(),
  b DATE DEFAULT CURRENT_DATE(),
  c STRING(36) DEFAULT GENERATE_UUID(),
  d INT64 DEFAULT 5,
  e NUMERIC(6,2) DEFAULT NUMERIC '1.5',
  f DATE DEFAULT DATE '2024-02-29',
  g TIMESTAMP DEFAULT TIMESTAMP '2024-01-01 00:00:00',
  h DATETIME DEFAULT CURRENT_DATETIME('UTC'),
  i JSON DEFAULT JSON '{}',
  j ARRAY<INT64> DEFAULT [1, 2]
);
--- becomes
-- A schema of BigQuery in TiDB's SQL.

-- `g` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- `j` is JSON, which accepts lists, maps and structs.
-- `h` has no default in TiDB, instead of CURRENT_DATETIME('UTC').
-- `i` has no default in TiDB, instead of JSON '{}'.
-- `j` has no default in TiDB, instead of [1, 2].
CREATE TABLE `ds`.`defaults` (
  `a` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  `b` DATE DEFAULT CURRENT_DATE,
  `c` VARCHAR(36) DEFAULT (UUID()),
  `d` BIGINT DEFAULT 5,
  `e` DECIMAL(6,2) DEFAULT 1.5,
  `f` DATE DEFAULT '2024-02-29',
  `g` DATETIME(6) DEFAULT '2024-01-01 00:00:00',
  `h` DATETIME(6),
  `i` JSON,
  `j` JSON
);

=== scripts and procedures
DECLARE x INT64 DEFAULT 1;
CREATE OR REPLACE PROCEDURE ds.fill()
BEGIN
  CREATE OR REPLACE TABLE ds.not_this (a INT64);
  INSERT INTO ds.not_this VALUES (1);
END;
CREATE TEMP TABLE tmp (a INT64);
CREATE TABLE ds.this (a INT64);
CREATE TABLE ds.copied AS SELECT * FROM ds.this;
CREATE TABLE ds.like_this LIKE ds.this;
CREATE SNAPSHOT TABLE ds.snap CLONE ds.this;
CREATE VIEW ds.v AS SELECT 1 AS one;
CREATE EXTERNAL TABLE ds.ext (line STRING) WITH PARTITION COLUMNS OPTIONS (format = 'CSV', uris = ['gs://b/*.csv']);
MERGE ds.this USING ds.ext ON FALSE WHEN NOT MATCHED THEN INSERT ROW;
--- becomes
-- A schema of BigQuery in TiDB's SQL.
-- Statements that make no table were skipped: 1 CREATE PROCEDURE, 1 CREATE VIEW, 1 DECLARE, 1 MERGE, 1 temporary table.

CREATE TABLE `ds`.`this` (
  `a` BIGINT
);

CREATE TABLE `ds`.`copied` (
  `a` BIGINT
);

CREATE TABLE `ds`.`like_this` (
  `a` BIGINT
);

CREATE TABLE `ds`.`snap` (
  `a` BIGINT
);

CREATE TABLE `ds`.`ext` (
  `line` LONGTEXT
);

=== keys
CREATE TABLE ds.items (
  order_id INT64 REFERENCES ds.orders (order_id) NOT ENFORCED,
  nr INT64,
  sku STRING NOT NULL,
  tags ARRAY<STRING>,
  PRIMARY KEY (order_id, nr, sku) NOT ENFORCED,
  FOREIGN KEY (sku) REFERENCES ds.products (sku) NOT ENFORCED
);
--- becomes
-- A schema of BigQuery in TiDB's SQL.
-- Keys are those of the script; BigQuery does not check that they are unique.

-- `tags` is JSON, which accepts lists, maps and structs.
-- `sku` is VARCHAR(764), because a key has a length: values of more than 764 characters are refused.
-- Left out: 2 foreign keys.
CREATE TABLE `ds`.`items` (
  `order_id` BIGINT NOT NULL,
  `nr` BIGINT NOT NULL,
  `sku` VARCHAR(764) NOT NULL,
  `tags` JSON,
  PRIMARY KEY (`order_id`, `nr`, `sku`)
);

=== changes
CREATE TABLE ds.events (id INT64, note STRING(10), old INT64);
ALTER TABLE ds.events ADD COLUMN at TIMESTAMP, ADD COLUMN IF NOT EXISTS who STRING OPTIONS(description="who");
ALTER TABLE ds.events ALTER COLUMN note SET DATA TYPE STRING(50);
ALTER TABLE ds.events ALTER COLUMN at SET DEFAULT CURRENT_TIMESTAMP();
ALTER TABLE ds.events DROP COLUMN IF EXISTS old;
ALTER TABLE ds.events RENAME COLUMN who TO author;
ALTER TABLE ds.events ADD PRIMARY KEY (id) NOT ENFORCED;
ALTER TABLE ds.events SET OPTIONS (description = 'What happened');
--- becomes
-- A schema of BigQuery in TiDB's SQL.
-- Keys are those of the script; BigQuery does not check that they are unique.

-- `at` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
CREATE TABLE `ds`.`events` (
  `id` BIGINT NOT NULL,
  `note` VARCHAR(50),
  `at` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  `author` LONGTEXT COMMENT 'who',
  PRIMARY KEY (`id`)
) COMMENT='What happened';

=== a public data set
CREATE TABLE crypto.blocks
(
  timestamp TIMESTAMP NOT NULL,
  number INT64 NOT NULL,
  `hash` STRING NOT NULL,
  size INT64,
  gas_used NUMERIC,
  withdrawals ARRAY<STRUCT<index INT64, validator_index INT64, address STRING, amount STRING>>
)
PARTITION BY DATE(timestamp);
--- becomes
-- A schema of BigQuery in TiDB's SQL.

-- `timestamp` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- `withdrawals` is JSON, which accepts lists, maps and structs.
-- Left out: partitioning.
CREATE TABLE `crypto`.`blocks` (
  `timestamp` DATETIME(6) NOT NULL,
  `number` BIGINT NOT NULL,
  `hash` LONGTEXT NOT NULL,
  `size` BIGINT,
  `gas_used` DECIMAL(38,9),
  `withdrawals` JSON
);

=== collation and groups of columns
CREATE TABLE ds.c (
  a STRING COLLATE 'und:ci' NOT NULL,
  b STRUCT<x INT64 NOT NULL, y STRUCT<z DATE>> NOT NULL
) DEFAULT COLLATE 'und:ci';
--- becomes
-- A schema of BigQuery in TiDB's SQL.

-- `b` is JSON, which accepts lists, maps and structs.
-- Left out: 1 collation.
CREATE TABLE `ds`.`c` (
  `a` LONGTEXT NOT NULL,
  `b` JSON NOT NULL
);

=== dates of a zone
CREATE TABLE d.dates (
  tokyo DATE DEFAULT CURRENT_DATE('Asia/Tokyo'),
  berlin DATETIME DEFAULT CURRENT_DATETIME('Europe/Berlin'),
  today DATE DEFAULT CURRENT_DATE(),
  day DATETIME DEFAULT CAST(CURRENT_DATETIME() AS DATE),
  begins DATETIME DEFAULT DATETIME '2020-01-01 10:00:00'
);
--- becomes
-- A schema of BigQuery in TiDB's SQL.

-- `tokyo` has no default in TiDB, instead of CURRENT_DATE('Asia/Tokyo').
-- `berlin` has no default in TiDB, instead of CURRENT_DATETIME('Europe/Berlin').
-- `day` has no default in TiDB, instead of CAST(CURRENT_DATETIME() AS DATE).
CREATE TABLE `d`.`dates` (
  `tokyo` DATE,
  `berlin` DATETIME(6),
  `today` DATE DEFAULT CURRENT_DATE,
  `day` DATETIME(6),
  `begins` DATETIME(6) DEFAULT '2020-01-01 10:00:00'
);

=== a statement without an end
CREATE TABLE d.a AS SELECT 1 AS x
CREATE OR REPLACE TABLE d.b (id INT64)
CREATE TEMP TABLE c (id INT64)
--- becomes
-- A schema of BigQuery in TiDB's SQL.
-- These tables are left out, because their columns have no types in the script: d.a.
-- Statements that make no table were skipped: 1 temporary table.

CREATE TABLE `d`.`b` (
  `id` BIGINT
);

=== a description that comes later
CREATE TABLE d.t (a INT64);
ALTER TABLE d.t ALTER COLUMN a SET OPTIONS (description = 'first');
--- becomes
-- A schema of BigQuery in TiDB's SQL.

CREATE TABLE `d`.`t` (
  `a` BIGINT COMMENT 'first'
);
