"""Processes that call different collectives, or of which one is missing: errors name ranks, tensors and lines."""

import os
import re
import time
import warnings
from datetime import timedelta

import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import agreement
from sampan.distributed.agreement import CommunicationError
from tests.distributed.pool import Pool

pytestmark = pytest.mark.servers


def other_shape(rank, group):
    dist.all_reduce(paddle.ones([2 + rank]), group=group)


def other_dtype(rank, group):
    dist.all_reduce(paddle.ones([2], dtype="float64" if rank else "float32"), group=group)


def other_operation(rank, group):
    dist.all_reduce(paddle.ones([2]), dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM, group)


def other_root(rank, group):
    dist.broadcast(paddle.ones([2]), src=rank, group=group)


def other_order(rank, group):
    calls = [
        lambda: dist.all_reduce(paddle.ones([2]), group=group),
        lambda: dist.broadcast(paddle.ones([2]), 0, group),
    ]
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
    group = dist.new_group()
    start = time.monotonic()
    with pytest.raises(CommunicationError) as caught:
        difference(dist.get_rank(), group)
    seconds = time.monotonic() - start
    dist.all_gather([], paddle.ones([1]), group)  # the group still works, as nothing was started
    return str(caught.value), seconds


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_both_ranks_name_both_calls(workers, difference):
    first, second = DIFFERENCES[difference]
    for text, seconds in workers(2)(timed, difference):
        assert re.search(
            rf"rank 0: {re.escape(first)} \(call \d+ of _default_pg\d+\) at .*test_agreement.py:\d+", text
        )
        assert re.search(
            rf"rank 1: {re.escape(second)} \(call \d+ of _default_pg\d+\) at .*test_agreement.py:\d+", text
        )
        assert seconds < 60


def new_to_one():
    """Rank 0 makes a call that it knows, and so starts it; rank 1 makes a new one, and compares."""
    rank, group = dist.get_rank(), dist.new_group(timeout=timedelta(seconds=8))
    for _ in range(3):
        dist.all_reduce(paddle.ones([2]), group=group)
    start = time.monotonic()
    with pytest.raises(CommunicationError) as caught:
        dist.all_reduce(paddle.ones([2 + rank]), group=group)
    return str(caught.value), time.monotonic() - start


def test_a_call_that_is_new_to_one(workers):
    for text, seconds in workers(2)(new_to_one):
        assert "rank 0: all_reduce float32[2] op SUM (call 4 " in text
        assert "rank 1: all_reduce float32[3] op SUM (call 4 " in text
        assert seconds < 60


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
        assert seconds < 60


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
        time.sleep(8)
    start = time.monotonic()
    with pytest.raises(CommunicationError) as caught:
        dist.all_reduce(paddle.ones([2]), group=group)
    return str(caught.value), time.monotonic() - start


def test_a_rank_that_comes_too_late(workers):
    (first, seconds), _ = workers(2)(waits_long)
    assert 1.5 < seconds < 7.9  # before rank 1 came
    assert "all_reduce float32[2] op SUM" in first
    assert "rank 1 has noted no call" in first


def waits_a_little():
    """Rank 1 is late, once; the warning comes after 0.3 s in place of 5."""
    group = dist.new_group()
    dist.all_reduce(paddle.ones([2]), group=group)
    if dist.get_rank() == 1:
        agreement._note(group.recent[-1])  # as it does once a second
        time.sleep(3)
    before = agreement.WARNED_AFTER
    if dist.get_rank() == 0:
        agreement.WARNED_AFTER = 0.3
    x = paddle.ones([3])
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            dist.all_reduce(x, group=group)
    finally:
        agreement.WARNED_AFTER = before
    return [str(one.message) for one in seen], x.tolist()


def test_who_is_waited_for(workers):
    (texts, total), (no_texts, _) = workers(2)(waits_a_little)
    assert (total, no_texts) == ([2, 2, 2], [])
    assert re.search(
        r"^all_reduce float32\[3\] op SUM \(call 2 .* at .*test_agreement.py:\d+ has waited \d+ s; ", texts[0]
    )
    assert re.search(
        r"rank 1 is missing: \d+ s ago it was in all_reduce float32\[2\] op SUM \(call 1 of", texts[0]
    )


def compared_always():
    os.environ[agreement.CHECK] = "all"
    group = dist.new_group()
    for _ in range(3):
        dist.all_reduce(paddle.ones([2]), group=group)
    every = group.compared
    os.environ[agreement.CHECK] = "new"
    for _ in range(3):
        dist.all_reduce(paddle.ones([2]), group=group)
    new = group.compared - every
    os.environ[agreement.CHECK] = "none"
    dist.all_gather([], paddle.ones([2]), group=group)
    del os.environ[agreement.CHECK]
    return every, new, group.compared - every - new


def test_what_is_compared(workers):
    assert workers(2)(compared_always) == [(3, 1, 0)] * 2  # the pair of equal calls is new once


def answers_late(waits_for):
    while not os.path.exists(waits_for):
        time.sleep(0.01)
    return "late"


def answers_at_once():
    return "at once"


def test_a_late_answer_is_not_taken_for_that_of_the_next_call(workers, monkeypatch, tmp_path):
    """A slow machine fails one test and not all that follow it."""
    with monkeypatch.context() as patch:
        patch.setattr("tests.distributed.pool.SECONDS", 0.1)
        late = workers(2).outcomes(answers_late, str(tmp_path / "now"))
        assert [type(one) for one in late] == [TimeoutError] * 2
    (tmp_path / "now").touch()
    assert workers(2)(answers_at_once) == ["at once"] * 2
