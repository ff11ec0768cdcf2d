=== oracle: a table with a comment and an index
CREATE TABLE "HR"."STAFF" ( "ID" NUMBER(10,0) NOT NULL ENABLE, "NAME" VARCHAR2(40 CHAR), HIRED DATE DEFAULT SYSDATE,
  PAY NUMBER, RATIO FLOAT, STORY CLOB, PHOTO BLOB, SEEN TIMESTAMP(9) WITH TIME ZONE, NOTHING VARCHAR2(3) DEFAULT '',
  CONSTRAINT "STAFF_PK" PRIMARY KEY ("ID") ENABLE)
/
COMMENT ON COLUMN HR.STAFF.PAY IS 'a month''s';
CREATE UNIQUE INDEX HR.STAFF_NAME ON HR.STAFF ("NAME");
--- becomes
-- A schema of Oracle in TiDB's SQL.
-- Statements that make no table were skipped: 1 CREATE INDEX.

-- `PAY` has any precision: DECIMAL(65,30) holds 35 digits before the point and 30 after it.
-- `RATIO` is DOUBLE: 15 digits are exact, where Oracle keeps 38.
-- `SEEN` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038. The offset that a value was written with is not kept. Values with more than six fraction digits are refused.
CREATE TABLE `HR`.`STAFF` (
  `ID` DECIMAL(10,0) NOT NULL,
  `NAME` VARCHAR(40),
  `HIRED` DATETIME DEFAULT CURRENT_TIMESTAMP,
  `PAY` DECIMAL(65,30) COMMENT 'a month''s',
  `RATIO` DOUBLE,
  `STORY` LONGTEXT,
  `PHOTO` LONGBLOB,
  `SEEN` DATETIME(6),
  `NOTHING` VARCHAR(3),
  PRIMARY KEY (`ID`)
);

=== tsql: a script of Management Studio
USE [shop]
GO
CREATE TABLE [dbo].[Orders](
	[Id] [int] IDENTITY(1,1) NOT NULL,
	[Title] [nvarchar](max) NULL,
	[Price] [money] NOT NULL DEFAULT ((0)),
	[Made] [datetime2](7) NULL DEFAULT (getdate()),
	[Key] [uniqueidentifier] NULL DEFAULT (newid()),
	[Small] [tinyint] NULL, [Flag] [bit] NULL, [Stamp] [timestamp] NOT NULL,
	[Double]  AS ([Price]*(2)),
 CONSTRAINT [PK_Orders] PRIMARY KEY CLUSTERED ([Id] ASC) WITH (PAD_INDEX = OFF) ON [PRIMARY]
) ON [PRIMARY]
GO
ALTER TABLE [dbo].[Orders]  WITH CHECK ADD  CONSTRAINT [FK] FOREIGN KEY([Id]) REFERENCES [dbo].[Other] ([Id])
GO
CREATE TABLE a (x float) CREATE TABLE b (y varchar)
--- becomes
-- A schema of SQL Server in TiDB's SQL.
-- Statements that make no table were skipped: 1 USE.

-- `Made` has no more than six fraction digits in TiDB; values with more are refused.
-- `Double` is left out, because ([Price] * (2)) has no equal in TiDB.
-- Left out: 1 foreign key.
CREATE TABLE `dbo`.`Orders` (
  `Id` INT NOT NULL AUTO_INCREMENT,
  `Title` LONGTEXT,
  `Price` DECIMAL(19,4) NOT NULL DEFAULT 0,
  `Made` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  `Key` CHAR(36) DEFAULT (UUID()),
  `Small` TINYINT UNSIGNED,
  `Flag` TINYINT(1),
  `Stamp` BINARY(8) NOT NULL,
  PRIMARY KEY (`Id`)
);

CREATE TABLE `test`.`a` (
  `x` DOUBLE
);

CREATE TABLE `test`.`b` (
  `y` VARCHAR(1)
);

=== snowflake: what GET_DDL gives
create or replace TABLE DB.SALES.ORDERS (
	ID NUMBER(38,0) NOT NULL autoincrement start 1 increment 1,
	"mixedCase" VARCHAR(16777216) COMMENT 'free text',
	DOC VARIANT,
	SEEN TIMESTAMP_TZ(9),
	N INT,
	primary key (ID)
)COMMENT='all orders';
--- becomes
-- A schema of Snowflake in TiDB's SQL.
-- Keys are those of the script; Snowflake does not check that they are unique.

-- `ID` counts up, so it is BIGINT instead of DECIMAL(38, 0).
-- `DOC` is JSON, which accepts lists, maps and structs.
-- `SEEN` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038. The offset that a value was written with is not kept. Values with more than six fraction digits are refused.
CREATE TABLE `SALES`.`ORDERS` (
  `ID` BIGINT NOT NULL AUTO_INCREMENT,
  `mixedCase` LONGTEXT COMMENT 'free text',
  `DOC` JSON,
  `SEEN` DATETIME(6),
  `N` DECIMAL(38,0),
  PRIMARY KEY (`ID`)
) COMMENT='all orders';

=== bigquery: a table with options
CREATE TABLE `project.shop.orders` (
  id INT64 NOT NULL OPTIONS(description='the key'),
  price NUMERIC(10, 2) DEFAULT 0,
  tags ARRAY<STRING>,
  made TIMESTAMP,
  PRIMARY KEY (id) NOT ENFORCED
) PARTITION BY DATE(made) OPTIONS(description='all orders');
--- becomes
-- A schema of BigQuery in TiDB's SQL.
-- Keys are those of the script; BigQuery does not check that they are unique.

-- `tags` is JSON, which accepts lists, maps and structs.
-- `made` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- Left out: partitioning.
CREATE TABLE `shop`.`orders` (
  `id` BIGINT NOT NULL COMMENT 'the key',
  `price` DECIMAL(10,2) DEFAULT 0,
  `tags` JSON,
  `made` DATETIME(6),
  PRIMARY KEY (`id`)
) COMMENT='all orders';

=== redshift: keys and defaults
CREATE TABLE public.Sales (
  SalesId INTEGER NOT NULL IDENTITY(1,1), Amount DECIMAL, Note VARCHAR, Seen TIMESTAMPTZ DEFAULT sysdate,
  PRIMARY KEY (SalesId)
) DISTSTYLE KEY DISTKEY (SalesId) SORTKEY (Seen);
--- becomes
-- A schema of Redshift in TiDB's SQL.
-- Keys are those of the script; Redshift does not check that they are unique.

-- `seen` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
CREATE TABLE `public`.`sales` (
  `salesid` INT NOT NULL AUTO_INCREMENT,
  `amount` DECIMAL(18,0),
  `note` VARCHAR(256),
  `seen` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (`salesid`)
);

=== spark: a notebook
-- COMMAND ----------
CREATE TABLE shop.orders (id BIGINT NOT NULL COMMENT 'the key', total DECIMAL(10,2), doc MAP<STRING, INT>, at TIMESTAMP)
USING DELTA COMMENT 'all orders' PARTITIONED BY (id)
-- COMMAND ----------
CREATE TABLE t (i INTERVAL DAY TO SECOND, s STRING)
--- becomes
-- A schema of Spark in TiDB's SQL.

-- `doc` is JSON, which accepts lists, maps and structs.
-- `at` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- Left out: partitioning.
CREATE TABLE `shop`.`orders` (
  `id` BIGINT NOT NULL COMMENT 'the key',
  `total` DECIMAL(10,2),
  `doc` JSON,
  `at` DATETIME(6)
) COMMENT='all orders';

-- `i` is TIME(6), which holds at most 838:59:59; longer values are refused.
CREATE TABLE `test`.`t` (
  `i` TIME(6),
  `s` LONGTEXT
);

=== hive: columns of partitions
CREATE EXTERNAL TABLE IF NOT EXISTS Logs (Line STRING COMMENT 'as it is', n TINYINT)
COMMENT 'lines' PARTITIONED BY (dt STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t' STORED AS TEXTFILE LOCATION '/x';
--- becomes
-- A schema of Hive in TiDB's SQL.

-- Left out: partitioning.
CREATE TABLE `test`.`logs` (
  `line` LONGTEXT COMMENT 'as it is',
  `n` TINYINT,
  `dt` LONGTEXT
) COMMENT='lines';

=== sqlite: a table with a rowid
CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL, made TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
--- becomes
-- A schema of SQLite in TiDB's SQL.

CREATE TABLE `test`.`notes` (
  `id` INT NOT NULL AUTO_INCREMENT,
  `body` LONGTEXT NOT NULL,
  `made` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (`id`)
);

=== duckdb: types of its own
CREATE TABLE t (id HUGEINT PRIMARY KEY, kind ENUM('a', 'b'), u UBIGINT, s STRUCT(a INT), made TIMESTAMP_MS, l INT[]);
--- becomes
-- A schema of DuckDB in TiDB's SQL.

-- `s`, `l` are JSON, which accepts lists, maps and structs.
CREATE TABLE `test`.`t` (
  `id` DECIMAL(39,0) NOT NULL,
  `kind` ENUM('a', 'b'),
  `u` BIGINT UNSIGNED,
  `s` JSON,
  `made` DATETIME(3),
  `l` JSON,
  PRIMARY KEY (`id`)
);
