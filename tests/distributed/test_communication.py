"""The collectives under Paddle's other address."""

import sampan.distributed as dist
from sampan.distributed import communication, stream


def test_the_same_functions():
    for name in ("all_reduce", "all_gather_object", "send", "P2POp", "is_initialized", "barrier"):
        assert getattr(communication, name) is getattr(dist, name)
    assert communication.all_to_all is dist.alltoall
    assert communication.stream is stream is dist.stream
