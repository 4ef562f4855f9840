"""Messages whose Task the program drops arrive all the same."""

import gc
import warnings

import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import outbox

pytestmark = pytest.mark.servers


def dropped(count, rows):
    """Rank 0 sends and drops the Tasks; rank 1 receives after that."""
    outbox._left.clear()
    if dist.get_rank() == 0:
        for number in range(count):
            dist.isend(paddle.full([rows, 10], float(number)), 1)
        gc.collect()
        held = len(outbox._left)
        dist.barrier()
        return held
    dist.barrier()
    received = []
    for _ in range(count):
        into = paddle.zeros([rows, 10])
        dist.recv(into, 0)
        received.append(float(into.mean()))
    return received


@pytest.mark.parametrize("rows", [1, 100_000])
def test_a_message_whose_task_is_dropped_arrives(workers, rows):
    held, received = workers(2)(dropped, 3, rows)
    assert (held, received) == (3, [0.0, 1.0, 2.0])


def dropped_receive():
    """Rank 0 drops the Task of `irecv`: its tensor has the values nevertheless, and a later message its own."""
    if dist.get_rank() == 1:
        dist.barrier()
        dist.send(paddle.full([4], 7.0), 0)
        dist.send(paddle.full([4], 8.0), 0)
        return None
    first, second = paddle.zeros([4]), paddle.zeros([4])
    dist.irecv(first, 1)
    gc.collect()
    dist.barrier()
    dist.recv(second, 1)
    return first.tolist(), second.tolist()


def test_a_tensor_whose_task_is_dropped_is_received(workers):
    assert workers(2)(dropped_receive)[0] == ([7.0] * 4, [8.0] * 4)


def many(count, size, limit, monkey_bytes):
    """Rank 0 sends many messages and drops all Tasks, while rank 1 receives: how many it held at most."""
    outbox._left.clear()
    outbox.LEFT_MESSAGES, outbox.LEFT_BYTES, before = limit, monkey_bytes, outbox.LEFT_MESSAGES
    most = total = 0
    for number in range(count):
        if dist.get_rank() == 0:
            dist.isend(paddle.full([size], float(number)), 1)
            most = max(most, len(outbox._left))
        else:
            into = paddle.zeros([size])
            dist.recv(into, 0)
            total += int(into[0])
    outbox.LEFT_MESSAGES, outbox.LEFT_BYTES = before, 64 << 20
    dist.barrier()
    return most, total


@pytest.mark.parametrize(("size", "limit", "most_bytes"), [(1, 8, 1 << 20), (1000, 64, 32_000)])
def test_at_most_so_many_are_kept(workers, size, limit, most_bytes):
    (most, _), (_, total) = workers(2)(many, 100, size, limit, most_bytes)
    assert most == min(limit, most_bytes // (4 * size)) + 1
    assert total == sum(range(100))


def waited_for():
    rank = dist.get_rank()
    for number in range(5):
        if rank == 0:
            dist.isend(paddle.full([3], float(number)), 1).wait()
        else:
            dist.recv(paddle.zeros([3]), 0)
    return [work for work in outbox._sends.values() if work.call.name == "send" and not work.done]


def test_nothing_is_kept_of_what_was_waited_for(workers):
    workers(2)(forget)
    assert workers(2)(waited_for) == [[], []]


def forget():
    outbox.close()
    outbox._left.clear()


def at_the_end(seconds, limit):
    """Rank 0 leaves a message in a group that it closes at once; rank 1 receives it later, or never."""
    import time

    group = dist.new_group([0, 1])
    if dist.get_rank() == 0:
        task = dist.isend(paddle.full([100_000], 3.0), 1, group)
        began = time.monotonic()
        outbox.AT_THE_END_S, before = limit, outbox.AT_THE_END_S
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dist.destroy_process_group(group)
        outbox.AT_THE_END_S = before
        assert task is not None
        return time.monotonic() - began, [str(one.message) for one in caught]
    time.sleep(seconds)
    into = paddle.zeros([100_000])
    if seconds < limit:
        dist.recv(into, 0, group)
    return float(into.mean())


def test_the_end_of_a_connection_waits_for_messages(workers):
    (took, warned), mean = workers(2)(at_the_end, 1.0, 60.0)
    assert (mean, warned) == (3.0, [])
    assert took > 0.1  # rank 1 receives after a second


def test_a_message_that_nobody_receives_is_named_at_the_end(workers):
    (took, warned), _ = workers(2)(at_the_end, 3.0, 2.0)
    assert 1.9 < took < 60
    assert len(warned) == 1
    assert "send float32[100000] to rank 1" in warned[0]
