"""Paddle's functions for processes on CPUs that only wait for one another."""

import time

import pytest

import sampan.distributed as dist
from sampan.distributed.spawn import free_ports

pytestmark = pytest.mark.servers


def meet(address):
    rank = dist.get_rank()
    dist.destroy_process_group()
    dist.gloo_init_parallel_env(rank, 2, address)
    time.sleep(0.3 * rank)
    arrived = time.time()
    dist.gloo_barrier()
    left = time.time()
    dist.gloo_release()
    with pytest.raises(RuntimeError, match="call gloo_init_parallel_env first"):
        dist.gloo_barrier()
    dist.init_parallel_env()
    return arrived, left


def test_processes_meet(workers):
    times = workers(2)(meet, f"127.0.0.1:{free_ports(1)[0]}")
    assert min(left for _, left in times) >= max(arrived for arrived, _ in times)


def test_one_process_is_too_few():
    with pytest.raises(AssertionError, match="at least 2"):
        dist.gloo_init_parallel_env(0, 1, "127.0.0.1:1")
