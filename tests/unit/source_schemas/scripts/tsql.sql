=== a script of Management Studio
USE [Sales]
GO
/****** Object:  Table [dbo].[Customers]    Script Date: 1/2/2024 10:00:00 ******/
SET ANSI_NULLS ON
GO
SET QUOTED_IDENTIFIER ON
GO
IF NOT EXISTS (SELECT * FROM sys.objects WHERE object_id = OBJECT_ID(N'[dbo].[Customers]') AND type in (N'U'))
BEGIN
CREATE TABLE [dbo].[Customers](
	[CustomerID] [int] IDENTITY(1,1) NOT FOR REPLICATION NOT NULL,
	[Name] [nvarchar](50) COLLATE SQL_Latin1_General_CP1_CI_AS NOT NULL,
	[Notes] [nvarchar](max) NULL,
	[Credit] [money] NULL,
	[rowguid] [uniqueidentifier] ROWGUIDCOL  NOT NULL,
	[ModifiedDate] [datetime] NOT NULL,
 CONSTRAINT [PK_Customers] PRIMARY KEY CLUSTERED
(
	[CustomerID] ASC
)WITH (PAD_INDEX = OFF, STATISTICS_NORECOMPUTE = OFF, IGNORE_DUP_KEY = OFF) ON [PRIMARY]
) ON [PRIMARY] TEXTIMAGE_ON [PRIMARY]
END
GO
CREATE UNIQUE NONCLUSTERED INDEX [AK_Customers_Name] ON [dbo].[Customers]
(
	[Name] ASC
)
WHERE ([Name]<>'')
GO
ALTER TABLE [dbo].[Customers] ADD  CONSTRAINT [DF_rowguid]  DEFAULT (newid()) FOR [rowguid]
GO
ALTER TABLE [dbo].[Customers] ADD  DEFAULT (getdate()) FOR [ModifiedDate]
GO
ALTER TABLE [dbo].[Customers]  WITH CHECK ADD  CONSTRAINT [FK_Customers] FOREIGN KEY([CustomerID])
REFERENCES [dbo].[People] ([PersonID])
ON UPDATE CASCADE
GO
ALTER TABLE [dbo].[Customers] CHECK CONSTRAINT [FK_Customers]
GO
EXEC sys.sp_addextendedproperty @name=N'MS_Description', @value=N'The customer''s name' , @level0type=N'SCHEMA',@level0name=N'dbo', @level1type=N'TABLE',@level1name=N'Customers', @level2type=N'COLUMN',@level2name=N'Name'
GO
EXECUTE [sys].[sp_addextendedproperty] N'MS_Description', N'Who buys.', N'SCHEMA', [dbo], N'TABLE', [Customers], NULL, NULL;
GO
--- becomes
-- A schema of SQL Server in TiDB's SQL.
-- Statements that make no table were skipped: 1 BEGIN, 1 END, 1 IF, 2 SET, 1 USE, 1 other ALTER TABLE.

-- Left out: 1 collation, 1 foreign key, 1 unique index with WHERE.
CREATE TABLE `dbo`.`Customers` (
  `CustomerID` INT NOT NULL AUTO_INCREMENT,
  `Name` VARCHAR(50) NOT NULL COMMENT 'The customer''s name',
  `Notes` LONGTEXT,
  `Credit` DECIMAL(19,4),
  `rowguid` CHAR(36) NOT NULL DEFAULT (UUID()),
  `ModifiedDate` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  PRIMARY KEY (`CustomerID`)
);

=== statements without semicolons
CREATE TABLE Brands (
	BrandID int IDENTITY PRIMARY KEY,
	BrandName varchar(255) NOT NULL UNIQUE
)
CREATE TABLE Products (
	ProductID int NOT NULL CONSTRAINT PK_P PRIMARY KEY NONCLUSTERED,
	BrandID int NOT NULL FOREIGN KEY REFERENCES Brands (BrandID) ON DELETE CASCADE,
	Price decimal(10, 2) DEFAULT ((0)),
	INDEX IX_Brand NONCLUSTERED (BrandID)
)
INSERT INTO Products VALUES (1, 1, 2.5)
SELECT * FROM Products
ALTER TABLE dbo.Products ADD Weight real, CONSTRAINT UQ_P UNIQUE (BrandID, Price), CONSTRAINT DF_W DEFAULT 1.5 FOR Weight
DROP TABLE IF EXISTS dbo.Never
--- becomes
-- A schema of SQL Server in TiDB's SQL.
-- Statements that make no table were skipped: 1 INSERT, 1 SELECT.

CREATE TABLE `test`.`Brands` (
  `BrandID` INT NOT NULL AUTO_INCREMENT,
  `BrandName` VARCHAR(255) NOT NULL,
  PRIMARY KEY (`BrandID`),
  UNIQUE KEY (`BrandName`)
);

-- Left out: 1 foreign key.
CREATE TABLE `test`.`Products` (
  `ProductID` INT NOT NULL,
  `BrandID` INT NOT NULL,
  `Price` DECIMAL(10,2) DEFAULT 0,
  `Weight` FLOAT DEFAULT 1.5,
  PRIMARY KEY (`ProductID`),
  UNIQUE KEY (`BrandID`, `Price`)
);

=== every type
CREATE TABLE every_type (
  a bit, b tinyint, c smallint, d int, e bigint, f decimal, g decimal(38,10), h numeric(5), i money, j smallmoney,
  k real, l float, m float(24), n char(3), o varchar, p varchar(50), q varchar(max), r nchar(2), s nvarchar(4000),
  t nvarchar(max), u text, v ntext, w binary(16), x binary(300), y varbinary(20), z varbinary(max), aa image,
  ab date, ac datetime, ad smalldatetime, ae datetime2, af datetime2(3), ag datetimeoffset, ah datetimeoffset(0), ai time,
  aj time(2), ak uniqueidentifier, al rowversion, am timestamp, an xml, ao [xml](CONTENT [dbo].[Coll]), ap hierarchyid,
  aq [sys].[hierarchyid], ar geography, "as" geometry, at sysname, au json, av vector(3), aw character varying(7)
);
--- becomes
-- A schema of SQL Server in TiDB's SQL.

-- `n`, `r` keep the spaces of CHAR as a VARCHAR; TiDB removes them from a CHAR.
-- `ae`, `ai` have no more than six fraction digits in TiDB; values with more are refused.
-- `ag` is DATETIME(6): an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP(6) would hold only the years 1970 to 2038. The offset that a value was written with is not kept. Values with more than six fraction digits are refused.
-- `ah` is DATETIME: an instant is written as the wall clock of the changefeed's time zone. TIMESTAMP would hold only the years 1970 to 2038. The offset that a value was written with is not kept.
-- `ap`, `aq`, `ar`, `as` are text, as the system writes its values.
CREATE TABLE `test`.`every_type` (
  `a` TINYINT(1),
  `b` TINYINT UNSIGNED,
  `c` SMALLINT,
  `d` INT,
  `e` BIGINT,
  `f` DECIMAL(18,0),
  `g` DECIMAL(38,10),
  `h` DECIMAL(5,0),
  `i` DECIMAL(19,4),
  `j` DECIMAL(10,4),
  `k` FLOAT,
  `l` DOUBLE,
  `m` FLOAT,
  `n` VARCHAR(3),
  `o` VARCHAR(1),
  `p` VARCHAR(50),
  `q` LONGTEXT,
  `r` VARCHAR(2),
  `s` VARCHAR(4000),
  `t` LONGTEXT,
  `u` LONGTEXT,
  `v` LONGTEXT,
  `w` BINARY(16),
  `x` VARBINARY(300),
  `y` VARBINARY(20),
  `z` LONGBLOB,
  `aa` LONGBLOB,
  `ab` DATE,
  `ac` DATETIME(3),
  `ad` DATETIME,
  `ae` DATETIME(6),
  `af` DATETIME(3),
  `ag` DATETIME(6),
  `ah` DATETIME,
  `ai` TIME(6),
  `aj` TIME(2),
  `ak` CHAR(36),
  `al` BINARY(8),
  `am` BINARY(8),
  `an` LONGTEXT,
  `ao` LONGTEXT,
  `ap` VARCHAR(892),
  `aq` VARCHAR(892),
  `ar` LONGTEXT,
  `as` LONGTEXT,
  `at` VARCHAR(128),
  `au` JSON,
  `av` VECTOR(3),
  `aw` VARCHAR(7)
);

=== alias types
CREATE TYPE [dbo].[Flag] FROM [bit] NOT NULL
GO
CREATE TYPE [dbo].[OrderNumber] FROM [nvarchar](25) NULL
GO
EXEC sp_addtype tid, 'varchar(6)', 'NOT NULL'
GO
CREATE TYPE [dbo].[Rows] AS TABLE ([a] int)
GO
CREATE TABLE [Sales].[Orders]([No] [dbo].[OrderNumber] NOT NULL, [Open] [dbo].[Flag] CONSTRAINT [DF_Open] DEFAULT ((1)), [Tid] tid,
  PRIMARY KEY ([No]))
GO
--- becomes
-- A schema of SQL Server in TiDB's SQL.
-- Statements that make no table were skipped: 1 CREATE TYPE, 1 EXEC.

CREATE TABLE `Sales`.`Orders` (
  `No` VARCHAR(25) NOT NULL,
  `Open` TINYINT(1) NOT NULL DEFAULT 1,
  `Tid` VARCHAR(6) NOT NULL,
  PRIMARY KEY (`No`)
);

=== computed columns
CREATE TABLE [Sales].[Lines](
	[OrderID] [int] NOT NULL, [Nr] [smallint] NOT NULL,
	[Price] [money] NOT NULL, [Qty] [smallint] NOT NULL, [Discount] [money] NULL,
	[Code] [nvarchar](10) NULL,
	[Amount] AS ([Price]*[Qty]),
	[Net] AS (isnull([Price]-[Discount],(0.00))) PERSISTED NOT NULL,
	[Label] AS (N'#'+[Code]),
	[Shown] AS (isnull(N'SO'+CONVERT([nvarchar](23),[OrderID]),N'?')),
	[Level] AS [Node].[GetLevel](),
	CONSTRAINT [PK] PRIMARY KEY CLUSTERED ([OrderID] ASC, [Nr] DESC),
	CONSTRAINT [AK] UNIQUE NONCLUSTERED ([Shown] ASC)
) ON [PRIMARY]
--- becomes
-- A schema of SQL Server in TiDB's SQL.

-- `Shown` is left out, because (isnull(N'SO'+CONVERT([nvarchar](23),[OrderID]),N'?')) has no equal in TiDB.
-- `Level` is left out, because [Node].[GetLevel]() has no equal in TiDB.
-- The unique key (`Shown`) is left out with its column.
CREATE TABLE `Sales`.`Lines` (
  `OrderID` INT NOT NULL,
  `Nr` SMALLINT NOT NULL,
  `Price` DECIMAL(19,4) NOT NULL,
  `Qty` SMALLINT NOT NULL,
  `Discount` DECIMAL(19,4),
  `Code` VARCHAR(10),
  `Amount` DECIMAL(19,4) GENERATED ALWAYS AS (`Price` * `Qty`) VIRTUAL,
  `Net` DECIMAL(19,4) GENERATED ALWAYS AS (coalesce(`Price` - `Discount`, 0.00)) STORED NOT NULL,
  `Label` VARCHAR(11) GENERATED ALWAYS AS (concat('#', `Code`)) VIRTUAL,
  PRIMARY KEY (`OrderID`, `Nr`)
);

=== defaults
CREATE TABLE dbo.Defaults (
  a datetime2(3) NOT NULL DEFAULT sysdatetime(),
  b datetime DEFAULT ('20200101'),
  c nvarchar(10) DEFAULT (N'it''s'),
  d bit NOT NULL DEFAULT ((0)),
  e int DEFAULT (NEXT VALUE FOR dbo.Seq),
  f uniqueidentifier DEFAULT newsequentialid(),
  g binary(4) DEFAULT (0x00FF00FF),
  h decimal(5,2) DEFAULT ((-1.25)),
  i datetime DEFAULT getutcdate(),
  j date DEFAULT (CONVERT([date],getdate())),
  k varchar(20) DEFAULT (suser_sname()),
  l int DEFAULT (NULL)
);
--- becomes
-- A schema of SQL Server in TiDB's SQL.

-- `e` is not AUTO_INCREMENT, because no key begins with it.
-- `i` has no default in TiDB, instead of getutcdate().
-- `k` has no default in TiDB, instead of (suser_sname()).
CREATE TABLE `dbo`.`Defaults` (
  `a` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  `b` DATETIME(3) DEFAULT '20200101',
  `c` VARCHAR(10) DEFAULT 'it''s',
  `d` TINYINT(1) NOT NULL DEFAULT 0,
  `e` INT,
  `f` CHAR(36) DEFAULT (UUID()),
  `g` BINARY(4) DEFAULT x'00FF00FF',
  `h` DECIMAL(5,2) DEFAULT -1.25,
  `i` DATETIME(3),
  `j` DATE DEFAULT CURRENT_DATE,
  `k` VARCHAR(20),
  `l` INT
);

=== temporal, sparse and memory-optimised tables
CREATE TABLE [Warehouse].[Sensors] (
  [ID] BIGINT IDENTITY (1, 1) NOT NULL PRIMARY KEY NONCLUSTERED HASH WITH (BUCKET_COUNT = 1000),
  [Reading] DECIMAL (10, 2) SPARSE NULL,
  [Secret] NVARCHAR (20) MASKED WITH (FUNCTION = 'default()') NULL,
  [ValidFrom] DATETIME2 (7) GENERATED ALWAYS AS ROW START HIDDEN NOT NULL,
  [ValidTo] DATETIME2 (7) GENERATED ALWAYS AS ROW END HIDDEN NOT NULL,
  PERIOD FOR SYSTEM_TIME ([ValidFrom], [ValidTo]),
  INDEX [IX] ([Reading]) WHERE ([Reading] > 0)
)
WITH (MEMORY_OPTIMIZED = ON, SYSTEM_VERSIONING = ON (HISTORY_TABLE = [Warehouse].[Sensors_Archive]));
--- becomes
-- A schema of SQL Server in TiDB's SQL.

-- `ValidFrom`, `ValidTo` have no more than six fraction digits in TiDB; values with more are refused.
CREATE TABLE `Warehouse`.`Sensors` (
  `ID` BIGINT NOT NULL AUTO_INCREMENT,
  `Reading` DECIMAL(10,2),
  `Secret` VARCHAR(20),
  `ValidFrom` DATETIME(6) NOT NULL,
  `ValidTo` DATETIME(6) NOT NULL,
  PRIMARY KEY (`ID`)
);

=== procedures and temporary tables
CREATE PROCEDURE dbo.Fill AS
BEGIN
  CREATE TABLE dbo.NotThis (a int);
  CREATE TABLE #work (a int);
END
GO
CREATE TABLE #outside (a int);
CREATE VIEW dbo.V AS SELECT 1 AS one
GO
CREATE TABLE dbo.T (a int NOT NULL)
GO
EXECUTE (N'CREATE TABLE dbo.Dynamic (a int)')
GO
--- becomes
-- A schema of SQL Server in TiDB's SQL.
-- Statements that make no table were skipped: 1 CREATE PROCEDURE, 1 CREATE VIEW, 1 EXEC, 1 temporary table.

CREATE TABLE `dbo`.`T` (
  `a` INT NOT NULL
);

=== changes
CREATE TABLE T (a int NOT NULL, b varchar(5) NULL, c int, d datetime);
ALTER TABLE T ALTER COLUMN b nvarchar(20) NOT NULL;
ALTER TABLE T ADD e bit NOT NULL CONSTRAINT DF_e DEFAULT 1, f date;
ALTER TABLE T DROP COLUMN c;
ALTER TABLE T ADD CONSTRAINT PK_T PRIMARY KEY CLUSTERED (a);
ALTER TABLE T DROP CONSTRAINT IF EXISTS PK_T;
ALTER TABLE T ADD PRIMARY KEY (a, b);
ALTER TABLE T NOCHECK CONSTRAINT ALL;
--- becomes
-- A schema of SQL Server in TiDB's SQL.
-- Statements that make no table were skipped: 1 other ALTER TABLE.

CREATE TABLE `test`.`T` (
  `a` INT NOT NULL,
  `b` VARCHAR(20) NOT NULL,
  `d` DATETIME(3),
  `e` TINYINT(1) NOT NULL DEFAULT 1,
  `f` DATE,
  PRIMARY KEY (`a`, `b`)
);

=== names
CREATE TABLE [My Shop].[Order Details] ([Order ID] int, [a]]b] int, "quoted" int, [select] int, PRIMARY KEY ([Order ID]));
CREATE TABLE OtherDb.dbo.T (ID int);
--- becomes
-- A schema of SQL Server in TiDB's SQL.

CREATE TABLE `My Shop`.`Order Details` (
  `Order ID` INT NOT NULL,
  `a]b` INT,
  `quoted` INT,
  `select` INT,
  PRIMARY KEY (`Order ID`)
);

CREATE TABLE `dbo`.`T` (
  `ID` INT
);

=== a data warehouse
CREATE TABLE [dw].[Fact]
(
    [Id] BIGINT NOT NULL,
    [Day] DATE NOT NULL,
    [Amount] DECIMAL(18,2) NULL
)
WITH
(
    DISTRIBUTION = HASH([Id]),
    CLUSTERED COLUMNSTORE INDEX,
    PARTITION ([Day] RANGE RIGHT FOR VALUES ('2024-01-01'))
);
CREATE EXTERNAL TABLE [ext].[Raw] ([Line] VARCHAR(8000) NULL)
WITH (LOCATION = '/raw/', DATA_SOURCE = lake, FILE_FORMAT = csv);
CREATE TABLE dw.Copied WITH (DISTRIBUTION = ROUND_ROBIN) AS SELECT * FROM ext.Raw;
--- becomes
-- A schema of SQL Server in TiDB's SQL.

CREATE TABLE `dw`.`Fact` (
  `Id` BIGINT NOT NULL,
  `Day` DATE NOT NULL,
  `Amount` DECIMAL(18,2)
);

CREATE TABLE `ext`.`Raw` (
  `Line` VARCHAR(8000)
);

CREATE TABLE `dw`.`Copied` (
  `Line` VARCHAR(8000)
);

=== defaults with conversions
CREATE TABLE [dbo].[Casts] (
    [day] [datetime] DEFAULT (CONVERT([date],GETDATE())),
    [today] [date] DEFAULT (CONVERT([date],GETDATE())),
    [text_date] [datetime] DEFAULT (CONVERT([varchar](10),GETDATE(),(120))),
    [cut] [varchar](9) DEFAULT (CONVERT([varchar](2),'abcdef')),
    [kept] [nvarchar](9) DEFAULT (CONVERT([nvarchar](6),N'abcdef')),
    [one] [decimal](5, 2) DEFAULT (CONVERT([int],1.7)),
    [flag] [bit] DEFAULT (CONVERT([bit],(1))),
    [many] [bit] DEFAULT (5),
    [ends] [datetime2](7) DEFAULT (CONVERT([datetime2](7),'9999-12-31 23:59:59')),
    [digits] [nvarchar](9) DEFAULT (CONVERT([nvarchar](9),(0)))
);
--- becomes
-- A schema of SQL Server in TiDB's SQL.

-- `ends` has no more than six fraction digits in TiDB; values with more are refused.
-- `day` has no default in TiDB, instead of (CONVERT([date],GETDATE())).
-- `text_date` has no default in TiDB, instead of (CONVERT([varchar](10),GETDATE(),(120))).
-- `cut` has no default in TiDB, instead of (CONVERT([varchar](2),'abcdef')).
-- `one` has no default in TiDB, instead of (CONVERT([int],1.7)).
-- `many` has no default in TiDB, instead of (5).
CREATE TABLE `dbo`.`Casts` (
  `day` DATETIME(3),
  `today` DATE DEFAULT CURRENT_DATE,
  `text_date` DATETIME(3),
  `cut` VARCHAR(9),
  `kept` VARCHAR(9) DEFAULT 'abcdef',
  `one` DECIMAL(5,2),
  `flag` TINYINT(1) DEFAULT 1,
  `many` TINYINT(1),
  `ends` DATETIME(6) DEFAULT '9999-12-31 23:59:59',
  `digits` VARCHAR(9) DEFAULT '0'
);

=== what ALTER TABLE drops
CREATE TABLE [dbo].[Drops] ([a] [int], [b] [int], [c] [int] CONSTRAINT [DF_c] DEFAULT (1), [d] [int], [e] [int], CONSTRAINT [U_a] UNIQUE ([a]), CONSTRAINT [U_d] UNIQUE ([d]));
CREATE UNIQUE INDEX [U_e] ON [dbo].[Drops] ([e]);
CREATE UNIQUE INDEX [U_de] ON [dbo].[Drops] ([d], [e]);
GO
ALTER TABLE [dbo].[Drops] DROP CONSTRAINT [DF_c], COLUMN [c];
ALTER TABLE [dbo].[Drops] DROP CONSTRAINT [U_a], [U_d];
ALTER TABLE [dbo].[Drops] DROP COLUMN [a], [b];
DROP INDEX [U_e] ON [dbo].[Drops];
DROP INDEX [Drops].[U_de];
--- becomes
-- A schema of SQL Server in TiDB's SQL.

CREATE TABLE `dbo`.`Drops` (
  `d` INT,
  `e` INT
);

=== names that change
CREATE TABLE [dbo].[Old] ([a] [int] PRIMARY KEY, [b] [int]);
GO
EXEC sp_rename 'dbo.Old.a', 'Id', 'COLUMN';
EXEC sp_rename @objname = N'[dbo].[Old]', @newname = N'New';
EXEC sp_rename 'PK_Old', 'PK_New', 'OBJECT';
--- becomes
-- A schema of SQL Server in TiDB's SQL.
-- Statements that make no table were skipped: 1 EXEC.

CREATE TABLE `dbo`.`New` (
  `Id` INT NOT NULL,
  `b` INT,
  PRIMARY KEY (`Id`)
);

=== the usual schema and a sequence
CREATE TABLE Shop..Orders (
    [Id] [int] DEFAULT NEXT VALUE FOR dbo.Numbers NOT NULL PRIMARY KEY,
    [Note] [nvarchar](20) SPARSE NULL,
    [All] [xml] COLUMN_SET FOR ALL_SPARSE_COLUMNS
);
ALTER TABLE Shop..Orders ADD CONSTRAINT DF_Note DEFAULT N'x' FOR [Note];
--- becomes
-- A schema of SQL Server in TiDB's SQL.

CREATE TABLE `test`.`Orders` (
  `Id` INT NOT NULL AUTO_INCREMENT,
  `Note` VARCHAR(20) DEFAULT 'x',
  `All` LONGTEXT,
  PRIMARY KEY (`Id`)
);

=== computed columns as SQL Server computes them
CREATE TYPE [dbo].[Price] FROM [money];
GO
CREATE TABLE [dbo].[Computed] (
    [h] [tinyint], [s] [smallint], [i] [int], [b] [bigint], [m] [money], [p] [dbo].[Price], [r] [real], [f] [float],
    [wide] [decimal](38, 10), [d] [decimal](18, 2), [c] [nvarchar](1), [t] [nvarchar](3), [l] [nvarchar](4000), [x] [nvarchar](max),
    [negative] AS (-[h]),
    [less] AS ([h]-(10)),
    [more] AS ([i]+(1)),
    [whole] AS ([s]*[b]),
    [square] AS ([m]*[p]),
    [sum] AS ([m]+[p]),
    [many] AS ([m]*[i]),
    [rate] AS ([m]*(1.5)),
    [squared] AS ([wide]*[wide]),
    [area] AS ([d]*[d]),
    [single] AS ([r]*[r]),
    [double] AS ([f]*[d]),
    [cut] AS (isnull([c],N'xyz')),
    [kept] AS (isnull([t],N'xyz')),
    [none] AS (isnull([d],(0))),
    [rounded] AS (isnull([i],(0.5))),
    [either] AS (coalesce([c],N'xyz')),
    [long] AS ([l]+[l]),
    [joined] AS ([x]+[l]),
    [first] AS (CAST([x] AS [varchar])+'!')
);
--- becomes
-- A schema of SQL Server in TiDB's SQL.

-- `less` is left out, because ([h]-(10)) has no equal in TiDB.
-- `square` is left out, because ([m]*[p]) has no equal in TiDB.
-- `squared` is left out, because ([wide]*[wide]) has no equal in TiDB.
-- `single` is left out, because ([r]*[r]) has no equal in TiDB.
-- `cut` is left out, because (isnull([c],N'xyz')) has no equal in TiDB.
-- `rounded` is left out, because (isnull([i],(0.5))) has no equal in TiDB.
-- `long` is left out, because ([l]+[l]) has no equal in TiDB.
-- `first` is left out, because (CAST([x] AS [varchar])+'!') has no equal in TiDB.
CREATE TABLE `dbo`.`Computed` (
  `h` TINYINT UNSIGNED,
  `s` SMALLINT,
  `i` INT,
  `b` BIGINT,
  `m` DECIMAL(19,4),
  `p` DECIMAL(19,4),
  `r` FLOAT,
  `f` DOUBLE,
  `wide` DECIMAL(38,10),
  `d` DECIMAL(18,2),
  `c` VARCHAR(1),
  `t` VARCHAR(3),
  `l` VARCHAR(4000),
  `x` LONGTEXT,
  `negative` SMALLINT GENERATED ALWAYS AS (-`h`) VIRTUAL,
  `more` INT GENERATED ALWAYS AS (`i` + 1) VIRTUAL,
  `whole` BIGINT GENERATED ALWAYS AS (`s` * `b`) VIRTUAL,
  `sum` DECIMAL(19,4) GENERATED ALWAYS AS (`m` + `p`) VIRTUAL,
  `many` DECIMAL(19,4) GENERATED ALWAYS AS (`m` * `i`) VIRTUAL,
  `rate` DECIMAL(22,5) GENERATED ALWAYS AS (`m` * 1.5) VIRTUAL,
  `area` DECIMAL(37,4) GENERATED ALWAYS AS (`d` * `d`) VIRTUAL,
  `double` DOUBLE GENERATED ALWAYS AS (`f` * `d`) VIRTUAL,
  `kept` VARCHAR(3) GENERATED ALWAYS AS (coalesce(`t`, 'xyz')) VIRTUAL,
  `none` DECIMAL(18,2) GENERATED ALWAYS AS (coalesce(`d`, 0)) VIRTUAL,
  `either` VARCHAR(3) GENERATED ALWAYS AS (coalesce(`c`, 'xyz')) VIRTUAL,
  `joined` LONGTEXT GENERATED ALWAYS AS (concat(`x`, `l`)) VIRTUAL
);

=== defaults that are dropped
CREATE TABLE [dbo].[Defaults] ([a] [int] CONSTRAINT [DF_a] DEFAULT ((1)) NOT NULL, [b] [int], [c] [int] DEFAULT ((3)));
ALTER TABLE [dbo].[Defaults] ADD CONSTRAINT [DF_b] DEFAULT ((2)) FOR [b];
GO
ALTER TABLE [dbo].[Defaults] DROP CONSTRAINT [DF_a], [DF_b];
--- becomes
-- A schema of SQL Server in TiDB's SQL.

CREATE TABLE `dbo`.`Defaults` (
  `a` INT NOT NULL,
  `b` INT,
  `c` INT DEFAULT 3
);
