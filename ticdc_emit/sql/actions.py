"""TiDB's DDL actions: one row of facts for each (:data:`ACTIONS`).

Rule sources: pingcap/tidb ``pkg/meta/model/job.go``; pingcap/tiflow ``pkg/filter/*.go``, ``pkg/sink/codec``.
"""

from __future__ import annotations

from typing import NamedTuple


class ActionFacts(NamedTuple):
    """``code``: TiDB's number. ``event``: the name in ``ignore-event``, "" if TiCDC does not replicate it. ``kind``:
    that of Canal-JSON and Simple. ``debezium``: that of Debezium, which sends no message for "".
    """

    code: int
    event: str = ""
    kind: str = "QUERY"
    debezium: str = ""


ACTIONS = {
    "create schema": ActionFacts(1, "create database", debezium="CREATE"),
    "drop schema": ActionFacts(2, "drop database", debezium="DROP"),
    "create table": ActionFacts(3, "create table", "CREATE", "CREATE"),
    "drop table": ActionFacts(4, "drop table", "ERASE", "DROP"),
    "add column": ActionFacts(5, "add column", "ALTER", "ALTER"),
    "drop column": ActionFacts(6, "drop column", "ALTER", "ALTER"),
    "add index": ActionFacts(7, "create index", "CINDEX", "ALTER"),
    "drop index": ActionFacts(8, "drop index", "DINDEX", "DROP"),
    "add foreign key": ActionFacts(9, "add foreign key", "CINDEX"),
    "drop foreign key": ActionFacts(10, "drop foreign key", "DINDEX"),
    "truncate table": ActionFacts(11, "truncate table", "TRUNCATE", "DROP"),
    "modify column": ActionFacts(12, "modify column", "ALTER", "ALTER"),
    "rebase auto_increment ID": ActionFacts(13, "rebase auto id", "ALTER", "ALTER"),
    "rename table": ActionFacts(14, "rename table", "RENAME", "ALTER"),
    "set default value": ActionFacts(15, "set default value", "ALTER", "ALTER"),
    "shard row ID": ActionFacts(16),
    "modify table comment": ActionFacts(17, "modify table comment", "ALTER", "ALTER"),
    "rename index": ActionFacts(18, "rename index", "ALTER", "ALTER"),
    "add partition": ActionFacts(19, "add table partition", "ALTER", "ALTER"),
    "drop partition": ActionFacts(20, "drop table partition", "ALTER", "ALTER"),
    "create view": ActionFacts(21, "create view", debezium="CREATE"),
    "modify table charset and collate": ActionFacts(22, "modify table charset and collate", "ALTER", "ALTER"),
    "truncate partition": ActionFacts(23, "truncate table partition", "ALTER", "ALTER"),
    "drop view": ActionFacts(24, "drop view", debezium="DROP"),
    "recover table": ActionFacts(25, "recover table"),
    "modify schema charset and collate": ActionFacts(26, "modify schema charset and collate", debezium="ALTER"),
    "lock table": ActionFacts(27),
    "unlock table": ActionFacts(28),
    "repair table": ActionFacts(29),
    "set tiflash replica": ActionFacts(30),
    "update tiflash replica status": ActionFacts(31),
    "add primary key": ActionFacts(32, "add primary key", "CINDEX", "ALTER"),
    "drop primary key": ActionFacts(33, "drop primary key", "DINDEX", "ALTER"),
    "create sequence": ActionFacts(34),
    "alter sequence": ActionFacts(35),
    "drop sequence": ActionFacts(36),
    "modify auto id cache": ActionFacts(39),
    "rebase auto_random ID": ActionFacts(40),
    "alter index visibility": ActionFacts(41, "alter index visibility", "ALTER", "ALTER"),
    "exchange partition": ActionFacts(42, "exchange table partition", debezium="ALTER"),
    "add check constraint": ActionFacts(43),
    "drop check constraint": ActionFacts(44),
    "alter check constraint": ActionFacts(45),
    "rename tables": ActionFacts(47, "rename table", "RENAME", "ALTER"),
    "alter table attributes": ActionFacts(49),
    "alter table partition attributes": ActionFacts(50),
    "create placement policy": ActionFacts(51),
    "alter placement policy": ActionFacts(52),
    "drop placement policy": ActionFacts(53),
    "alter table partition placement": ActionFacts(54),
    "modify schema default placement": ActionFacts(55),
    "alter table placement": ActionFacts(56),
    "alter table cache": ActionFacts(57),
    "alter table statistics options": ActionFacts(58),
    "alter table nocache": ActionFacts(59),
    "create tables": ActionFacts(60, "create table", debezium="CREATE"),
    "alter table multi-schema change": ActionFacts(61, "multi schema change", "ALTER", "ALTER"),
    "flashback cluster": ActionFacts(62),
    "alter table reorganize partition": ActionFacts(64, "reorganize table partition", "ALTER", "ALTER"),
    "alter table ttl": ActionFacts(65, "alter ttl info"),
    "alter table no_ttl": ActionFacts(67, "alter ttl remove"),
    "create resource group": ActionFacts(68),
    "alter resource group": ActionFacts(69),
    "drop resource group": ActionFacts(70),
    "alter table partition by": ActionFacts(71, "alter table partitioning", "ALTER", "ALTER"),
    "alter table remove partitioning": ActionFacts(72, "remove table partitioning", "ALTER", "ALTER"),
    "add columnar index": ActionFacts(73),
    "modify engine attribute": ActionFacts(74),
    "alter table mode": ActionFacts(75),
    "refresh meta": ActionFacts(76),
    "modify schema read only": ActionFacts(77),
}
