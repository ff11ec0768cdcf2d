-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)
--
-- Host: localhost    Database: shop
-- ------------------------------------------------------
-- Server version	8.0.36

/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!50503 SET NAMES utf8mb4 */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
SET @@SESSION.SQL_LOG_BIN= 0;
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '3E11FA47-71CA-11E1-9E33-C80AA9429562:1-77';
-- CHANGE MASTER TO MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=157;

--
-- Current Database: `shop`
--

CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ /*!80016 DEFAULT ENCRYPTION='N' */;

USE `shop`;

--
-- Table structure for table `orders`
--

DROP TABLE IF EXISTS `orders`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE `orders` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `customer` int NOT NULL,
  `note` varchar(200) COLLATE utf8mb4_0900_ai_ci DEFAULT NULL COMMENT 'it''s; a "note" -- no comment',
  `total` decimal(12,2) NOT NULL DEFAULT '0.00',
  `state` enum('new','paid') CHARACTER SET latin1 COLLATE latin1_bin NOT NULL DEFAULT 'new',
  `doc` json DEFAULT NULL,
  `uid` binary(16) DEFAULT (uuid_to_bin(uuid())),
  `double_total` decimal(13,2) GENERATED ALWAYS AS ((`total` * 2)) VIRTUAL,
  `made` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uid` (`uid`),
  KEY `customer` (`customer`,`made` DESC) /*!80000 INVISIBLE */,
  KEY `lower_note` ((lower(`note`))),
  FULLTEXT KEY `words` (`note`) /*!50100 WITH PARSER `ngram` */ ,
  CONSTRAINT `orders_ibfk_1` FOREIGN KEY (`customer`) REFERENCES `customers` (`id`) ON DELETE CASCADE,
  CONSTRAINT `positive` CHECK ((`total` >= 0)) /*!80016 NOT ENFORCED */
) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci STATS_PERSISTENT=1 ROW_FORMAT=DYNAMIC COMMENT='a /* b */ c';
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `orders`
--

LOCK TABLES `orders` WRITE;
/*!40000 ALTER TABLE `orders` DISABLE KEYS */;
INSERT INTO `orders` (`id`, `note`) VALUES (1,'a;b\'; DROP TABLE `orders`; --'),(2,NULL),(3,_binary 'x\\');
/*!40000 ALTER TABLE `orders` ENABLE KEYS */;
UNLOCK TABLES;
/*!50003 SET @saved_cs_client      = @@character_set_client */ ;
/*!50003 SET sql_mode              = 'STRICT_TRANS_TABLES' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `before_order` BEFORE INSERT ON `orders` FOR EACH ROW BEGIN
  IF NEW.total < 0 THEN
    SET NEW.total = 0;
  END IF;
END */;;
DELIMITER ;
/*!50003 SET sql_mode              = @saved_sql_mode */ ;

DROP TABLE IF EXISTS `log`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE `log` (
  `day` date NOT NULL,
  `line` varchar(9) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci NOT NULL,
  `level` tinyint(1) DEFAULT '0' /*!50606 STORAGE DISK */ /*!50606 COLUMN_FORMAT DYNAMIC */
) /*!50100 TABLESPACE `innodb_file_per_table` */ ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci
/*!50500 PARTITION BY RANGE  COLUMNS(`day`)
(PARTITION p0 VALUES LESS THAN ('2024-01-01') ENGINE = InnoDB,
 PARTITION p1 VALUES LESS THAN (MAXVALUE) ENGINE = InnoDB) */;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Temporary view structure for view `big`
--

DROP TABLE IF EXISTS `big`;
/*!50001 DROP VIEW IF EXISTS `big`*/;
SET @saved_cs_client     = @@character_set_client;
/*!50503 SET character_set_client = utf8mb4 */;
/*!50001 CREATE VIEW `big` AS SELECT 
 1 AS `id`,
 1 AS `total`*/;
SET character_set_client = @saved_cs_client;

--
-- Dumping events for database 'shop'
--
/*!50106 SET @save_time_zone= @@TIME_ZONE */ ;
/*!50106 DROP EVENT IF EXISTS `nightly` */;
DELIMITER ;;
/*!50003 SET character_set_client  = utf8mb4 */ ;;
/*!50106 CREATE*/ /*!50117 DEFINER=`root`@`localhost`*/ /*!50106 EVENT `nightly` ON SCHEDULE EVERY 1 DAY STARTS '2024-01-01 00:00:00' ON COMPLETION NOT PRESERVE ENABLE DO DELETE FROM orders WHERE id < 0 */ ;;
/*!50003 SET sql_mode              = @saved_sql_mode */ ;;
DELIMITER ;
/*!50106 SET TIME_ZONE= @save_time_zone */ ;

--
-- Dumping routines for database 'shop'
--
/*!50003 DROP FUNCTION IF EXISTS `twice` */;
DELIMITER ;;
CREATE DEFINER=`root`@`localhost` FUNCTION `twice`(x int) RETURNS int
    DETERMINISTIC
BEGIN
  DECLARE y int;
  SET y = x * 2;
  RETURN y;
END ;;
DELIMITER ;
/*!50003 DROP PROCEDURE IF EXISTS `tidy` */;
DELIMITER $$
CREATE DEFINER=CURRENT_USER() PROCEDURE `tidy`()
BEGIN
  CREATE TABLE scratch (a int);
  DROP TABLE scratch;
END$$
DELIMITER ;
ALTER DATABASE `shop` CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci ;

--
-- Final view structure for view `big`
--

/*!50001 DROP VIEW IF EXISTS `big`*/;
/*!50001 SET @saved_cs_client          = @@character_set_client */;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */
/*!50001 VIEW `big` AS select `orders`.`id` AS `id`,`orders`.`total` AS `total` from `orders` where (`orders`.`total` > 100) */;
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
-- Dump completed on 2024-05-01 12:00:00
