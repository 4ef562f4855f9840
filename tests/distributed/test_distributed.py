"""Names of paddle.distributed that are imported at their first use."""

import pytest

import sampan.distributed as dist


def test_names_of_distributed_tensors_are_found_at_first_use():
    from sampan.distributed import auto_parallel

    assert dist.auto_parallel is auto_parallel and dist.Shard is auto_parallel.Shard
    missing = [name for name in dist._AUTO_PARALLEL if not hasattr(dist, name)]
    assert missing == []
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = dist.no_such_name
