"""paddle.distributed.stream: one tensor in place of a list."""

import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import stream

pytestmark = pytest.mark.servers


def exchanged():
    rank = dist.get_rank()
    joined, part, sum_part, swapped, single = (paddle.zeros([n]) for n in (4, 2, 2, 4, 4))
    numbers = paddle.arange(4, dtype="float32") + 10 * rank
    stream.all_gather(joined, numbers[:2])
    stream.scatter(part, numbers if rank == 1 else None, src=1, use_calc_stream=True)
    stream.reduce_scatter(sum_part, numbers)
    for base in (stream._reduce_scatter_base, dist.communication._reduce_scatter_base):
        again = paddle.zeros([2])
        base(again, numbers)
        assert again.tolist() == sum_part.tolist()
    stream.alltoall(swapped, numbers)
    sizes = [3, 1] if rank else [1, 3]
    stream.alltoall_single(single, numbers, out_split_sizes=sizes, in_split_sizes=sizes)
    total = numbers.clone()
    stream.all_reduce(total, dist.ReduceOp.MAX).wait()
    with pytest.raises(RuntimeError, match="use_calc_stream can only be true"):
        stream.all_reduce(total, sync_op=False, use_calc_stream=True)
    return [t.tolist() for t in (joined, part, sum_part, swapped, total)], single.tolist()


def test_one_tensor_for_a_list(workers):
    first, second = workers(2)(exchanged)
    assert first[0] == [[0, 1, 10, 11], [10, 11], [10, 12], [0, 1, 10, 11], [10, 11, 12, 13]]
    assert second[0] == [[0, 1, 10, 11], [12, 13], [14, 16], [2, 3, 12, 13], [10, 11, 12, 13]]
    assert first[1] == [0, 10, 11, 12]
    assert second[1] == [1, 2, 3, 13]
