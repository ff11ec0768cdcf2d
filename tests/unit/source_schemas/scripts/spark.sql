=== what SHOW CREATE TABLE gives for Delta
CREATE TABLE spark_catalog.shop.orders (
  id BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY (START WITH 1 INCREMENT BY 1) COMMENT 'The key',
  state STRING DEFAULT 'new',
  amount DECIMAL(10,2),
  tags ARRAY<STRING>,
  at TIMESTAMP,
  day DATE GENERATED ALWAYS AS (CAST(at AS DATE)),
  CONSTRAINT orders_pk PRIMARY KEY (id))
USING delta
PARTITIONED BY (day)
COMMENT 'It\'s one row per order'
TBLPROPERTIES (
  'delta.enableChangeDataFeed' = 'true',
  'delta.minReaderVersion' = '3')
;
--- becomes
-- A schema of Spark in TiDB's SQL.
-- Keys are those of the script; Spark does not check that they are unique.

-- `tags` is JSON, which accepts lists, maps and structs.
-- `at` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- `state` has no default in TiDB, instead of 'new'.
-- `day` is a plain column, because (CAST(at AS DATE)) has no equal in TiDB: give its values.
-- Left out: partitioning.
CREATE TABLE `shop`.`orders` (
  `id` BIGINT NOT NULL AUTO_INCREMENT COMMENT 'The key',
  `state` LONGTEXT,
  `amount` DECIMAL(10,2),
  `tags` JSON,
  `at` DATETIME(6),
  `day` DATE,
  PRIMARY KEY (`id`)
) COMMENT='It''s one row per order';

=== every type
CREATE TABLE every_type (
  a TINYINT, b BYTE, c SMALLINT, d SHORT, e INT, f BIGINT, g LONG, h FLOAT, i REAL, j DOUBLE, k DECIMAL, l DECIMAL(38,10),
  m NUMERIC(5,1), n STRING, o VARCHAR(20), p CHAR(3), q BINARY, r BOOLEAN, s DATE, t TIMESTAMP, u TIMESTAMP_NTZ,
  v TIMESTAMP_LTZ, w INTERVAL DAY TO SECOND, x ARRAY<INT>, y MAP<STRING, ARRAY<INT>>,
  z STRUCT<a: INT COMMENT 'in', b: STRUCT<c: STRING>>, aa VARIANT, ab VOID
) USING parquet;
--- becomes
-- A schema of Spark in TiDB's SQL.

-- `p` keeps the spaces of CHAR as a VARCHAR; TiDB removes them from a CHAR.
-- `t`, `v` are DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- `w` is TIME(6), which holds at most 838:59:59; longer values are refused.
-- `x`, `y`, `z` are JSON, which accepts lists, maps and structs.
-- `ab` has no type, only NULLs, so it is LONGTEXT.
CREATE TABLE `test`.`every_type` (
  `a` TINYINT,
  `b` TINYINT,
  `c` SMALLINT,
  `d` SMALLINT,
  `e` INT,
  `f` BIGINT,
  `g` BIGINT,
  `h` FLOAT,
  `i` FLOAT,
  `j` DOUBLE,
  `k` DECIMAL(10,0),
  `l` DECIMAL(38,10),
  `m` DECIMAL(5,1),
  `n` LONGTEXT,
  `o` VARCHAR(20),
  `p` VARCHAR(3),
  `q` LONGBLOB,
  `r` TINYINT(1),
  `s` DATE,
  `t` DATETIME(6),
  `u` DATETIME(6),
  `v` DATETIME(6),
  `w` TIME(6),
  `x` JSON,
  `y` JSON,
  `z` JSON,
  `aa` JSON,
  `ab` LONGTEXT
);

=== cells of a notebook
-- Databricks notebook source
-- MAGIC %md # Title; it's text
CREATE SCHEMA IF NOT EXISTS bronze
-- COMMAND ----------
USE bronze
-- COMMAND ----------
CREATE OR REPLACE TABLE raw (id INT, `order` STRING COMMENT "double quotes", Mixed STRING)
-- COMMAND ----------
CREATE TABLE silver.clean (id BIGINT) CLUSTER BY (id)
-- COMMAND ----------
SELECT * FROM raw
--- becomes
-- A schema of Spark in TiDB's SQL.
-- Statements that make no table were skipped: 1 CREATE SCHEMA, 1 SELECT.

CREATE TABLE `bronze`.`raw` (
  `id` INT,
  `order` LONGTEXT COMMENT 'double quotes',
  `Mixed` LONGTEXT
);

CREATE TABLE `silver`.`clean` (
  `id` BIGINT
);

=== Iceberg
CREATE TABLE lake.db.events (
  id BIGINT NOT NULL,
  kind VARCHAR(20),
  ts TIMESTAMP,
  payload MAP<STRING, STRING>)
USING iceberg
PARTITIONED BY (days(ts), bucket(16, id))
TBLPROPERTIES ('write.format.default' = 'parquet', 'format-version' = '2');
--- becomes
-- A schema of Spark in TiDB's SQL.

-- `ts` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- `payload` is JSON, which accepts lists, maps and structs.
-- Left out: partitioning.
CREATE TABLE `db`.`events` (
  `id` BIGINT NOT NULL,
  `kind` VARCHAR(20),
  `ts` DATETIME(6),
  `payload` JSON
);

=== partition columns with types
CREATE TABLE logs (line STRING, level STRING)
USING csv OPTIONS (path '/data/logs', header true, sep ';')
PARTITIONED BY (day DATE, hour INT);
--- becomes
-- A schema of Spark in TiDB's SQL.

-- Left out: partitioning.
CREATE TABLE `test`.`logs` (
  `line` LONGTEXT,
  `level` LONGTEXT,
  `day` DATE,
  `hour` INT
);

=== statements around
CREATE TEMPORARY VIEW v AS SELECT 1;
CREATE TABLE copied USING delta AS SELECT * FROM raw;
CREATE TABLE t (a INT);
CREATE TABLE like_t LIKE t;
CREATE TABLE from_files USING parquet LOCATION '/data';
INSERT INTO t VALUES (1);
OPTIMIZE t ZORDER BY (a);
MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE;
COMMENT ON TABLE t IS 'tees';
--- becomes
-- A schema of Spark in TiDB's SQL.
-- These tables are left out, because their columns have no types in the script: test.copied, test.from_files.
-- Statements that make no table were skipped: 1 CREATE VIEW, 1 INSERT, 1 MERGE, 1 OPTIMIZE.

CREATE TABLE `test`.`t` (
  `a` INT
) COMMENT='tees';

CREATE TABLE `test`.`like_t` (
  `a` INT
);

=== changes
CREATE TABLE t (id INT, a STRING, b INT);
ALTER TABLE t ADD COLUMNS (c STRING COMMENT 'see' AFTER a, d DOUBLE);
ALTER TABLE t ADD COLUMN e DATE;
ALTER TABLE t RENAME COLUMN a TO name;
ALTER TABLE t ALTER COLUMN b TYPE BIGINT;
ALTER TABLE t ALTER COLUMN id SET NOT NULL;
ALTER TABLE t DROP COLUMN d;
ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (id);
ALTER TABLE t ADD CONSTRAINT positive CHECK (b > 0);
ALTER TABLE t SET TBLPROPERTIES ('a' = 'b');
--- becomes
-- A schema of Spark in TiDB's SQL.
-- Keys are those of the script; Spark does not check that they are unique.
-- Statements that make no table were skipped: 1 other ALTER TABLE.

-- Left out: 1 CHECK constraint.
CREATE TABLE `test`.`t` (
  `id` INT NOT NULL,
  `name` LONGTEXT,
  `c` LONGTEXT COMMENT 'see',
  `b` BIGINT,
  `e` DATE,
  PRIMARY KEY (`id`)
);

=== keys of text
CREATE TABLE dims (code STRING NOT NULL PRIMARY KEY, parent STRING REFERENCES dims (code), geo STRING COLLATE UTF8_LCASE);
--- becomes
-- A schema of Spark in TiDB's SQL.
-- Keys are those of the script; Spark does not check that they are unique.

-- `code` is VARCHAR(768), because a key has a length: values of more than 768 characters are refused.
-- Left out: 1 collation, 1 foreign key.
CREATE TABLE `test`.`dims` (
  `code` VARCHAR(768) NOT NULL,
  `parent` LONGTEXT,
  `geo` LONGTEXT,
  PRIMARY KEY (`code`)
);

=== defaults
CREATE TABLE d (
  a TIMESTAMP DEFAULT CURRENT_TIMESTAMP(),
  b DATE DEFAULT current_date(),
  c INT DEFAULT 5,
  e VARCHAR(5) DEFAULT "it's",
  f BOOLEAN DEFAULT TRUE,
  g BIGINT DEFAULT 1L,
  h TIMESTAMP_NTZ DEFAULT now(),
  i INT DEFAULT abs(-1)
);
--- becomes
-- A schema of Spark in TiDB's SQL.

-- `a` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- `i` has no default in TiDB, instead of abs(-1).
CREATE TABLE `test`.`d` (
  `a` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  `b` DATE DEFAULT CURRENT_DATE,
  `c` INT DEFAULT 5,
  `e` VARCHAR(5) DEFAULT 'it''s',
  `f` TINYINT(1) DEFAULT 1,
  `g` BIGINT DEFAULT 1,
  `h` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  `i` INT
);

=== a pipeline
CREATE OR REFRESH STREAMING TABLE silver_orders (
  id BIGINT,
  amount DECIMAL(8,2),
  CONSTRAINT valid EXPECT (amount > 0) ON VIOLATION DROP ROW
) AS SELECT * FROM STREAM(bronze_orders);
CREATE TABLE plain (id INT);
--- becomes
-- A schema of Spark in TiDB's SQL.

-- Left out: 1 expectation.
CREATE TABLE `test`.`silver_orders` (
  `id` BIGINT,
  `amount` DECIMAL(8,2)
);

CREATE TABLE `test`.`plain` (
  `id` INT
);

=== columns that change
CREATE TABLE t (a INT, b INT, c INT, d INT, e INT);
ALTER TABLE t CHANGE COLUMN a a BIGINT;
ALTER TABLE t CHANGE b bb STRING COMMENT 'n' AFTER c;
ALTER TABLE t CHANGE COLUMN c COMMENT 'same as ALTER';
ALTER TABLE t ALTER COLUMN d FIRST, e SET NOT NULL;
ALTER TABLE t ADD COLUMN f INT, g STRING;
ALTER TABLE t DROP COLUMNS (f);
--- becomes
-- A schema of Spark in TiDB's SQL.

CREATE TABLE `test`.`t` (
  `d` INT,
  `a` BIGINT,
  `c` INT COMMENT 'same as ALTER',
  `bb` LONGTEXT COMMENT 'n',
  `e` INT NOT NULL,
  `g` LONGTEXT
);

=== strings that follow each other
CREATE TABLE t (a INT COMMENT 'it''s', b INT COMMENT 'a' 'b') COMMENT "x" 'y';
--- becomes
-- A schema of Spark in TiDB's SQL.

CREATE TABLE `test`.`t` (
  `a` INT COMMENT 'it''s',
  `b` INT COMMENT 'ab'
) COMMENT='xy';

=== a table whose name is an expression
CREATE TABLE IDENTIFIER('shop.orders') (id INT);
CREATE TABLE IDENTIFIER(:shop || '.items') (id INT);
--- is refused
DdlError: expected a name in quotes, found : [None, None, line 2, column 25]

=== a table and a schema named by texts
USE SCHEMA IDENTIFIER('shop');
CREATE TABLE orders (id INT);
COMMENT ON TABLE IDENTIFIER('shop.orders') IS 'sold';
--- becomes
-- A schema of Spark in TiDB's SQL.

CREATE TABLE `shop`.`orders` (
  `id` INT
) COMMENT='sold';

=== all columns of a table of the script
CREATE TABLE raw (id INT NOT NULL COMMENT 'key', v DECIMAL(5, 2) DEFAULT 1.0) USING csv OPTIONS (header 'false');
CREATE TABLE sold USING parquet AS (SELECT * FROM raw);
CREATE TABLE first_ones AS SELECT * FROM default.raw WHERE id < 10 LIMIT 5;
CREATE TABLE joined AS SELECT * FROM raw JOIN sold USING (id);
CREATE TABLE renamed AS SELECT * FROM raw r, sold;
CREATE TABLE unknown AS SELECT * FROM elsewhere;
DROP TABLE raw;
--- becomes
-- A schema of Spark in TiDB's SQL.
-- These tables are left out, because their columns have no types in the script: test.joined, test.renamed, test.unknown.

CREATE TABLE `test`.`sold` (
  `id` INT COMMENT 'key',
  `v` DECIMAL(5,2)
);

CREATE TABLE `test`.`first_ones` (
  `id` INT COMMENT 'key',
  `v` DECIMAL(5,2)
);
