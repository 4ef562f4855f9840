"""Functions run in several new processes."""

import ctypes
import os
import random
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import torch

from ..engine.errors import InvalidArgument
from ..transport.threads import use_threads

__all__ = ["spawn"]

_OPTIONS = ("backend", "gpus", "ips", "start_method")
_OF_THE_LAUNCHER = ("TORCHELASTIC_", "PADDLE_", "MASTER_", "LOCAL_")
PR_SET_PDEATHSIG = 1


class MultiprocessContext:
    """What `spawn` returns: its processes."""

    def __init__(self, context: Any = None, return_queues: Sequence[Any] = ()) -> None:
        self._context, self.return_queues = context, list(return_queues)
        self.processes = [] if context is None else context.processes

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the processes; False where some still run after `timeout` seconds.

        Raises an Exception with the rank and traceback of the first process that failed, after the others
        were ended.
        """
        return True if self._context is None else bool(self._context.join(timeout))


def spawn(
    func: Callable[..., Any],
    args: Iterable[Any] = (),
    nprocs: int = -1,
    join: bool = True,
    daemon: bool = False,
    **options: Any,
) -> MultiprocessContext:
    """Call `func(*args)` in `nprocs` new processes, each with the environment that `init_parallel_env` reads.

    nprocs: -1 for one process for each GPU. One process is this one: the function is called here. join: wait,
    and raise the error of a process that fails. daemon: the processes end with this one's normal end; they
    end in any case when this process is killed. options: start_method ("spawn", "fork", "forkserver"),
    backend ("gloo", "nccl", "auto"), gpus ("0,1"). func and args are pickled. ValueError for another option.
    """
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise ValueError(f"spawn: unknown option {unknown[0]!r}; expected one of {', '.join(_OPTIONS)}")
    gpus = [one for one in str(options.get("gpus") or "").split(",") if one]
    if nprocs == -1:
        nprocs = len(gpus) or max(torch.cuda.device_count(), 1)
    if not isinstance(nprocs, int) or nprocs < 1:
        raise InvalidArgument(f"nprocs: expected a positive number of processes, or -1, got {nprocs!r}")
    if nprocs == 1:
        func(*args)
        return MultiprocessContext()
    environments = _environments(nprocs, options.get("backend", "auto"), gpus)
    method = options.get("start_method") or "spawn"
    queues = [torch.multiprocessing.get_context(method).SimpleQueue() for _ in range(nprocs)]
    context = torch.multiprocessing.start_processes(
        _work, (func, tuple(args), environments, queues, os.getpid()), nprocs, False, daemon, method
    )
    made = MultiprocessContext(context, queues)
    while join and not made.join():
        pass  # another process is still running
    return made


def _environments(count: int, backend: str, gpus: Sequence[str]) -> list[dict[str, str]]:
    """The variables of each process, which are Paddle's."""
    endpoints = [f"127.0.0.1:{port}" for port in free_ports(count)]
    common = {
        "PADDLE_TRAINERS_NUM": str(count),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        "PADDLE_DISTRI_BACKEND": backend,
        "PADDLE_LOCAL_SIZE": str(count),
    }
    own = [
        {"PADDLE_TRAINER_ID": str(rank), "PADDLE_CURRENT_ENDPOINT": endpoints[rank]} for rank in range(count)
    ]
    for rank, variables in enumerate(own):
        variables["FLAGS_selected_gpus"] = gpus[rank] if rank < len(gpus) else str(rank)
    return [{**common, **variables} for variables in own]


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nothing listens on now, below those that the system gives to connections:
    seconds pass until they are opened."""
    ports: set[int] = set()
    while len(ports) < count:
        # Not from the seed of the program, with which another process would choose the same.
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            ports.add(port)
    return list(ports)


def _work(
    rank: int,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    environments: Sequence[dict[str, str]],
    queues: Sequence[Any],
    parent: int,
) -> None:
    """The start of a process: its variables, then the function."""
    end_with_parent(parent)
    for name in [one for one in os.environ if one.startswith(_OF_THE_LAUNCHER)]:
        del os.environ[name]  # where the program itself was launched, these describe other processes
    os.environ.update(environments[rank])
    share_cores(len(environments))
    queues[rank].put(func(*args))


def share_cores(processes: int) -> None:
    """Compute with this process's share of the machine's cores, unless OMP_NUM_THREADS says otherwise: more
    threads than cores wait for one another."""
    count = torch.get_num_threads()
    if "OMP_NUM_THREADS" not in os.environ:
        count = min(count, max(1, len(os.sched_getaffinity(0)) // processes))
        os.environ["OMP_NUM_THREADS"] = str(count)  # for the processes that this one starts
    use_threads(count)


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it ends (Linux)."""
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)
