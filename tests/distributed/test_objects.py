"""Objects between processes."""

import pytest

import sampan.distributed as dist

pytestmark = pytest.mark.servers


def exchanged():
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    gathered, sent, part = [], [{"rank": rank}, "x" * rank, None], []
    dist.all_gather_object(gathered, {"rank": rank, "text": "a" * 100 * rank})
    dist.broadcast_object_list(sent, last)
    dist.scatter_object_list(part, [("to", r) for r in range(last + 1)] if rank == 0 else None, 0)
    message = [1, [2]] if rank == 0 else [None, None]
    if rank == 0:
        dist.send_object_list(message, dst=1)
    elif rank == 1:
        dist.recv_object_list(message, src_in_group=0)
    return gathered, sent, part, message


@pytest.mark.parametrize("count", [2, 3])
def test_objects(workers, count):
    for rank, (gathered, sent, part, message) in enumerate(workers(count)(exchanged)):
        assert gathered == [{"rank": r, "text": "a" * 100 * r} for r in range(count)]
        assert sent == [{"rank": count - 1}, "x" * (count - 1), None]
        assert part == [("to", rank)]
        assert message == ([1, [2]] if rank < 2 else [None, None])
