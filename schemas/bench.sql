-- The tables of `python -m benchmarks`, on which TiCDC's own Go encoders were measured (benchmarks/reference.json).

CREATE TABLE test.orders (
  id BIGINT PRIMARY KEY,
  user_id BIGINT UNSIGNED NOT NULL,
  status ENUM('new','paid','shipped'),
  amount DECIMAL(12,2) NOT NULL,
  qty INT,
  price DOUBLE,
  note VARCHAR(255),
  payload JSON,
  created DATETIME(3),
  updated TIMESTAMP NULL,
  flags BIT(8),
  tags SET('a','b','c'),
  token VARBINARY(64),
  ratio FLOAT,
  day DATE,
  t TIME
);

CREATE TABLE test.sbtest (
  id INT PRIMARY KEY,
  k INT NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT ''
);
