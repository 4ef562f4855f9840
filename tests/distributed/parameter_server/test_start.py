"""Kinds of shards, and what a kind needs."""

from importlib.util import find_spec

import pytest

from sampan.distributed.parameter_server import start_shards


def test_kinds_and_counts_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match="kind: expected one of in process, processes, actors, got 'rpc'"):
        start_shards(1, "rpc")
    with pytest.raises(ValueError, match="shards: expected 1 or more, got 0"):
        start_shards(0)


@pytest.mark.skipif(find_spec("ray") is not None, reason="ray is installed")
def test_without_ray_the_error_names_the_extra() -> None:
    with pytest.raises(ImportError, match=r"the extra cluster has: pip install 'sampan\[cluster\]'"):
        start_shards(1, "actors")
