"""Where rows, DDL and watermarks go."""

from __future__ import annotations

import pickle

from ticdc_emit.routing import Router

ROUTER = Router("default", {"default": 16, "other": 2})


def test_rows_go_to_the_hash_of_their_table() -> None:
    assert ROUTER.route_table("test", "t1") == ("default", 15)
    assert ROUTER.route_table("test", "t2") == ("default", 5)
    assert Router("one", {"one": 1}).route_table("test", "t2") == ("one", 0)


def test_ddl_goes_to_partition_0_or_everywhere() -> None:
    assert ROUTER.ddl_targets(all_partitions=False) == (("default", 0),)
    assert ROUTER.ddl_targets(all_partitions=True) == tuple(("default", partition) for partition in range(16))


def test_watermarks_go_to_every_partition_of_every_topic() -> None:
    assert ROUTER.watermark_targets() == tuple(("default", partition) for partition in range(16))


def test_a_router_pickles() -> None:
    assert pickle.loads(pickle.dumps(ROUTER)) == ROUTER
