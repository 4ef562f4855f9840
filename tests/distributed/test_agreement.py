"""Processes that call different collectives, or of which one is missing: errors name ranks, tensors and lines."""

import re
import time
from datetime import timedelta

import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed.agreement import CommunicationError
from tests.distributed.pool import Pool

pytestmark = pytest.mark.servers


def other_shape(rank):
    dist.all_reduce(paddle.ones([2 + rank]))


def other_dtype(rank):
    dist.all_reduce(paddle.ones([2], dtype="float64" if rank else "float32"))


def other_operation(rank):
    dist.all_reduce(paddle.ones([2]), dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM)


def other_root(rank):
    dist.broadcast(paddle.ones([2]), src=rank)


def other_order(rank):
    calls = [lambda: dist.all_reduce(paddle.ones([2])), lambda: dist.broadcast(paddle.ones([2]), 0)]
    for call in calls[:: 1 - 2 * rank]:
        call()


DIFFERENCES = {
    other_shape: ("all_reduce float32[2] op SUM", "all_reduce float32[3] op SUM"),
    other_dtype: ("all_reduce float32[2] op SUM", "all_reduce float64[2] op SUM"),
    other_operation: ("all_reduce float32[2] op SUM", "all_reduce float32[2] op MAX"),
    other_root: ("broadcast float32[2] from rank 0", "broadcast float32[2] from rank 1"),
    other_order: ("all_reduce float32[2] op SUM", "broadcast float32[2] from rank 0"),
}


def timed(difference):
    start = time.monotonic()
    with pytest.raises(CommunicationError) as caught:
        difference(dist.get_rank())
    seconds = time.monotonic() - start
    dist.all_gather([], paddle.ones([1]))  # the group still works
    return str(caught.value), seconds


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_both_ranks_name_both_calls(workers, difference):
    first, second = DIFFERENCES[difference]
    for text, seconds in workers(2)(timed, difference):
        assert re.search(
            rf"rank 0: {re.escape(first)} \(call \d+ of _default_pg\) at .*test_agreement.py:\d+", text
        )
        assert re.search(
            rf"rank 1: {re.escape(second)} \(call \d+ of _default_pg\) at .*test_agreement.py:\d+", text
        )
        assert seconds < 10


def known_calls_in_another_order():
    """Both calls have followed one another before, in both orders, so that only waiting shows the difference."""
    rank, group = dist.get_rank(), dist.new_group(timeout=timedelta(seconds=8))

    def gather():
        dist.all_gather([], paddle.ones([3]), group)

    def send():
        dist.broadcast(paddle.ones([3]), 1, group)

    for call in (gather, send, gather, gather, send, send, gather, gather):
        call()
    start = time.monotonic()
    with pytest.raises(CommunicationError) as caught:
        (gather, send)[rank]()
        dist.barrier(group)
    return str(caught.value), time.monotonic() - start


def test_known_calls_in_another_order(workers):
    for text, seconds in workers(2)(known_calls_in_another_order):
        assert "rank 0: all_gather float32[3] (call 9 " in text
        assert "rank 1: broadcast float32[3] from rank 1 (call 9 " in text
        assert seconds < 10


def uneven():
    rank = dist.get_rank()
    with pytest.raises(CommunicationError) as caught:
        dist.alltoall_single(paddle.zeros([2 + rank]), paddle.ones([2]), [1, 1], [1 + rank, 1])
    return str(caught.value)


def test_parts_of_other_sizes(workers):
    first, second = workers(2)(uneven)
    assert "rank 1 sends 4 bytes and expects 8, this process expects 4 from it and sends 4" in first
    assert "rank 0 sends 4 bytes and expects 4, this process expects 8 from it and sends 4" in second


def ends_early():
    dist.all_reduce(paddle.ones([2]))
    if dist.get_rank() == 1:
        raise SystemExit(3)
    dist.all_reduce(paddle.ones([4]))


def test_a_rank_that_has_ended():
    pool = Pool(2)
    try:
        first, second = pool.outcomes(ends_early)
    finally:
        pool.close()
    assert isinstance(second, EOFError)
    assert isinstance(first, CommunicationError)
    assert re.search(
        r"all_reduce float32\[4\] op SUM \(call 2 .*test_agreement.py:\d+ of rank 0 failed", str(first)
    )
    assert re.search(
        r"rank 1 is missing: \d+ s ago it was in all_reduce float32\[2\] op SUM \(call 1", str(first)
    )


def waits_long():
    group = dist.new_group(timeout=timedelta(seconds=2))
    if dist.get_rank() == 1:
        time.sleep(4)
    start = time.monotonic()
    with pytest.raises(CommunicationError) as caught:
        dist.all_reduce(paddle.ones([2]), group=group)
    return str(caught.value), time.monotonic() - start


def test_a_rank_that_comes_too_late(workers):
    (first, seconds), _ = workers(2)(waits_long)
    assert 1.5 < seconds < 4
    assert "all_reduce float32[2] op SUM" in first
    assert "rank 1 has noted no call" in first
