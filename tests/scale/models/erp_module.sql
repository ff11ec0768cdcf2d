CREATE TABLE erp.OWN_partners (id BIGINT PRIMARY KEY, head BIGINT, code VARCHAR(12) NOT NULL UNIQUE, name VARCHAR(60),
  rating DECIMAL(3,2), since DATE, FOREIGN KEY (head) REFERENCES OWN_partners (id));
CREATE TABLE erp.OWN_orders (id BIGINT PRIMARY KEY, partner BIGINT NOT NULL, clerk BIGINT, booked DATE,
  state ENUM('open', 'closed', 'void') NOT NULL, net DECIMAL(14,2) NOT NULL, vat DECIMAL(16,4),
  FOREIGN KEY (partner) REFERENCES OWN_partners (id), FOREIGN KEY (clerk) REFERENCES BEFORE_partners (id));
CREATE TABLE erp.OWN_lines (o BIGINT, n INT, quantity INT NOT NULL CHECK (quantity >= 1), due DATE, PRIMARY KEY (o, n),
  FOREIGN KEY (o) REFERENCES OWN_orders (id));
CREATE TABLE erp.OWN_moves (o BIGINT, n INT, m INT, kind ENUM('in', 'out') NOT NULL, at DATETIME(3),
  PRIMARY KEY (o, n, m), FOREIGN KEY (o, n) REFERENCES OWN_lines (o, n));
CREATE TABLE erp.OWN_codes (region INT, label VARCHAR(20), valid DATE, PRIMARY KEY (region, label));
