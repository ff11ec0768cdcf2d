-- A bank: customers, their accounts, and what moves between them. A composite unique key, two foreign keys from one table
-- to another, balances in DECIMAL.
CREATE DATABASE bank;

CREATE TABLE bank.customers (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  uuid CHAR(36) NOT NULL,
  first_name VARCHAR(40) NOT NULL,
  last_name VARCHAR(40) NOT NULL,
  email VARCHAR(120) NOT NULL,
  phone VARCHAR(24),
  birthday DATE,
  country CHAR(2) NOT NULL,
  risk_score DECIMAL(5,2),
  created_at DATETIME(3) NOT NULL,
  updated_at TIMESTAMP(3) NULL ON UPDATE CURRENT_TIMESTAMP(3),
  UNIQUE KEY by_uuid (uuid),
  UNIQUE KEY by_email (email)
);

CREATE TABLE bank.accounts (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id BIGINT UNSIGNED NOT NULL,
  iban VARCHAR(34) NOT NULL,
  currency CHAR(3) NOT NULL DEFAULT 'EUR',
  balance DECIMAL(18,2) NOT NULL DEFAULT 0.00,
  status ENUM('open','frozen','closed') NOT NULL DEFAULT 'open',
  flags BIT(8) NOT NULL DEFAULT b'0',
  created_at DATETIME(3) NOT NULL,
  UNIQUE KEY by_iban (iban),
  CONSTRAINT account_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
);

CREATE TABLE bank.transfers (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  from_account BIGINT UNSIGNED NOT NULL,
  to_account BIGINT UNSIGNED,
  amount DECIMAL(18,2) NOT NULL,
  fee DECIMAL(10,4) NOT NULL DEFAULT 0,
  note VARCHAR(140),
  state ENUM('requested','checked','booked','refused') NOT NULL DEFAULT 'requested',
  created_at DATETIME(6) NOT NULL,
  booked_at TIMESTAMP(6) NULL,
  CONSTRAINT transfer_from FOREIGN KEY (from_account) REFERENCES accounts (id),
  CONSTRAINT transfer_to FOREIGN KEY (to_account) REFERENCES accounts (id)
);
