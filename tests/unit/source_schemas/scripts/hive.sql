=== what SHOW CREATE TABLE gives
CREATE EXTERNAL TABLE `web.page_views`(
  `view_time` int COMMENT 'seconds',
  `user_id` bigint,
  `page_url` string COMMENT 'it\'s long',
  `Props` map<string,array<string>>)
COMMENT 'What people look at'
PARTITIONED BY (
  `dt` string COMMENT 'day',
  `country` char(2))
CLUSTERED BY (
  user_id)
INTO 32 BUCKETS
ROW FORMAT SERDE
  'org.apache.hadoop.hive.ql.io.orc.OrcSerde'
WITH SERDEPROPERTIES (
  'field.delim'='\;')
STORED AS INPUTFORMAT
  'org.apache.hadoop.hive.ql.io.orc.OrcInputFormat'
OUTPUTFORMAT
  'org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat'
LOCATION
  'hdfs://nn/warehouse/web.db/page_views'
TBLPROPERTIES (
  'transient_lastDdlTime'='1700000000');
--- becomes
-- A schema of Hive in TiDB's SQL.

-- `props` is JSON, which accepts lists, maps and structs.
-- `country` keeps the spaces of CHAR as a VARCHAR; TiDB removes them from a CHAR.
-- Left out: partitioning.
CREATE TABLE `web`.`page_views` (
  `view_time` INT COMMENT 'seconds',
  `user_id` BIGINT,
  `page_url` LONGTEXT COMMENT 'it''s long',
  `props` JSON,
  `dt` LONGTEXT COMMENT 'day',
  `country` VARCHAR(2)
) COMMENT='What people look at';

=== an unknown type
create table every_type (
  a tinyint, b smallint, c int, d integer, e bigint, f float, g double, h double precision, i decimal, j decimal(20,4), k numeric(5),
  l string, m varchar(10), n char(3), o binary, p boolean, q date, r timestamp, s timestamp with local time zone,
  t array<int>, u map<string,int>, v struct<a:int,b:array<struct<c:string>>>, w uniontype<int,string>,
  x interval_type_none
);
--- is refused
UnsupportedTypeError: Column `x` has an unknown type: neither Hive nor the script has interval_type_none [test.every_type, x, line 5, column 3]

=== every type
create table every_type (
  a tinyint, b smallint, c int, d integer, e bigint, f float, g double, h double precision, i decimal, j decimal(20,4), k numeric(5),
  l string, m varchar(10), n char(3), o binary, p boolean, q date, r timestamp, s timestamp with local time zone,
  t array<int>, u map<string,int>, v struct<a:int,b:array<struct<c:string>>>, w uniontype<int,string>
);
--- becomes
-- A schema of Hive in TiDB's SQL.

-- `n` keeps the spaces of CHAR as a VARCHAR; TiDB removes them from a CHAR.
-- `r` has no more than six fraction digits in TiDB; values with more are refused.
-- `s` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038. Values with more than six fraction digits are refused.
-- `t`, `u`, `v`, `w` are JSON, which accepts lists, maps and structs.
CREATE TABLE `test`.`every_type` (
  `a` TINYINT,
  `b` SMALLINT,
  `c` INT,
  `d` INT,
  `e` BIGINT,
  `f` FLOAT,
  `g` DOUBLE,
  `h` DOUBLE,
  `i` DECIMAL(10,0),
  `j` DECIMAL(20,4),
  `k` DECIMAL(5,0),
  `l` LONGTEXT,
  `m` VARCHAR(10),
  `n` VARCHAR(3),
  `o` LONGBLOB,
  `p` TINYINT(1),
  `q` DATE,
  `r` DATETIME(6),
  `s` DATETIME(6),
  `t` JSON,
  `u` JSON,
  `v` JSON,
  `w` JSON
);

=== a text table with delimiters
create database if not exists tpch;
use tpch;
drop table if exists lineitem;
create external table lineitem
(L_ORDERKEY BIGINT,
 L_PARTKEY BIGINT,
 L_QUANTITY DOUBLE,
 L_SHIPDATE STRING,
 L_COMMENT STRING)
ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' STORED AS TEXTFILE
LOCATION '/data/tpch/lineitem';
--- becomes
-- A schema of Hive in TiDB's SQL.
-- Statements that make no table were skipped: 1 CREATE DATABASE.

CREATE TABLE `tpch`.`lineitem` (
  `l_orderkey` BIGINT,
  `l_partkey` BIGINT,
  `l_quantity` DOUBLE,
  `l_shipdate` LONGTEXT,
  `l_comment` LONGTEXT
);

=== constraints
create table if not exists customers (
  id bigint primary key disable novalidate rely,
  email string not null enable,
  age int check (age > 0) enable,
  code varchar(10) default 'x',
  unique (email) disable novalidate,
  constraint fk foreign key (code) references codes(code) disable novalidate
) stored as orc tblproperties ("transactional"="true");
alter table customers add constraint more unique (code, age) disable novalidate;
--- becomes
-- A schema of Hive in TiDB's SQL.
-- Keys are those of the script; Hive does not check that they are unique.

-- `email` is VARCHAR(768), because a key has a length: values of more than 768 characters are refused.
-- Left out: 1 CHECK constraint, 1 foreign key.
CREATE TABLE `test`.`customers` (
  `id` BIGINT NOT NULL,
  `email` VARCHAR(768) NOT NULL,
  `age` INT,
  `code` VARCHAR(10) DEFAULT 'x',
  PRIMARY KEY (`id`),
  UNIQUE KEY (`email`),
  UNIQUE KEY (`code`, `age`)
);

=== names
CREATE TABLE Sales.Orders (OrderID INT, `Total Price` DOUBLE, "offset" INT);
--- becomes
-- A schema of Hive in TiDB's SQL.

CREATE TABLE `sales`.`orders` (
  `orderid` INT,
  `total price` DOUBLE,
  `offset` INT
);

=== changes
create table t (a int, b string) partitioned by (p string);
alter table t add columns (c decimal(5,2) comment 'see', d date);
alter table t add partition (p='1');
alter table t set tblproperties ('x'='y');
alter table t rename to u;
--- becomes
-- A schema of Hive in TiDB's SQL.
-- Statements that make no table were skipped: 2 other ALTER TABLE.

-- Left out: partitioning.
CREATE TABLE `test`.`u` (
  `a` INT,
  `b` LONGTEXT,
  `c` DECIMAL(5,2) COMMENT 'see',
  `d` DATE,
  `p` LONGTEXT
);

=== statements around
set hive.exec.dynamic.partition=true;
add jar /x.jar;
create table copied stored as orc as select * from other;
create temporary table tmp (a int);
create view v as select 1;
create function f as 'a.B';
insert overwrite table t partition (dt='1') select 'it''s; no' from x;
load data inpath '/x' into table t;
create table like_it like base;
create table base (a int);
--- becomes
-- A schema of Hive in TiDB's SQL.
-- These tables are left out, because their columns have no types in the script: test.copied, test.like_it.
-- Statements that make no table were skipped: 1 ADD, 1 CREATE FUNCTION, 1 CREATE VIEW, 1 INSERT, 1 LOAD, 1 SET, 1 temporary table.

CREATE TABLE `test`.`base` (
  `a` INT
);

=== transactional
CREATE TRANSACTIONAL TABLE acid (id int, name string) CLUSTERED BY (id) SORTED BY (id ASC) INTO 4 BUCKETS STORED AS ORC;
CREATE TABLE nested (id int, addresses array<struct<street:string,geo:struct<lat:double,lon:double>>> COMMENT 'deep');
--- becomes
-- A schema of Hive in TiDB's SQL.

CREATE TABLE `test`.`acid` (
  `id` INT,
  `name` LONGTEXT
);

-- `addresses` is JSON, which accepts lists, maps and structs.
CREATE TABLE `test`.`nested` (
  `id` INT,
  `addresses` JSON COMMENT 'deep'
);

=== skewed and serde
CREATE TABLE skewed (k string, v string) SKEWED BY (k) ON ('a','b') STORED AS DIRECTORIES
ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.RegexSerDe' WITH SERDEPROPERTIES ("input.regex" = "([^ ]*) ([^;]*)");
--- becomes
-- A schema of Hive in TiDB's SQL.

CREATE TABLE `test`.`skewed` (
  `k` LONGTEXT,
  `v` LONGTEXT
);

=== an old log table
CREATE TABLE apachelog (
  host STRING,
  identity STRING,
  `user` STRING,
  time STRING,
  status STRING,
  size STRING)
STORED AS TEXTFILE;
--- becomes
-- A schema of Hive in TiDB's SQL.

CREATE TABLE `test`.`apachelog` (
  `host` LONGTEXT,
  `identity` LONGTEXT,
  `user` LONGTEXT,
  `time` LONGTEXT,
  `status` LONGTEXT,
  `size` LONGTEXT
);

=== columns that change
CREATE TABLE t (a INT, b INT);
ALTER TABLE t CHANGE a aa BIGINT;
ALTER TABLE t CHANGE COLUMN b type STRING COMMENT 'x' FIRST;
--- becomes
-- A schema of Hive in TiDB's SQL.

CREATE TABLE `test`.`t` (
  `type` LONGTEXT COMMENT 'x',
  `aa` BIGINT
);

=== strings that follow each other
CREATE TABLE t (a INT COMMENT 'it''s', b INT COMMENT 'a' 'b') COMMENT "x" 'y';
--- becomes
-- A schema of Hive in TiDB's SQL.

CREATE TABLE `test`.`t` (
  `a` INT COMMENT 'its',
  `b` INT COMMENT 'ab'
) COMMENT='xy';

=== columns that others replace
CREATE TABLE t (a INT, b STRING) PARTITIONED BY (day DATE);
ALTER TABLE t REPLACE COLUMNS (b BIGINT COMMENT 'x', c STRING);
ALTER TABLE t ADD IF NOT EXISTS PARTITION (day = '2024-01-01');
--- becomes
-- A schema of Hive in TiDB's SQL.
-- Statements that make no table were skipped: 1 other ALTER TABLE.

-- Left out: partitioning.
CREATE TABLE `test`.`t` (
  `b` BIGINT COMMENT 'x',
  `c` LONGTEXT,
  `day` DATE
);

=== columns of partitions stay the last ones
CREATE TABLE t (a INT) PARTITIONED BY (d DATE, e INT);
ALTER TABLE t ADD IF NOT EXISTS PARTITION (d = '2020-01-01', e = 1);
ALTER TABLE t ADD COLUMNS (b INT, c INT);
--- becomes
-- A schema of Hive in TiDB's SQL.
-- Statements that make no table were skipped: 1 other ALTER TABLE.

-- Left out: partitioning.
CREATE TABLE `test`.`t` (
  `a` INT,
  `b` INT,
  `c` INT,
  `d` DATE,
  `e` INT
);
