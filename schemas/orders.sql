-- The demo's table: orders that are placed, change, and are deleted in the end.
CREATE DATABASE shop;

CREATE TABLE shop.orders (
  id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  customer VARCHAR(64) NOT NULL,
  email VARCHAR(128),
  status ENUM('new','paid','shipped','delivered','returned') NOT NULL DEFAULT 'new',
  options SET('gift','express','insured') NOT NULL DEFAULT '',
  amount DECIMAL(12,2) NOT NULL,
  quantity SMALLINT UNSIGNED NOT NULL,
  weight DOUBLE,
  note VARCHAR(255),
  details JSON,
  card_token VARBINARY(16),
  deliver_on DATE,
  created_at DATETIME(3) NOT NULL,
  updated_at TIMESTAMP(3) NULL,
  KEY by_status (status)
);
