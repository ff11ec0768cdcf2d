=== an export of SQL Developer
--------------------------------------------------------
--  DDL for Table STAFF
--------------------------------------------------------

  CREATE TABLE "PEOPLE"."STAFF"
   (	"STAFF_ID" NUMBER(6,0),
	"FIRST_NAME" VARCHAR2(20 BYTE) COLLATE "USING_NLS_COMP",
	"LAST_NAME" VARCHAR2(25 CHAR) CONSTRAINT "STAFF_LAST_NN" NOT NULL ENABLE,
	"HIRED" DATE DEFAULT SYSDATE,
	"SALARY" NUMBER(8,2) DEFAULT 0,
	"SHARE" NUMBER(2,2)
   ) SEGMENT CREATION IMMEDIATE
  PCTFREE 10 PCTUSED 40 INITRANS 1 MAXTRANS 255 NOCOMPRESS LOGGING
  STORAGE(INITIAL 65536 NEXT 1048576 MINEXTENTS 1 MAXEXTENTS 2147483645
  PCTINCREASE 0 FREELISTS 1 FREELIST GROUPS 1 BUFFER_POOL DEFAULT)
  TABLESPACE "USERS" ;

   COMMENT ON COLUMN "PEOPLE"."STAFF"."STAFF_ID" IS 'The key of the table.';
   COMMENT ON TABLE "PEOPLE"."STAFF"  IS 'Everybody''s row';
--  DDL for Index STAFF_PK
  CREATE UNIQUE INDEX "PEOPLE"."STAFF_PK" ON "PEOPLE"."STAFF" ("STAFF_ID")
  PCTFREE 10 INITRANS 2 MAXTRANS 255 TABLESPACE "USERS" ;
--  Constraints for Table STAFF
  ALTER TABLE "PEOPLE"."STAFF" ADD CONSTRAINT "STAFF_PK" PRIMARY KEY ("STAFF_ID")
  USING INDEX PCTFREE 10 INITRANS 2 MAXTRANS 255
  TABLESPACE "USERS"  ENABLE;
  ALTER TABLE "PEOPLE"."STAFF" MODIFY ("HIRED" NOT NULL ENABLE);
  ALTER TABLE "PEOPLE"."STAFF" ADD CONSTRAINT "STAFF_SALARY" CHECK (salary > 0) ENABLE;
  ALTER TABLE "PEOPLE"."STAFF" ADD CONSTRAINT "STAFF_FK" FOREIGN KEY ("STAFF_ID")
	  REFERENCES "PEOPLE"."JOBS" ("JOB_ID") ON DELETE CASCADE ENABLE;
/
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- Left out: 1 CHECK constraint, 1 collation, 1 foreign key.
CREATE TABLE `PEOPLE`.`STAFF` (
  `STAFF_ID` DECIMAL(6,0) NOT NULL COMMENT 'The key of the table.',
  `FIRST_NAME` VARCHAR(20),
  `LAST_NAME` VARCHAR(25) NOT NULL,
  `HIRED` DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  `SALARY` DECIMAL(8,2) DEFAULT 0,
  `SHARE` DECIMAL(2,2),
  PRIMARY KEY (`STAFF_ID`)
) COMMENT='Everybody''s row';

=== a script of SQL*Plus
rem Nobody's data; don't run
SET ECHO ON
SPOOL create.log
PROMPT It's only a prompt; CREATE TABLE no (a int);
CREATE TABLE regions
    ( region_id      NUMBER CONSTRAINT region_id_nn NOT NULL
    , region_name    VARCHAR2(25)
    );
CREATE UNIQUE INDEX reg_id_pk ON regions (region_id);
CREATE UNIQUE INDEX reg_one ON regions (CASE WHEN region_id > 9 THEN region_name END);
ALTER TABLE regions
ADD ( CONSTRAINT reg_id_pk PRIMARY KEY (region_id)
    , CONSTRAINT reg_name_uk UNIQUE (region_name) );
BEGIN
  EXECUTE IMMEDIATE 'CREATE TABLE no (a int)';
END;
/
CREATE OR REPLACE TRIGGER secure_regions
  BEFORE INSERT ON regions
BEGIN
  DELETE FROM regions; CREATE TABLE neither (a int);
END secure_regions;
/
COMMIT;
EXIT
--- becomes
-- A schema of Oracle in TiDB's SQL.
-- Statements that make no table were skipped: 1 BEGIN, 1 COMMIT, 1 CREATE TRIGGER.

-- `REGION_ID` has any precision: DECIMAL(65,30) holds 35 digits before the point and 30 after it.
-- Left out: 1 unique index over an expression.
CREATE TABLE `test`.`REGIONS` (
  `REGION_ID` DECIMAL(65,30) NOT NULL,
  `REGION_NAME` VARCHAR(25),
  PRIMARY KEY (`REGION_ID`),
  UNIQUE KEY (`REGION_NAME`)
);

=== every type
CREATE TABLE every_type (
  a NUMBER, b NUMBER(*), c NUMBER(*,0), d NUMBER(9), e NUMBER(38,10), f NUMBER(5,-2), g NUMBER(3,5), h INTEGER,
  i SMALLINT, j FLOAT, k FLOAT(126), l BINARY_FLOAT, m BINARY_DOUBLE, n REAL, o DEC(7,1),
  p VARCHAR2(4000), q VARCHAR2(32767 CHAR), r NVARCHAR2(50), s CHAR, t CHAR(3 BYTE), u NCHAR(4), v LONG, w CLOB, x NCLOB,
  y BLOB, z RAW(16), aa LONG RAW, ab DATE, ac TIMESTAMP, ad TIMESTAMP (0), ae TIMESTAMP(9),
  af TIMESTAMP (3) WITH TIME ZONE, ag TIMESTAMP WITH LOCAL TIME ZONE, ah INTERVAL YEAR (2) TO MONTH,
  ai INTERVAL DAY (2) TO SECOND (6), aj ROWID, ak UROWID(200), al XMLTYPE, am "SYS"."XMLTYPE", an MDSYS.SDO_GEOMETRY,
  ao JSON, ap BOOLEAN, aq VECTOR(8, FLOAT32), ar CHAR VARYING(12)
);
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `A`, `B` have any precision: DECIMAL(65,30) holds 35 digits before the point and 30 after it.
-- `J`, `K`, `N` are DOUBLE: 15 digits are exact, where Oracle keeps 38.
-- `S`, `T`, `U` keep the spaces of CHAR as a VARCHAR; TiDB removes them from a CHAR.
-- `AE` has no more than six fraction digits in TiDB; values with more are refused.
-- `AF` is DATETIME(3): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(3) would hold only the years 1970 to 2038. The offset that a value was written with is not kept.
-- `AG` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038.
-- `AH`, `AI`, `AJ`, `AK`, `AL`, `AM`, `AN` are text, as the system writes its values.
CREATE TABLE `test`.`EVERY_TYPE` (
  `A` DECIMAL(65,30),
  `B` DECIMAL(65,30),
  `C` DECIMAL(38,0),
  `D` DECIMAL(9,0),
  `E` DECIMAL(38,10),
  `F` DECIMAL(7,0),
  `G` DECIMAL(5,5),
  `H` DECIMAL(38,0),
  `I` DECIMAL(38,0),
  `J` DOUBLE,
  `K` DOUBLE,
  `L` FLOAT,
  `M` DOUBLE,
  `N` DOUBLE,
  `O` DECIMAL(7,1),
  `P` VARCHAR(4000),
  `Q` LONGTEXT,
  `R` VARCHAR(50),
  `S` VARCHAR(1),
  `T` VARCHAR(3),
  `U` VARCHAR(4),
  `V` LONGTEXT,
  `W` LONGTEXT,
  `X` LONGTEXT,
  `Y` LONGBLOB,
  `Z` VARBINARY(16),
  `AA` LONGBLOB,
  `AB` DATETIME,
  `AC` DATETIME(6),
  `AD` DATETIME,
  `AE` DATETIME(6),
  `AF` DATETIME(3),
  `AG` DATETIME(6),
  `AH` VARCHAR(13),
  `AI` VARCHAR(30),
  `AJ` VARCHAR(18),
  `AK` VARCHAR(4000),
  `AL` LONGTEXT,
  `AM` LONGTEXT,
  `AN` LONGTEXT,
  `AO` JSON,
  `AP` TINYINT(1),
  `AQ` VECTOR(8),
  `AR` VARCHAR(12)
);

=== identities and sequences
CREATE TABLE invoices (
  id NUMBER GENERATED ALWAYS AS IDENTITY MINVALUE 1 MAXVALUE 9999999999 INCREMENT BY 1 START WITH 1 CACHE 20 NOORDER  NOCYCLE  NOKEEP  NOSCALE  NOT NULL ENABLE,
  nr NUMBER(10) DEFAULT "BILL"."NR_SEQ"."NEXTVAL",
  CONSTRAINT invoices_pk PRIMARY KEY (id) USING INDEX (CREATE UNIQUE INDEX invoices_ix ON invoices (id)) ENABLE
);
CREATE TABLE lines (
  line_id NUMBER(12,0) DEFAULT ON NULL line_seq.NEXTVAL NOT NULL PRIMARY KEY,
  at NUMBER GENERATED BY DEFAULT ON NULL AS IDENTITY
);
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `ID` counts up, so it is BIGINT instead of NUMBER.
-- `NR` does not count up in TiDB, which has one such column per table, a whole number.
CREATE TABLE `test`.`INVOICES` (
  `ID` BIGINT NOT NULL AUTO_INCREMENT,
  `NR` DECIMAL(10,0),
  PRIMARY KEY (`ID`)
);

-- `LINE_ID` counts up, so it is BIGINT instead of NUMBER(12,0).
-- `AT` has any precision: DECIMAL(65,30) holds 35 digits before the point and 30 after it.
-- `AT` does not count up in TiDB, which has one such column per table, a whole number.
CREATE TABLE `test`.`LINES` (
  `LINE_ID` BIGINT NOT NULL AUTO_INCREMENT,
  `AT` DECIMAL(65,30) NOT NULL,
  PRIMARY KEY (`LINE_ID`)
);

=== defaults
CREATE TABLE defaults (
  a DATE DEFAULT SYSDATE NOT NULL ENABLE,
  b TIMESTAMP(3) DEFAULT SYSTIMESTAMP,
  c DATE DEFAULT TO_DATE('31.12.1999 23:59', 'DD.MM.YYYY HH24:MI'),
  d DATE DEFAULT DATE '2024-02-29',
  e VARCHAR2(9) DEFAULT q'[it's]',
  f CHAR(1) DEFAULT 'N',
  g NUMBER(4,1) DEFAULT -1.5,
  h RAW(16) DEFAULT SYS_GUID(),
  i VARCHAR2(30) DEFAULT USER,
  j CLOB DEFAULT EMPTY_CLOB(),
  k DATE DEFAULT TRUNC(SYSDATE),
  l NUMBER DEFAULT NULL
);
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `F` keeps the spaces of CHAR as a VARCHAR; TiDB removes them from a CHAR.
-- `L` has any precision: DECIMAL(65,30) holds 35 digits before the point and 30 after it.
-- `H` has no default in TiDB, instead of SYS_GUID().
-- `I` has no default in TiDB, instead of USER.
-- `J` has no default in TiDB, instead of EMPTY_CLOB().
-- `K` has no default in TiDB, instead of TRUNC(SYSDATE).
CREATE TABLE `test`.`DEFAULTS` (
  `A` DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  `B` DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3),
  `C` DATETIME DEFAULT '1999-12-31 23:59:00',
  `D` DATETIME DEFAULT '2024-02-29',
  `E` VARCHAR(9) DEFAULT 'it''s',
  `F` VARCHAR(1) DEFAULT 'N',
  `G` DECIMAL(4,1) DEFAULT -1.5,
  `H` VARBINARY(16),
  `I` VARCHAR(30),
  `J` LONGTEXT,
  `K` DATETIME,
  `L` DECIMAL(65,30)
);

=== virtual columns
CREATE TABLE pay (
  id NUMBER(8) PRIMARY KEY,
  salary NUMBER(8,2), bonus NUMBER(8,2), name VARCHAR2(20),
  total NUMBER(10,2) GENERATED ALWAYS AS (salary + NVL(bonus, 0)) VIRTUAL,
  loud VARCHAR2(20) AS (UPPER(name)),
  label VARCHAR2(60) AS (name || '!') VIRTUAL,
  yearly AS (salary * 12)
);
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `LABEL` is a plain column, because (name || '!') has no equal in TiDB: give its values.
CREATE TABLE `test`.`PAY` (
  `ID` DECIMAL(8,0) NOT NULL,
  `SALARY` DECIMAL(8,2),
  `BONUS` DECIMAL(8,2),
  `NAME` VARCHAR(20),
  `TOTAL` DECIMAL(10,2) GENERATED ALWAYS AS (`SALARY` + coalesce(`BONUS`, 0)) VIRTUAL,
  `LOUD` VARCHAR(20) GENERATED ALWAYS AS (upper(`NAME`)) VIRTUAL,
  `LABEL` VARCHAR(60),
  `YEARLY` DECIMAL(10,2) GENERATED ALWAYS AS (`SALARY` * 12) VIRTUAL,
  PRIMARY KEY (`ID`)
);

=== object types
CREATE OR REPLACE TYPE address_t AS OBJECT (street VARCHAR2(40), zip VARCHAR2(10));
/
CREATE TYPE phones_t AS VARRAY(5) OF VARCHAR2(25);
/
CREATE TYPE BODY address_t AS MEMBER FUNCTION f RETURN NUMBER IS BEGIN RETURN 1; END; END;
/
CREATE TABLE contacts (id NUMBER(5) PRIMARY KEY, home address_t, phones phones_t)
  NESTED TABLE phones STORE AS phones_nt;
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `HOME`, `PHONES` are JSON, which accepts lists, maps and structs.
CREATE TABLE `test`.`CONTACTS` (
  `ID` DECIMAL(5,0) NOT NULL,
  `HOME` JSON,
  `PHONES` JSON,
  PRIMARY KEY (`ID`)
);

=== partitions and storage
CREATE TABLE sales (
  prod_id NUMBER NOT NULL, day DATE NOT NULL, amount NUMBER(10,2) ENCRYPT USING 'AES256' INVISIBLE,
  doc CLOB,
  SUPPLEMENTAL LOG DATA (ALL) COLUMNS,
  CONSTRAINT sales_pk PRIMARY KEY (prod_id, day) RELY DISABLE NOVALIDATE
)
LOB (doc) STORE AS SECUREFILE (TABLESPACE lobs)
PARTITION BY RANGE (day) (
  PARTITION p1 VALUES LESS THAN (TO_DATE('2024-01-01','YYYY-MM-DD')) TABLESPACE t1,
  PARTITION p2 VALUES LESS THAN (MAXVALUE)
) ENABLE ROW MOVEMENT;
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `PROD_ID` has any precision: DECIMAL(65,30) holds 35 digits before the point and 30 after it.
-- Left out: partitioning.
CREATE TABLE `test`.`SALES` (
  `PROD_ID` DECIMAL(65,30) NOT NULL,
  `DAY` DATETIME NOT NULL,
  `AMOUNT` DECIMAL(10,2),
  `DOC` LONGTEXT,
  PRIMARY KEY (`PROD_ID`, `DAY`)
);

=== changes
CREATE GLOBAL TEMPORARY TABLE work (a NUMBER) ON COMMIT DELETE ROWS;
CREATE TABLE t (a NUMBER(5), b VARCHAR2(10), c DATE);
ALTER TABLE t ADD (d TIMESTAMP DEFAULT CURRENT_TIMESTAMP, e NUMBER(1));
ALTER TABLE t ADD f CHAR(2);
ALTER TABLE t MODIFY (b VARCHAR2(20) NOT NULL, a DEFAULT 7);
ALTER TABLE t MODIFY c TIMESTAMP(3);
ALTER TABLE t RENAME COLUMN e TO flag;
ALTER TABLE t DROP COLUMN f;
ALTER TABLE t ADD PRIMARY KEY (a);
ALTER TABLE t ENABLE ROW MOVEMENT;
--- becomes
-- A schema of Oracle in TiDB's SQL.
-- Statements that make no table were skipped: 1 other ALTER TABLE, 1 temporary table.

CREATE TABLE `test`.`T` (
  `A` DECIMAL(5,0) NOT NULL DEFAULT 7,
  `B` VARCHAR(20) NOT NULL,
  `C` DATETIME(3),
  `D` DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6),
  `FLAG` DECIMAL(1,0),
  PRIMARY KEY (`A`)
);

=== the current schema
ALTER SESSION SET CURRENT_SCHEMA = co;
CREATE TABLE stores ("store" NUMBER(3) PRIMARY KEY, Name VARCHAR2(255 CHAR) NOT NULL, logo BLOB,
  CONSTRAINT store_json CHECK (name IS JSON));
COMMENT ON COLUMN stores.name IS q'[What the store's called]';
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- Left out: 1 CHECK constraint.
CREATE TABLE `CO`.`STORES` (
  `store` DECIMAL(3,0) NOT NULL,
  `NAME` VARCHAR(255) NOT NULL COMMENT 'What the store''s called',
  `LOGO` LONGBLOB,
  PRIMARY KEY (`store`)
);

=== long keys
CREATE TABLE words (word VARCHAR2(4000) PRIMARY KEY, lang CHAR(2), origin VARCHAR2(500), UNIQUE (lang, word, origin));
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `LANG` keeps the spaces of CHAR as a VARCHAR; TiDB removes them from a CHAR.
-- `WORD` is VARCHAR(266), because a key has a length: values of more than 266 characters are refused.
CREATE TABLE `test`.`WORDS` (
  `WORD` VARCHAR(266) NOT NULL,
  `LANG` VARCHAR(2),
  `ORIGIN` VARCHAR(500),
  PRIMARY KEY (`WORD`),
  UNIQUE KEY (`LANG`, `WORD`, `ORIGIN`)
);

=== dates with a format
CREATE TABLE dates (
  evening DATE DEFAULT TO_DATE('2020-01-01 11:12:13 PM', 'YYYY-MM-DD HH:MI:SS PM'),
  year DATE DEFAULT TO_DATE('2020', 'YYYY'),
  clock DATE DEFAULT TO_DATE('10:11', 'HH24:MI'),
  century DATE DEFAULT TO_DATE('01/02/99', 'DD/MM/YY'),
  day DATE DEFAULT TO_DATE('2020-01-01', 'YYYY-MM-DD HH24:MI:SS'),
  new_year DATE DEFAULT TO_DATE('01-JAN-1970', 'DD-MON-YYYY'),
  of_year DATE DEFAULT TO_DATE('2020-366', 'YYYY-DDD'),
  exact TIMESTAMP(3) DEFAULT TO_TIMESTAMP('2020-01-01 10:11:12.123', 'YYYY-MM-DD HH24:MI:SS.FF3'),
  cut VARCHAR2(9) DEFAULT CAST('abc' AS VARCHAR2(2))
);
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `YEAR` has no default in TiDB, instead of TO_DATE('2020', 'YYYY').
-- `CLOCK` has no default in TiDB, instead of TO_DATE('10:11', 'HH24:MI').
-- `CENTURY` has no default in TiDB, instead of TO_DATE('01/02/99', 'DD/MM/YY').
-- `CUT` has no default in TiDB, instead of CAST('abc' AS VARCHAR2(2)).
CREATE TABLE `test`.`DATES` (
  `EVENING` DATETIME DEFAULT '2020-01-01 23:12:13',
  `YEAR` DATETIME,
  `CLOCK` DATETIME,
  `CENTURY` DATETIME,
  `DAY` DATETIME DEFAULT '2020-01-01',
  `NEW_YEAR` DATETIME DEFAULT '1970-01-01',
  `OF_YEAR` DATETIME DEFAULT '2020-12-31',
  `EXACT` DATETIME(3) DEFAULT '2020-01-01 10:11:12.123',
  `CUT` VARCHAR(9)
);

=== a table with another name
CREATE TABLE old_name (a NUMBER(5), UNIQUE (a));
RENAME old_name TO new_name;
RENAME a_view TO b;
ALTER TABLE new_name DROP UNIQUE (a) CASCADE;
--- becomes
-- A schema of Oracle in TiDB's SQL.
-- Statements that make no table were skipped: 1 RENAME.

CREATE TABLE `test`.`NEW_NAME` (
  `A` DECIMAL(5,0)
);

=== virtual columns beyond Oracle's digits
CREATE TABLE digits (
  n NUMBER(38,10), i INTEGER, f FLOAT, d NUMBER(10,2),
  squared NUMBER AS (n * n),
  more INTEGER AS (i + 1),
  half FLOAT AS (f * 0.5),
  cents NUMBER AS (d * 100)
);
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `F`, `HALF` are DOUBLE: 15 digits are exact, where Oracle keeps 38.
-- `SQUARED`, `CENTS` have any precision: DECIMAL(65,30) holds 35 digits before the point and 30 after it.
-- `SQUARED` is a plain column, because (n * n) has no equal in TiDB: give its values.
-- `HALF` is a plain column, because (f * 0.5) has no equal in TiDB: give its values.
CREATE TABLE `test`.`DIGITS` (
  `N` DECIMAL(38,10),
  `I` DECIMAL(38,0),
  `F` DOUBLE,
  `D` DECIMAL(10,2),
  `SQUARED` DECIMAL(65,30),
  `MORE` DECIMAL(38,0) GENERATED ALWAYS AS (`I` + 1) VIRTUAL,
  `HALF` DOUBLE,
  `CENTS` DECIMAL(65,30) GENERATED ALWAYS AS (`D` * 100) VIRTUAL
);

=== defaults of text
CREATE TABLE texts (
  code CHAR(3) DEFAULT 'a' NOT NULL,
  state VARCHAR2(3) DEFAULT 'a',
  empty CHAR(3) DEFAULT '',
  none VARCHAR2(3) DEFAULT ''
);
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `CODE`, `EMPTY` keep the spaces of CHAR as a VARCHAR; TiDB removes them from a CHAR.
CREATE TABLE `test`.`TEXTS` (
  `CODE` VARCHAR(3) NOT NULL DEFAULT 'a  ',
  `STATE` VARCHAR(3) DEFAULT 'a',
  `EMPTY` VARCHAR(3),
  `NONE` VARCHAR(3)
);

=== several actions without commas
CREATE TABLE t (a NUMBER(3), b NUMBER(3));
ALTER TABLE t ADD (c DATE, d DATE) MODIFY (a NUMBER(5) NOT NULL) DROP (b) CASCADE CONSTRAINTS;
--- becomes
-- A schema of Oracle in TiDB's SQL.

CREATE TABLE `test`.`T` (
  `A` DECIMAL(5,0) NOT NULL,
  `C` DATETIME,
  `D` DATETIME
);

=== types of lists and objects, with either word
CREATE OR REPLACE TYPE names_t IS VARRAY(10) OF VARCHAR2(100);
/
CREATE OR REPLACE TYPE person_t IS OBJECT (name VARCHAR2(100));
/
CREATE TYPE people_t AS TABLE OF person_t;
/
CREATE TABLE teams (names names_t, leader person_t, people people_t)
  NESTED TABLE people STORE AS people_rows;
--- becomes
-- A schema of Oracle in TiDB's SQL.

-- `NAMES`, `LEADER`, `PEOPLE` are JSON, which accepts lists, maps and structs.
CREATE TABLE `test`.`TEAMS` (
  `NAMES` JSON,
  `LEADER` JSON,
  `PEOPLE` JSON
);

=== a slash after a semicolon, and a line of prose
CREATE TABLE a (id NUMBER(5));/

Link to the manual: https://example.com
CREATE TABLE b (
  id NUMBER(5), -- CREATE TABLE
  note VARCHAR2(50) DEFAULT '
CREATE TABLE c (id NUMBER(5));
');/
--- becomes
-- A schema of Oracle in TiDB's SQL.
-- Statements that make no table were skipped: 2 others.

CREATE TABLE `test`.`A` (
  `ID` DECIMAL(5,0)
);

CREATE TABLE `test`.`B` (
  `ID` DECIMAL(5,0),
  `NOTE` VARCHAR(50) DEFAULT '
CREATE TABLE c (id NUMBER(5));
'
);

=== all columns of a table of the script
CREATE TABLE a (id NUMBER(5) GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n VARCHAR2(10) DEFAULT 'x' NOT NULL);
CREATE TABLE b AS SELECT * FROM a WHERE 1 = 0;
CREATE TABLE c (i, m) AS SELECT * FROM a;
CREATE TABLE d (i) AS SELECT * FROM a;
--- becomes
-- A schema of Oracle in TiDB's SQL.
-- These tables are left out, because their columns have no types in the script: test.D.

-- `ID` counts up, so it is BIGINT instead of NUMBER(5).
CREATE TABLE `test`.`A` (
  `ID` BIGINT NOT NULL AUTO_INCREMENT,
  `N` VARCHAR(10) NOT NULL DEFAULT 'x',
  PRIMARY KEY (`ID`)
);

CREATE TABLE `test`.`B` (
  `ID` DECIMAL(5,0),
  `N` VARCHAR(10)
);

CREATE TABLE `test`.`C` (
  `I` DECIMAL(5,0),
  `M` VARCHAR(10)
);
