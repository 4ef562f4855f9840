"""Functions that run in other processes."""

import os
import socket
import time
from multiprocessing.connection import Client

import numpy as np
import pytest
import torch

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import rpc
from sampan.distributed.spawn import free_ports

pytestmark = pytest.mark.servers


def where(a, b=0):
    return rpc.get_current_worker_info().name, os.getpid(), a + b


def doubled(x):
    return x * 2


def fails(number):
    raise ZeroDivisionError(f"number {number}")


def back(name):
    """Called by another worker, this calls that one."""
    return rpc.rpc_sync(name, where, args=(1,))[0]


def slow(seconds):
    time.sleep(seconds)
    return seconds


def unpicklable():
    return lambda: 0


def after_a_while(*values):
    time.sleep(0.1)
    return values


class TwoParts(Exception):
    """Cannot be read back from its `args`."""

    def __init__(self, one, two):
        super().__init__(f"{one}{two}")


def fails_oddly():
    raise TwoParts(1, 2)


def leaves():
    raise SystemExit(3)


def calls(port):
    rank = dist.get_rank()
    names = [f"worker{number}" for number in range(dist.get_world_size())]
    rpc.init_rpc(names[rank], rank, len(names), f"127.0.0.1:{port}")
    other = names[(rank + 1) % len(names)]
    found = {}
    found["pid"], (name, pid, total) = os.getpid(), rpc.rpc_sync(other, where, args=(2,), kwargs={"b": 3})
    found["called"] = name == other, pid, total
    found["itself"] = rpc.rpc_sync(names[rank], where, args=(1,))[1] == os.getpid()
    futures = [rpc.rpc_async(other, doubled, args=(paddle.full([3], float(k)),)) for k in range(20)]
    found["tensors"] = [future.wait().tolist() for future in futures]
    values, array = [1.0], torch.ones(3)
    late = rpc.rpc_async(other, after_a_while, args=(values, array))
    values[0], array[:] = 9.0, 9.0
    found["as they were"] = late.wait()[0], late.wait()[1].tolist()
    found["back"] = rpc.rpc_sync(other, back, args=(names[rank],)) == names[rank]
    found["infos"] = [info.name for info in rpc.get_all_worker_infos()], rpc.get_worker_info(other).rank
    with pytest.raises(ZeroDivisionError, match="number 5") as caught:
        rpc.rpc_sync(other, fails, args=(5,))
    found["note"] = f"in worker {other}" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="cannot send the result"):
        rpc.rpc_sync(other, unpicklable)
    with pytest.raises(RuntimeError, match=f"the result of {other} cannot be read: TypeError"):
        rpc.rpc_sync(other, fails_oddly)
    with pytest.raises(RuntimeError, match=rf"{other}: the function raised SystemExit\(3\)"):
        rpc.rpc_sync(other, leaves)
    for given, text in (
        ((3,), "fn: expected a function, got 3"),
        ((slow, 3), "args, kwargs: expected a tuple and a dict, got 3 and None"),
        ((slow, (0,), None, "1"), "timeout: expected seconds, got '1'"),
    ):
        with pytest.raises(TypeError, match=f"rpc_sync: {text}"):
            rpc.rpc_sync(other, *given)
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no result within 0\.2 s"):
        rpc.rpc_sync(other, slow, args=(4.0,), timeout=0.2)
    found["waited"] = time.monotonic() - began
    found["after"] = rpc.rpc_sync(other, slow, args=(0,)) == 0  # not the late answer
    with pytest.raises(ValueError, match="to: expected one of worker0, worker1"):
        rpc.rpc_sync("absent", slow)
    with pytest.raises(RuntimeError, match=f"is worker {names[rank]} already"):
        rpc.init_rpc("again", rank, len(names), f"127.0.0.1:{port}")
    info = rpc.get_worker_info(other)
    silent = socket.create_connection((info.ip, info.port))  # does not prove that it knows the key
    with pytest.raises((OSError, EOFError, Exception)) as refused:
        Client((info.ip, info.port), authkey=b"another key")
    found["refused"] = type(refused.value).__name__
    found["beside a silent one"] = rpc.rpc_sync(other, slow, args=(0,), timeout=60.0)
    many = [rpc.rpc_async(other, slow, args=(0.05,)) for _ in range(8)]  # over connections of their own
    found["at once"] = [future.wait() for future in many]
    silent.close()
    rpc.shutdown()
    with pytest.raises(RuntimeError, match="rpc_async: call init_rpc first"):
        rpc.rpc_sync(other, slow)
    return found


def test_functions_run_in_the_other_process(workers):
    (port,) = free_ports(1)
    both = workers(2)(calls, port)
    for one, other in (both, both[::-1]):
        assert one["called"] == (True, other["pid"], 5)
        assert one["tensors"] == [[2.0 * k] * 3 for k in range(20)]
        assert one["as they were"] == ([1.0], [1.0] * 3)
        assert one["itself"] and one["back"] and one["note"] and one["after"]
        assert one["infos"][0] == ["worker0", "worker1"]
        assert 0.2 <= one["waited"] < 3.9
        assert one["beside a silent one"] == 0 and one["at once"] == [0.05] * 8
        assert one["refused"] == "AuthenticationError"


def test_one_worker_as_in_paddles_examples(monkeypatch, capsys):
    port, own = free_ports(2)
    monkeypatch.setenv("PADDLE_WORKER_ENDPOINT", f"127.0.0.1:{own}")
    rpc.init_rpc("worker0", rank=0, world_size=1, master_endpoint=f"127.0.0.1:{port}")
    future = rpc.rpc_async("worker0", np.add, args=(2, 3))
    print(future.wait(), rpc.get_all_worker_infos())
    rpc.shutdown()
    assert capsys.readouterr().out == f"5 [{{name: worker0, rank: 0, ip: 127.0.0.1, port: {own}}}]\n"
    for given, text in (
        ((0, 1), "master_endpoint: expected host:port, got ''"),
        ((0, 1, "127.0.0.1:99999"), "master_endpoint: expected host:port, got '127.0.0.1:99999'"),
        ((), "rank: expected a number, since PADDLE_TRAINER_ID is not set"),
        ((2, 2), "rank: expected 0 to world_size - 1 = 1, got 2"),
        (("0", 2), "rank: expected an int, got '0'"),
    ):
        with pytest.raises(ValueError, match=f"init_rpc: {text}"):
            rpc.init_rpc("worker0", *given)


def same_name(port):
    with pytest.raises(AssertionError, match="name `twin` is repeated"):
        rpc.init_rpc("twin", dist.get_rank(), 2, f"127.0.0.1:{port}")
    dist.barrier()  # the store is that of rank 0


def test_names_are_unique(workers):
    workers(2)(same_name, free_ports(1)[0])
