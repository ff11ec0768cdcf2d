-- Partitioned tables: by HASH, by RANGE of a date, by KEY. The rows of a HASH partition carry their partition's id.
CREATE DATABASE parts;

CREATE TABLE parts.users (
  id BIGINT NOT NULL PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  city VARCHAR(40),
  updated_at TIMESTAMP(3) NULL
) PARTITION BY HASH (id) PARTITIONS 8;

CREATE TABLE parts.events (
  id BIGINT NOT NULL,
  day DATE NOT NULL,
  kind ENUM('view','click','purchase') NOT NULL,
  url VARCHAR(200),
  payload JSON,
  PRIMARY KEY (id, day)
) PARTITION BY RANGE COLUMNS (day) (
  PARTITION p2023 VALUES LESS THAN ('2024-01-01'),
  PARTITION p2024 VALUES LESS THAN ('2025-01-01'),
  PARTITION later VALUES LESS THAN (MAXVALUE)
);

CREATE TABLE parts.sessions (
  token CHAR(32) NOT NULL PRIMARY KEY,
  user_id BIGINT NOT NULL,
  ip VARCHAR(45),
  last_seen DATETIME(3)
) PARTITION BY KEY (token) PARTITIONS 4;
