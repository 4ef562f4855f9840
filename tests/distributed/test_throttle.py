"""A limit of the network: it delays, and changes no value."""

import threading
import time

import numpy as np
import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import throttle, traffic


@pytest.fixture(autouse=True)
def unlimited():
    yield
    throttle.limit(None)
    traffic.reset()


def test_a_message_takes_its_bytes_over_the_limit():
    begin = time.perf_counter()
    traffic.count("all_reduce", 10**9, 10**9)
    assert time.perf_counter() - begin < 60
    throttle.limit(1000)
    begin = time.perf_counter()
    traffic.count("all_reduce", 200, 150)
    assert 0.15 <= time.perf_counter() - begin < 60
    assert throttle.rate() == 1000
    with pytest.raises(ValueError, match="bytes_per_second: expected more than 0, got 0"):
        throttle.limit(0)


def test_lifting_the_limit_ends_a_delay_that_has_begun():
    throttle.limit(1)
    threading.Timer(0.1, throttle.limit, [None]).start()
    begin = time.perf_counter()
    throttle.pause(10**6)  # eleven days
    assert time.perf_counter() - begin < 60


def averaged(limit):
    rank = dist.get_rank()
    throttle.limit(limit if rank == 1 else None)
    value = paddle.to_tensor(np.arange(5000.0) / (rank + 3))
    begin = time.perf_counter()
    dist.all_reduce(value)
    throttle.limit(None)
    return value.numpy(), time.perf_counter() - begin


@pytest.mark.servers
def test_one_slow_sender_delays_all_and_the_sums_are_the_same_bits(workers):
    fast, slow = (workers(2)(averaged, limit) for limit in (None, 200_000))
    for (quick, _), (late, seconds) in zip(fast, slow, strict=True):
        assert quick.tobytes() == late.tobytes()
        assert seconds > 0.19  # 40,000 bytes from each of two
