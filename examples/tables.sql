-- The tables of changes.parquet and rows/*.csv.
CREATE DATABASE shop;

CREATE TABLE shop.orders (
  id BIGINT NOT NULL PRIMARY KEY,
  customer VARCHAR(40) NOT NULL,
  state ENUM('placed','paid','shipped') NOT NULL,
  total DECIMAL(10,2) NOT NULL,
  note VARCHAR(80),
  placed_at DATETIME(3) NOT NULL
);
