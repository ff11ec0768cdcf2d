=== what GET_DDL gives
create or replace TABLE ORDERS (
	ORDER_ID NUMBER(38,0) NOT NULL AUTOINCREMENT START 1 INCREMENT 1 NOORDER COMMENT 'Counts up',
	CUSTOMER VARCHAR(16777216),
	STATE VARCHAR(10) NOT NULL DEFAULT 'new' COLLATE 'en-ci',
	AMOUNT NUMBER(12,2) DEFAULT 0.00,
	PAID BOOLEAN DEFAULT FALSE,
	LOADED_AT TIMESTAMP_NTZ(9) DEFAULT CURRENT_TIMESTAMP(),
	primary key (ORDER_ID)
)COMMENT='It\'s one row per order'
;
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- Keys are those of the script; Snowflake does not check that they are unique.

-- `ORDER_ID` counts up, so it is BIGINT instead of NUMBER(38,0).
-- `LOADED_AT` has no more than six fraction digits in TiDB; values with more are refused.
-- Left out: 1 collation.
CREATE TABLE `test`.`ORDERS` (
  `ORDER_ID` BIGINT NOT NULL AUTO_INCREMENT COMMENT 'Counts up',
  `CUSTOMER` LONGTEXT,
  `STATE` VARCHAR(10) NOT NULL DEFAULT 'new',
  `AMOUNT` DECIMAL(12,2) DEFAULT 0.00,
  `PAID` TINYINT(1) DEFAULT 0,
  `LOADED_AT` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (`ORDER_ID`)
) COMMENT='It''s one row per order';

=== every type
CREATE TABLE every_type (
  a NUMBER, b NUMBER(10,2), c DECIMAL(5), d INT, e INTEGER, f BIGINT, g SMALLINT, h TINYINT, i BYTEINT, j FLOAT, k DOUBLE,
  l DOUBLE PRECISION, m REAL, n DECFLOAT, o VARCHAR, p VARCHAR(20), q STRING, r TEXT, s CHAR, t CHAR(3), u BINARY, v VARBINARY(20),
  w BOOLEAN, x DATE, y DATETIME, z TIME, aa TIME(3), ab TIMESTAMP, ac TIMESTAMP_NTZ(3), ad TIMESTAMP_LTZ, ae TIMESTAMP_TZ(6),
  af VARIANT, ag OBJECT, ah ARRAY, ai ARRAY(NUMBER), aj MAP(VARCHAR, NUMBER), ak OBJECT(x NUMBER, y VARCHAR), al GEOGRAPHY,
  am GEOMETRY, an VECTOR(FLOAT, 256), ao TIMESTAMP WITH LOCAL TIME ZONE, ap UUID
);
--- becomes
-- A schema of Snowflake in TiDB's SQL.

-- `N` has any precision: DECIMAL(65,30) holds 35 digits before the point and 30 after it.
-- `Y`, `Z`, `AB` have no more than six fraction digits in TiDB; values with more are refused.
-- `AD`, `AO` are DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038. Values with more than six fraction digits are refused.
-- `AE` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038. The offset that a value was written with is not kept.
-- `AF`, `AG`, `AH`, `AI`, `AJ`, `AK` are JSON, which accepts lists, maps and structs.
-- `AL`, `AM` are text, as the system writes its values.
CREATE TABLE `test`.`EVERY_TYPE` (
  `A` DECIMAL(38,0),
  `B` DECIMAL(10,2),
  `C` DECIMAL(5,0),
  `D` DECIMAL(38,0),
  `E` DECIMAL(38,0),
  `F` DECIMAL(38,0),
  `G` DECIMAL(38,0),
  `H` DECIMAL(38,0),
  `I` DECIMAL(38,0),
  `J` DOUBLE,
  `K` DOUBLE,
  `L` DOUBLE,
  `M` DOUBLE,
  `N` DECIMAL(65,30),
  `O` LONGTEXT,
  `P` VARCHAR(20),
  `Q` LONGTEXT,
  `R` LONGTEXT,
  `S` VARCHAR(1),
  `T` VARCHAR(3),
  `U` LONGBLOB,
  `V` VARBINARY(20),
  `W` TINYINT(1),
  `X` DATE,
  `Y` DATETIME(6),
  `Z` TIME(6),
  `AA` TIME(3),
  `AB` DATETIME(6),
  `AC` DATETIME(3),
  `AD` DATETIME(6),
  `AE` DATETIME(6),
  `AF` JSON,
  `AG` JSON,
  `AH` JSON,
  `AI` JSON,
  `AJ` JSON,
  `AK` JSON,
  `AL` LONGTEXT,
  `AM` LONGTEXT,
  `AN` VECTOR(256),
  `AO` DATETIME(6),
  `AP` CHAR(36)
);

=== names and schemas
USE DATABASE demo;
USE SCHEMA raw;
CREATE TABLE trips (Id INT, "mixedCase" STRING, "a ""b""" INT);
CREATE SCHEMA IF NOT EXISTS silver;
CREATE TRANSIENT TABLE trips (id INT);
CREATE TABLE demo.gold.trips (id INT);
CREATE TABLE IDENTIFIER('demo.gold.names') (n STRING);
USE demo.other;
CREATE TABLE t (a INT);
--- becomes
-- A schema of Snowflake in TiDB's SQL.

CREATE TABLE `RAW`.`TRIPS` (
  `ID` DECIMAL(38,0),
  `mixedCase` LONGTEXT,
  `a "b"` DECIMAL(38,0)
);

CREATE TABLE `SILVER`.`TRIPS` (
  `ID` DECIMAL(38,0)
);

CREATE TABLE `GOLD`.`TRIPS` (
  `ID` DECIMAL(38,0)
);

CREATE TABLE `GOLD`.`NAMES` (
  `N` LONGTEXT
);

CREATE TABLE `OTHER`.`T` (
  `A` DECIMAL(38,0)
);

=== keys and policies
CREATE TABLE customers (
  id INT IDENTITY(1,1) CONSTRAINT pk PRIMARY KEY RELY,
  email STRING UNIQUE NOT ENFORCED WITH MASKING POLICY hide_email USING (email, role),
  region VARCHAR(3) REFERENCES regions (code) NOT NULL WITH TAG (cost = 'low'),
  CONSTRAINT uq UNIQUE (region, email),
  FOREIGN KEY (region) REFERENCES regions (code)
) CLUSTER BY (region) DATA_RETENTION_TIME_IN_DAYS = 1 CHANGE_TRACKING = TRUE;
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- Keys are those of the script; Snowflake does not check that they are unique.

-- `ID` counts up, so it is BIGINT instead of INT.
-- `EMAIL` is VARCHAR(765), because a key has a length: values of more than 765 characters are refused.
-- Left out: 2 foreign keys.
CREATE TABLE `test`.`CUSTOMERS` (
  `ID` BIGINT NOT NULL AUTO_INCREMENT,
  `EMAIL` VARCHAR(765),
  `REGION` VARCHAR(3) NOT NULL,
  PRIMARY KEY (`ID`),
  UNIQUE KEY (`EMAIL`),
  UNIQUE KEY (`REGION`, `EMAIL`)
);

=== defaults and computed columns
CREATE OR REPLACE TABLE d (
  a NUMBER DEFAULT seq1.NEXTVAL,
  b TIMESTAMP_LTZ DEFAULT CURRENT_TIMESTAMP,
  c DATE DEFAULT CURRENT_DATE(),
  e VARCHAR(36) DEFAULT UUID_STRING(),
  f TIMESTAMP_NTZ DEFAULT SYSDATE(),
  g NUMBER(10,2), h NUMBER(5,0),
  i NUMBER(16,2) AS (g * h) COMMENT 'price',
  j VARCHAR(10) AS (to_char(g)),
  k NUMBER DEFAULT 1 + 1
);
--- becomes
-- A schema of Snowflake in TiDB's SQL.

-- `A` counts up, so it is BIGINT instead of NUMBER.
-- `B` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038. Values with more than six fraction digits are refused.
-- `F` has no more than six fraction digits in TiDB; values with more are refused.
-- `A` is not AUTO_INCREMENT, because no key begins with it.
-- `F` has no default in TiDB, instead of SYSDATE().
-- `J` is a plain column, because (to_char(g)) has no equal in TiDB: give its values.
-- `K` has no default in TiDB, instead of 1 + 1.
CREATE TABLE `test`.`D` (
  `A` BIGINT,
  `B` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  `C` DATE DEFAULT CURRENT_DATE,
  `E` VARCHAR(36) DEFAULT (UUID()),
  `F` DATETIME(6),
  `G` DECIMAL(10,2),
  `H` DECIMAL(5,0),
  `I` DECIMAL(16,2) GENERATED ALWAYS AS (`G` * `H`) VIRTUAL COMMENT 'price',
  `J` VARCHAR(10),
  `K` DECIMAL(38,0)
);

=== an external table
CREATE EXTERNAL TABLE ext (
  day DATE AS (TO_DATE(SPLIT_PART(METADATA$FILENAME, '/', 2))),
  line VARCHAR AS (value:c1::varchar)
) PARTITION BY (day) LOCATION = @stage/raw/ FILE_FORMAT = (TYPE = CSV);
--- becomes
-- A schema of Snowflake in TiDB's SQL.

-- `DAY` is a plain column, because (TO_DATE(SPLIT_PART(METADATA$FILENAME, '/', 2))) has no equal in TiDB: give its values.
-- `LINE` is a plain column, because (value:c1::varchar) has no equal in TiDB: give its values.
-- Left out: partitioning.
CREATE TABLE `test`.`EXT` (
  `DAY` DATE,
  `LINE` LONGTEXT
);

=== statements around
CREATE WAREHOUSE w WITH WAREHOUSE_SIZE = 'XSMALL'; // a comment; with a semicolon
CREATE STAGE s URL = 's3://bucket' FILE_FORMAT = (TYPE = CSV FIELD_DELIMITER = ';');
CREATE PROCEDURE p() RETURNS STRING LANGUAGE JAVASCRIPT AS $$ var x = "CREATE TABLE no (a int);"; return x; $$;
CREATE TABLE t (a INT) -- the last one; really
;
CREATE TEMPORARY TABLE tmp (a INT);
CREATE DYNAMIC TABLE dyn TARGET_LAG = '1 minute' WAREHOUSE = w AS SELECT a FROM t;
CREATE TABLE t_clone CLONE t;
CREATE TABLE like_t LIKE t;
CREATE TABLE from_elsewhere CLONE other.t;
COPY INTO t FROM @s;
INSERT INTO t SELECT 1;
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- These tables are left out, because their columns have no types in the script: test.FROM_ELSEWHERE.
-- Statements that make no table were skipped: 1 COPY, 1 CREATE PROCEDURE, 1 CREATE STAGE, 1 CREATE WAREHOUSE, 1 INSERT, 1 dynamic table, 1 temporary table.

CREATE TABLE `test`.`T` (
  `A` DECIMAL(38,0)
);

CREATE TABLE `test`.`T_CLONE` (
  `A` DECIMAL(38,0)
);

CREATE TABLE `test`.`LIKE_T` (
  `A` DECIMAL(38,0)
);

=== comments and changes
CREATE TABLE IF NOT EXISTS notes (id INT, body STRING COMMENT 'one');
CREATE TABLE IF NOT EXISTS notes (nothing INT);
COMMENT ON TABLE notes IS 'Notes\nof people';
COMMENT ON COLUMN notes.body IS $$it's the text$$;
ALTER TABLE notes ADD COLUMN at TIMESTAMP_TZ, by VARCHAR(20) NOT NULL;
ALTER TABLE notes ALTER COLUMN body SET DATA TYPE VARCHAR(500);
ALTER TABLE notes RENAME COLUMN id TO note_id;
ALTER TABLE notes ADD PRIMARY KEY (note_id);
ALTER TABLE notes CLUSTER BY (at);
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- Keys are those of the script; Snowflake does not check that they are unique.
-- Statements that make no table were skipped: 1 other ALTER TABLE.

-- `AT` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038. The offset that a value was written with is not kept. Values with more than six fraction digits are refused.
CREATE TABLE `test`.`NOTES` (
  `NOTE_ID` DECIMAL(38,0) NOT NULL,
  `BODY` VARCHAR(500) COMMENT 'it''s the text',
  `AT` DATETIME(6),
  `BY` VARCHAR(20) NOT NULL,
  PRIMARY KEY (`NOTE_ID`)
) COMMENT='Notes
of people';

=== a replaced table
CREATE TABLE r (a INT);
CREATE OR REPLACE TABLE r (b STRING NOT NULL);
DROP TABLE IF EXISTS nothing;
--- becomes
-- A schema of Snowflake in TiDB's SQL.

CREATE TABLE `test`.`R` (
  `B` LONGTEXT NOT NULL
);

=== a star schema of a benchmark
create table LINEITEM (
  L_ORDERKEY integer not null, L_PARTKEY integer not null, L_LINENUMBER integer not null,
  L_QUANTITY decimal(15,2) not null, L_RETURNFLAG char(1) not null, L_SHIPDATE date not null, L_COMMENT varchar(44) not null,
  primary key (L_ORDERKEY, L_LINENUMBER)
);
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- Keys are those of the script; Snowflake does not check that they are unique.

CREATE TABLE `test`.`LINEITEM` (
  `L_ORDERKEY` DECIMAL(38,0) NOT NULL,
  `L_PARTKEY` DECIMAL(38,0) NOT NULL,
  `L_LINENUMBER` DECIMAL(38,0) NOT NULL,
  `L_QUANTITY` DECIMAL(15,2) NOT NULL,
  `L_RETURNFLAG` VARCHAR(1) NOT NULL,
  `L_SHIPDATE` DATE NOT NULL,
  `L_COMMENT` VARCHAR(44) NOT NULL,
  PRIMARY KEY (`L_ORDERKEY`, `L_LINENUMBER`)
);

=== several columns of one ALTER TABLE
CREATE TABLE t (a NUMBER, b NUMBER DEFAULT 1, c NUMBER NOT NULL, d VARCHAR(5) NOT NULL, e VARCHAR(5), f NUMBER, g NUMBER);
ALTER TABLE t ALTER c DROP NOT NULL, COLUMN a SET NOT NULL;
ALTER TABLE t MODIFY b DROP DEFAULT, f SET DEFAULT 5;
ALTER TABLE t MODIFY COLUMN e TYPE VARCHAR(10), COLUMN a COMMENT 'x';
ALTER TABLE t MODIFY d VARCHAR(20);
ALTER TABLE t MODIFY (c UNSET COMMENT, COLUMN e SET DATA TYPE VARCHAR(30));
ALTER TABLE t DROP COLUMN f, g;
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- Statements that make no table were skipped: 1 other ALTER TABLE.

CREATE TABLE `test`.`T` (
  `A` DECIMAL(38,0) NOT NULL COMMENT 'x',
  `B` DECIMAL(38,0),
  `C` DECIMAL(38,0),
  `D` VARCHAR(20) NOT NULL,
  `E` VARCHAR(30)
);

=== a hybrid table
CREATE HYBRID TABLE db..t (id INT PRIMARY KEY, a VARCHAR(9), index VARCHAR(3), INDEX by_a (a) INCLUDE (index));
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- Keys are those of the script; Snowflake does not check that they are unique.

CREATE TABLE `test`.`T` (
  `ID` DECIMAL(38,0) NOT NULL,
  `A` VARCHAR(9),
  `INDEX` VARCHAR(3),
  PRIMARY KEY (`ID`)
);

=== products that Snowflake rounds
CREATE TABLE t (a NUMBER(20,8), b NUMBER(20,4), c NUMBER(30,16) AS (a * a), d NUMBER(30,12) AS (a * b));
--- becomes
-- A schema of Snowflake in TiDB's SQL.

-- `C` is a plain column, because (a * a) has no equal in TiDB: give its values.
CREATE TABLE `test`.`T` (
  `A` DECIMAL(20,8),
  `B` DECIMAL(20,4),
  `C` DECIMAL(30,16),
  `D` DECIMAL(30,12) GENERATED ALWAYS AS (`A` * `B`) VIRTUAL
);

=== what ALTER TABLE adds beside columns
CREATE TABLE t (a VARCHAR(9));
ALTER TABLE t ADD SEARCH OPTIMIZATION ON EQUALITY(a), SUBSTRING(a);
ALTER TABLE t ADD COLUMN IF NOT EXISTS partition INT, search INT;
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- Statements that make no table were skipped: 2 other ALTER TABLE.

CREATE TABLE `test`.`T` (
  `A` VARCHAR(9),
  `PARTITION` DECIMAL(38,0),
  `SEARCH` DECIMAL(38,0)
);

=== an interactive table
CREATE OR REPLACE INTERACTIVE TABLE IF NOT EXISTS t (id INT NOT NULL, v VARIANT) CLUSTER BY (id);
--- becomes
-- A schema of Snowflake in TiDB's SQL.

-- `V` is JSON, which accepts lists, maps and structs.
CREATE TABLE `test`.`T` (
  `ID` DECIMAL(38,0) NOT NULL,
  `V` JSON
);

=== a placeholder before a table
{{create_stage('RAW')}}
CREATE OR REPLACE TRANSIENT TABLE trips (id INTEGER);
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- Statements that make no table were skipped: 1 other.

CREATE TABLE `test`.`TRIPS` (
  `ID` DECIMAL(38,0)
);

=== names that are texts
USE DATABASE IDENTIFIER($database);
USE SCHEMA IDENTIFIER('d.shop');
CREATE TABLE IDENTIFIER('d.shop."Orders"') (id INT);
ALTER TABLE IF EXISTS IDENTIFIER('"Orders"') ADD COLUMN note VARCHAR;
CREATE TABLE items (id INT);
DROP TABLE IDENTIFIER('items');
CREATE TABLE items (id INT, n INT);
CREATE TABLE identifier (id INT);
--- becomes
-- A schema of Snowflake in TiDB's SQL.

CREATE TABLE `SHOP`.`Orders` (
  `ID` DECIMAL(38,0),
  `NOTE` LONGTEXT
);

CREATE TABLE `SHOP`.`ITEMS` (
  `ID` DECIMAL(38,0),
  `N` DECIMAL(38,0)
);

CREATE TABLE `SHOP`.`IDENTIFIER` (
  `ID` DECIMAL(38,0)
);

=== a name that is a variable
CREATE TABLE IDENTIFIER($name) (id INT);
--- is refused
DdlError: expected a name in quotes, found $ [None, None, line 1, column 25]

=== a table that is created or altered
CREATE TABLE t (a INT);
CREATE OR ALTER TABLE t (a INT, b INT);
--- becomes
-- A schema of Snowflake in TiDB's SQL.

CREATE TABLE `test`.`T` (
  `A` DECIMAL(38,0),
  `B` DECIMAL(38,0)
);

=== a table that a query replaces
CREATE TABLE t (a INT);
CREATE TABLE u (a INT);
CREATE OR REPLACE TABLE t AS SELECT a, a + 1 AS b FROM u;
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- These tables are left out, because their columns have no types in the script: test.T.

CREATE TABLE `test`.`U` (
  `A` DECIMAL(38,0)
);
