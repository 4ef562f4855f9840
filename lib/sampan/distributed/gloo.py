"""Paddle's functions for processes on CPUs that only wait for one another."""

import os

from . import environment
from .arguments import check_kind
from .collective import barrier


def gloo_init_parallel_env(rank_id: int, rank_num: int, server_endpoint: str) -> None:
    """Connect process `rank_id` of `rank_num`; process 0 serves at `server_endpoint`, as host:port."""
    check_kind(rank_id, int, "rank_id")
    check_kind(rank_num, int, "rank_num")
    check_kind(server_endpoint, str, "server_endpoint")
    if rank_num < 2:
        raise AssertionError(f"gloo_init_parallel_env: rank_num should be at least 2, got {rank_num}")
    os.environ.update(
        PADDLE_TRAINER_ID=str(rank_id),
        PADDLE_TRAINERS_NUM=str(rank_num),
        PADDLE_MASTER=server_endpoint,
        PADDLE_DISTRI_BACKEND="gloo",
    )
    environment.init_parallel_env()


def gloo_barrier() -> None:
    """Wait for the other processes. RuntimeError before `gloo_init_parallel_env`."""
    if not environment.is_initialized():
        raise RuntimeError("gloo_barrier: call gloo_init_parallel_env first")
    barrier()


def gloo_release() -> None:
    """Close the connections."""
    environment.disconnect()
