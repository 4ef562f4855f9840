"""Connecting: addresses, a port that is taken, processes that are missing, connections that are closed and made anew."""

import os
import socket
import subprocess
import sys

import pytest
import torch

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import environment

pytestmark = pytest.mark.servers


def anew():
    """The sum over all processes after each of several connections."""
    sums = []
    for again in (dist.restart_process_group, dist.init_parallel_env, None):
        x = paddle.ones([2])
        dist.all_reduce(x)
        sums.append(x.tolist())
        if again is dist.init_parallel_env:
            dist.destroy_process_group()
            assert not dist.is_initialized()
            assert repr(again()) == repr(dist.get_group(0))
        elif again is not None:
            again()
    return sums, dist.is_initialized(), repr(dist.init_parallel_env())


def test_connected_anew(workers):
    for rank, (sums, connected, group) in enumerate(workers(2)(anew)):
        assert sums == [[2, 2]] * 3
        assert connected
        assert group == f"rank: {rank}, nranks: 2, id: 0, ranks: 0, 1; name: _default_pg"


def refused(**variables):
    """What `init_parallel_env` says in a process with these variables."""
    program = "import sampan.distributed as dist; dist.init_parallel_env()"
    settings = {**os.environ, "PADDLE_TRAINERS_NUM": "2", "SAMPAN_DISTRIBUTED_TIMEOUT": "2", **variables}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=settings,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr


def test_a_port_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        text = refused(PADDLE_MASTER=address, PADDLE_TRAINER_ID="0")
    assert f"RuntimeError: init_parallel_env: rank 0 of 2 could not meet the others at {address}" in text
    assert "another program uses that port" in text


def test_a_process_that_is_missing():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    text = refused(PADDLE_MASTER=address, PADDLE_TRAINER_ID="0")
    assert f"rank 0 of 2 could not meet the others at {address} within 2 s" in text


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        (
            {"PADDLE_TRAINER_ID": "2", "PADDLE_MASTER": "127.0.0.1:1"},
            "the rank 2 of the environment is not below 2",
        ),
        ({"PADDLE_MASTER": "nowhere"}, "the address of rank 0 is 'nowhere'"),
    ],
)
def test_mistakes_of_the_environment(monkeypatch, variables, text):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=text):
        dist.init_parallel_env()


def test_variables_of_torchrun(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert (dist.get_rank(), dist.get_world_size()) == (3, 4)
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")  # Paddle's come first
    assert dist.get_rank() == 1


@pytest.mark.skipif(torch.cuda.device_count() >= 2, reason="there are enough GPUs")
def test_nccl_with_fewer_gpus_than_processes_is_refused(monkeypatch):
    monkeypatch.setenv("PADDLE_DISTRI_BACKEND", "nccl")
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    found = torch.cuda.device_count()
    text = f"init_parallel_env: NCCL needs one GPU for each of the 2 processes of this machine, found {found}"
    with pytest.raises(ValueError, match=text):
        environment._backend(environment.ParallelEnv())
