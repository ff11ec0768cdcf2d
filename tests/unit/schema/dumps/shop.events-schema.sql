/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
CREATE TABLE `events` (
  `id` bigint(20) NOT NULL /*T![auto_rand] AUTO_RANDOM(5, 54) */,
  `made` datetime(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  `kind` set('a','b') DEFAULT _UTF8MB4'a',
  `number` bigint(20) DEFAULT nextval(`shop`.`numbers`),
  `place` vector(3) DEFAULT NULL,
  PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */,
  UNIQUE KEY `g` (`kind`) /*T![global_index] GLOBAL */,
  KEY `part` (`made`) WHERE `made` IS NOT NULL,
  KEY `e` ((lower(`kind`))),
  VECTOR INDEX `near`((VEC_COSINE_DISTANCE(`place`))) USING HNSW
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin /*T![auto_rand_base] AUTO_RANDOM_BASE=30001 */ /*T! PRE_SPLIT_REGIONS=2 */ /*T![ttl] TTL=`made` + INTERVAL '1 12:00:00' DAY_SECOND */ /*T![ttl] TTL_ENABLE='ON' */ /*T![ttl] TTL_JOB_INTERVAL='24h' */ /*T![auto_id_cache] AUTO_ID_CACHE=1 */
PARTITION BY RANGE (`id`)
(PARTITION `p0` VALUES LESS THAN (100) COMMENT 'x' /*T![placement] PLACEMENT POLICY=`eu` */,
 PARTITION `p1` VALUES LESS THAN (MAXVALUE));
