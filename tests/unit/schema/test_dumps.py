"""Schema files as tools write them: mysqldump, Dumpling, SHOW CREATE TABLE."""

from __future__ import annotations

import pytest

from ticdc_emit import catalog_from_sql
from ticdc_emit.errors import DdlError

MYSQLDUMP = """-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!50503 SET NAMES utf8mb4 */;
/*!40103 SET TIME_ZONE='+00:00' */;
DROP TABLE IF EXISTS `t`;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE `t` (
  `id` int NOT NULL AUTO_INCREMENT,
  `v` varchar(9) COLLATE utf8mb4_bin DEFAULT NULL /*!80023 */,
  PRIMARY KEY (`id`),
  KEY `v` (`v`) /*!80000 INVISIBLE */
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin
/*!50100 PARTITION BY RANGE (`id`)
(PARTITION p0 VALUES LESS THAN (9) ENGINE = InnoDB,
 PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */;
LOCK TABLES `t` WRITE;
/*!40000 ALTER TABLE `t` DISABLE KEYS */;
INSERT INTO `t` VALUES (1,'a;b'),(2,'it\\'s');
/*!40000 ALTER TABLE `t` ENABLE KEYS */;
UNLOCK TABLES;
"""
DUMPLING = """/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
CREATE TABLE `t` (
  `id` bigint(20) NOT NULL /*T![auto_rand] AUTO_RANDOM(5) */,
  `d` datetime DEFAULT NULL,
  PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */,
  KEY `d` (`d`) /*T![global_index] GLOBAL */
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin /*T![ttl] TTL=`d` + INTERVAL 1 DAY_SECOND */
  /*T![ttl] TTL_ENABLE='ON' */ /*T![placement] PLACEMENT POLICY=`p` */;
"""


def test_mysqldump() -> None:
    info = catalog_from_sql(MYSQLDUMP).table("test", "t")
    assert [column.name for column in info.columns] == ["id", "v"]
    assert [partition.name for partition in info.partitions] == ["p0", "p1"]
    assert [(index.name, index.visible) for index in info.indexes] == [("v", False)]


def test_dumpling() -> None:
    info = catalog_from_sql(DUMPLING).table("test", "t")
    assert [column.name for column in info.columns] == ["id", "d"]
    assert info.pk_is_handle


def test_what_is_neither_is_still_refused_with_its_place() -> None:
    with pytest.raises(DdlError, match="expected a DDL statement") as caught:
        catalog_from_sql("SET a = 1; DELETE FROM t")
    assert (caught.value.statement, caught.value.position) == ("DELETE FROM t", 0)
