-- Generated columns: stored ones are part of every row that a changefeed sends, virtual ones are not.
CREATE DATABASE gen;

CREATE TABLE gen.lines (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  price DECIMAL(10,2) NOT NULL,
  quantity INT NOT NULL,
  discount DECIMAL(10,2),
  total DECIMAL(20,2) AS (price * quantity - IFNULL(discount, 0)) STORED,
  is_large BOOL AS (price * quantity > 5000) STORED,
  vat DECIMAL(20,4) AS (total * 0.19) VIRTUAL
);

CREATE TABLE gen.people (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  first_name VARCHAR(40) NOT NULL,
  last_name VARCHAR(40) NOT NULL,
  birthday DATE NOT NULL,
  full_name VARCHAR(90) AS (CONCAT(first_name, ' ', last_name)) STORED,
  search_name VARCHAR(90) AS (LOWER(full_name)) STORED,
  initials CHAR(2) AS (CONCAT(LEFT(first_name, 1), LEFT(last_name, 1))) VIRTUAL,
  birth_year INT AS (YEAR(birthday)) STORED,
  name_length INT AS (CHAR_LENGTH(full_name)) STORED,
  KEY by_search_name (search_name)
);
