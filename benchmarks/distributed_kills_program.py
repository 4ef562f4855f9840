"""The program of `distributed_kills.py`: two workers train a network, and push whole numbers to tables on shards.

Arguments: how many steps, steps between two copies of the state, a name, and the addresses of shards ("" for none). Each
worker writes `steps.RANK`: a line [step, loss, its process, when the step began, when it ended]; and `pushes.RANK`: the
number of a push before it is sent, and again with "answered" behind it.
"""

import json
import os
import sys
import time

import numpy as np

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed.elastic import Run, Samples
from sampan.distributed.parameter_server import Client, TableSettings
from sampan.transport import Sockets

TABLE = TableSettings(4, initializer=("constant", 0.0), workers=2, staleness=None)
SHARED, OWN = np.arange(40), 32  # rows that each push raises by 1; and as many rows that no other push has


def own_ids(worker: int, push: int) -> np.ndarray:
    """The rows of one push alone."""
    return (worker + 1) * 10_000_000 + push * OWN + np.arange(OWN)


class Pusher:
    """A worker's pushes, each of which raises its rows by 1."""

    def __init__(self, worker: int, addresses: str) -> None:
        self.client = Client(Sockets(addresses.split(",")), worker)
        self.client.table("t", TABLE)
        self.worker = worker
        self.log = open(f"pushes.{worker}", "a", buffering=1)  # noqa: SIM115  as long as the program

    def step(self) -> None:
        """Pull and push once, and wait for the answer."""
        number = self.client.step
        ids = np.concatenate([SHARED, own_ids(self.worker, number)])
        self.client.pull("t", ids)
        print(number, file=self.log)
        self.client.push({"t": (ids, np.full((len(ids), TABLE.dim), -1, np.float32), 1.0)})
        self.client.settle()
        print(number, "answered", file=self.log)


def main() -> None:
    steps, every, job, addresses = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    dist.init_parallel_env()
    paddle.seed(3)
    rng = np.random.default_rng(0)
    xs, ys = rng.standard_normal((4000, 64)).astype("float32"), rng.integers(0, 10, 4000)
    model = paddle.nn.Sequential(
        paddle.nn.Linear(64, 256), paddle.nn.ReLU(), paddle.nn.Dropout(0.2), paddle.nn.Linear(256, 10)
    )
    optimizer = paddle.optimizer.Adam(0.001, parameters=model.parameters())
    run = Run(model, optimizer, Samples(4000, 64), "state", every=every, job=job)
    pusher = Pusher(dist.get_rank(), addresses) if addresses else None
    with open(f"steps.{dist.get_rank()}", "a", buffering=1) as log:
        for step in run.steps(steps):
            began = time.time()
            x, y = paddle.to_tensor(xs[step.samples]), paddle.to_tensor(ys[step.samples])
            loss = step.share(paddle.nn.functional.cross_entropy(model(x), y))
            loss.backward()
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad, dist.ReduceOp.AVG)
            optimizer.step()
            optimizer.clear_grad()
            if pusher is not None:
                pusher.step()
            time.sleep(0.02)  # a step of a larger network
            print(json.dumps([step.number, float(loss), os.getpid(), began, time.time()]), file=log)


if __name__ == "__main__":
    main()
