-- The tables of rides.parquet and fares.parquet, as they are before the first change.
CREATE DATABASE city;

CREATE TABLE city.rides (
  id BIGINT NOT NULL PRIMARY KEY,
  driver VARCHAR(20) NOT NULL,
  state VARCHAR(10) NOT NULL
);

CREATE TABLE city.fares (
  ride BIGINT NOT NULL PRIMARY KEY,
  fare DECIMAL(8,2) NOT NULL
);
