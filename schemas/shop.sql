-- A web shop: foreign keys four tables deep, a tree in one table, keys made of foreign keys (order_items), one that is a
-- foreign key alone (shipments) and one of foreign keys alone (product_tags).
CREATE DATABASE shop;

CREATE TABLE shop.customers (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  username VARCHAR(32) NOT NULL,
  name VARCHAR(80) NOT NULL,
  email VARCHAR(128) NOT NULL,
  phone VARCHAR(24),
  street VARCHAR(80),
  city VARCHAR(60),
  zip VARCHAR(10),
  country CHAR(2) NOT NULL,
  newsletter BOOL NOT NULL DEFAULT 0,
  created_at DATETIME NOT NULL,
  updated_at TIMESTAMP NULL,
  UNIQUE KEY by_username (username),
  UNIQUE KEY by_email (email)
);

CREATE TABLE shop.categories (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  parent_id INT UNSIGNED,
  title VARCHAR(60) NOT NULL,
  CONSTRAINT category_parent FOREIGN KEY (parent_id) REFERENCES categories (id)
);

CREATE TABLE shop.products (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  category_id INT UNSIGNED NOT NULL,
  sku VARCHAR(24) NOT NULL,
  title VARCHAR(120) NOT NULL,
  description TEXT,
  price DECIMAL(10,2) NOT NULL,
  weight FLOAT,
  colors SET('red','green','blue','black','white') NOT NULL DEFAULT '',
  details JSON,
  url VARCHAR(200),
  UNIQUE KEY by_sku (sku),
  CONSTRAINT product_category FOREIGN KEY (category_id) REFERENCES categories (id)
);

CREATE TABLE shop.tags (
  region TINYINT UNSIGNED NOT NULL,
  label VARCHAR(30) NOT NULL,
  color VARCHAR(16),
  PRIMARY KEY (region, label)
);

CREATE TABLE shop.orders (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id BIGINT UNSIGNED NOT NULL,
  status ENUM('new','paid','shipped','delivered','returned') NOT NULL DEFAULT 'new',
  total DECIMAL(12,2) NOT NULL,
  currency CHAR(3) NOT NULL DEFAULT 'EUR',
  ip VARCHAR(45),
  note VARCHAR(255),
  created_at DATETIME(3) NOT NULL,
  updated_at TIMESTAMP(3) NULL,
  KEY by_status (status),
  CONSTRAINT order_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
);

CREATE TABLE shop.order_items (
  order_id BIGINT UNSIGNED NOT NULL,
  line TINYINT UNSIGNED NOT NULL,
  product_id BIGINT UNSIGNED NOT NULL,
  quantity SMALLINT UNSIGNED NOT NULL,
  price DECIMAL(10,2) NOT NULL,
  PRIMARY KEY (order_id, line),
  CONSTRAINT item_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  CONSTRAINT item_product FOREIGN KEY (product_id) REFERENCES products (id)
);

CREATE TABLE shop.shipments (
  order_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  carrier VARCHAR(20) NOT NULL,
  tracking_code CHAR(16) NOT NULL,
  shipped_at DATETIME NOT NULL,
  UNIQUE KEY by_code (tracking_code),
  CONSTRAINT shipment_order FOREIGN KEY (order_id) REFERENCES orders (id)
);

CREATE TABLE shop.product_tags (
  product_id BIGINT UNSIGNED NOT NULL,
  region TINYINT UNSIGNED NOT NULL,
  label VARCHAR(30) NOT NULL,
  weight DOUBLE,
  PRIMARY KEY (product_id, region, label),
  CONSTRAINT tagged_product FOREIGN KEY (product_id) REFERENCES products (id),
  CONSTRAINT tagged_with FOREIGN KEY (region, label) REFERENCES tags (region, label)
);
