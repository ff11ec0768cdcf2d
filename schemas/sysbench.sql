-- The tables of sysbench's OLTP tests (oltp_common.lua, --tables=4): one hot integer, two padded texts of digit groups.
CREATE DATABASE sbtest;

CREATE TABLE sbtest.sbtest1 (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  k INT NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT '',
  KEY k_1 (k)
);

CREATE TABLE sbtest.sbtest2 (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  k INT NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT '',
  KEY k_2 (k)
);

CREATE TABLE sbtest.sbtest3 (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  k INT NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT '',
  KEY k_3 (k)
);

CREATE TABLE sbtest.sbtest4 (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  k INT NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT '',
  KEY k_4 (k)
);
