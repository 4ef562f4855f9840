"""A pool of connected worker processes for tests: started once in a test session, then reused.

`Pool(2)(function, *args)` calls a function of a test module in every process and returns the list of results, by rank.
"""

import faulthandler
import os
import sys
import traceback
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

from sampan.distributed.spawn import end_with_parent, free_ports

SECONDS = 150  # a busy machine takes a minute for some


class Pool:
    """`count` processes that `init_parallel_env` has connected."""

    def __init__(self, count: int, **environment: str) -> None:
        context = get_context("spawn")
        variables = {"PADDLE_TRAINERS_NUM": str(count), "PADDLE_MASTER": f"127.0.0.1:{free_ports(1)[0]}"}
        self.pipes, self.processes, self.calls = [], [], 0
        for rank in range(count):
            own, theirs = context.Pipe()
            given = {**variables, **environment, "PADDLE_TRAINER_ID": str(rank)}
            process = context.Process(target=_serve, args=(theirs, given, os.getpid()), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(own)
            self.processes.append(process)

    def __call__(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The results by rank. Raises the first error."""
        answers = self.outcomes(function, *args)
        for rank, answer in enumerate(answers):
            if isinstance(answer, Exception):
                answer.add_note(f"(rank {rank} of {len(answers)})")
                raise answer
        return answers

    def outcomes(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The result of each process, or the Exception that it raised; EOFError for one that ended."""
        self.calls += 1
        for pipe in self.pipes:
            pipe.send((self.calls, function, args))
        return [self._answer(pipe) for pipe in self.pipes]

    def _answer(self, pipe: Any) -> Any:
        call = 0
        while call != self.calls:  # an answer that came too late is not that of this call
            if not pipe.poll(SECONDS):
                return TimeoutError(f"no answer within {SECONDS} s")
            try:
                call, answer = pipe.recv()
            except (EOFError, ConnectionError) as error:
                return EOFError(f"the process has ended: {error}")
        return answer

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process, pipe in zip(self.processes, self.pipes, strict=True):
            process.join()
            pipe.close()


def _serve(pipe: Any, environment: dict[str, str], parent: int) -> None:
    """A worker: call what is sent, and send back what it returns."""
    faulthandler.enable()  # one that is aborted says where its threads were
    end_with_parent(parent)
    os.environ.update(environment)
    import torch

    import sampan
    import sampan.distributed as dist

    torch.set_num_threads(1)
    dist.init_parallel_env()
    seed = (
        1000 * (1 + int(os.environ.get("SAMPAN_TEST_SEED", "0"))) + dist.get_rank()
    )  # another in each process
    while True:
        call, function, args = pipe.recv()
        sampan.seed(seed)
        try:
            answer = function(*args)
        except Exception as error:  # it is the answer
            answer = error
            answer.add_note(traceback.format_exc())
        sampan.set_default_dtype("float32")  # for the next test
        sampan.utils.unique_name.switch()  # stages of a pipeline make other layers in each process
        if meshes := sys.modules.get("sampan.distributed.auto_parallel.process_mesh"):
            meshes._global[0] = None  # it goes before the mesh that a later program gives
        pipe.send((call, answer))
