-- Where lorries are: few tables, of which one has nearly all changes; keys that others made; checks.
CREATE DATABASE fleet;
CREATE TABLE fleet.depots (id CHAR(26) NOT NULL PRIMARY KEY, city VARCHAR(60) NOT NULL, docks INT NOT NULL CHECK (docks > 0));
CREATE TABLE fleet.lorries (id BINARY(16) NOT NULL PRIMARY KEY, depot CHAR(26) NOT NULL, plate VARCHAR(10) NOT NULL UNIQUE,
  tons DOUBLE NOT NULL, owner VARCHAR(80), FOREIGN KEY (depot) REFERENCES depots (id));
CREATE TABLE fleet.trips (id BIGINT NOT NULL PRIMARY KEY, lorry BINARY(16) NOT NULL, stage VARCHAR(12) NOT NULL,
  kilometres DECIMAL(8,1) NOT NULL, toll DECIMAL(12,4), loaded_at DATETIME(3), delivered_at TIMESTAMP(3) NULL,
  CHECK (kilometres >= 5 AND kilometres <= 3000), FOREIGN KEY (lorry) REFERENCES lorries (id));
CREATE TABLE fleet.positions (trip BIGINT NOT NULL, n INT NOT NULL, speed INT NOT NULL, latitude DOUBLE NOT NULL,
  PRIMARY KEY (trip, n), FOREIGN KEY (trip) REFERENCES trips (id));
CREATE TABLE fleet.alarms (id BIGINT NOT NULL PRIMARY KEY, region INT NOT NULL, level TINYINT NOT NULL, text VARCHAR(60));
CREATE TABLE fleet.drivers (id BIGINT NOT NULL PRIMARY KEY, licence VARCHAR(12) NOT NULL UNIQUE, points INT);
