"""Networks of several workers, whose parameters lie on shards."""

import threading
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.distributed.parameter_server import Service, start_shards
from sampan.distributed.server_roles import Roles
from sampan.transport import Transport


def network(seed: int) -> nn.Layer:
    paddle.seed(seed)
    return nn.Sequential(nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))


def batch(step: int) -> tuple[Any, Any]:
    x = np.random.default_rng(step).normal(size=(16, 40)).astype(np.float32)
    return x, x[:, :1] * 2 - 1


class Worker:
    """One of two workers, in a thread of its own."""

    def __init__(
        self, home: Transport, number: int, rule: Any, a_sync: bool = False, k_steps: int = 0
    ) -> None:
        self.net, self.number = network(number), number
        self.service = Service(Roles(False, number, 2), a_sync, k_steps, home)
        self.step = self.service.optimizer(rule(self.net.parameters()), a_sync, k_steps)
        self.error: Exception | None = None

    def train(self, steps: int) -> None:
        try:
            self.service.init_worker()
            for number in range(steps):
                x, y = (paddle.to_tensor(part[self.number :: 2]) for part in batch(number))
                loss = ((self.net(x) - y) ** 2).mean()
                loss.backward()
                self.step.step()
                self.step.clear_grad()
            self.service.client().settle()
        except Exception as error:
            self.error = error


def trained(workers: list[Worker], steps: int) -> None:
    threads = [threading.Thread(target=worker.train, args=(steps,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for worker in workers:
        if worker.error is not None:
            raise worker.error


@pytest.mark.parametrize(("name", "given"), [("Momentum", {}), ("Adam", {"lazy_mode": True})])
def test_two_workers_step_as_one_process_does(name: str, given: dict[str, Any]) -> None:
    rule = getattr(paddle.optimizer, name)
    home = start_shards(2)
    workers = [Worker(home, n, lambda parameters: rule(0.05, parameters=parameters, **given)) for n in (0, 1)]
    trained(workers, 5)
    alone = network(0)
    step = rule(0.05, parameters=alone.parameters(), **given)
    for number in range(5):
        x, y = map(paddle.to_tensor, batch(number))
        ((alone(x) - y) ** 2).mean().backward()
        step.step()
        step.clear_grad()
    for mine, other, expected in zip(
        *(worker.net.parameters() for worker in workers), alone.parameters(), strict=True
    ):
        np.testing.assert_array_equal(mine.numpy(), other.numpy())
        np.testing.assert_allclose(mine.numpy(), expected.numpy(), rtol=0, atol=2e-5)


def test_in_geo_mode_the_changes_of_all_workers_count() -> None:
    """Worker 1 has the opposite gradients of worker 0 beside a common part, which alone is left."""
    home = start_shards(2)
    workers = [Worker(home, n, lambda p: paddle.optimizer.SGD(1.0, parameters=p), True, 2) for n in (0, 1)]
    first = [parameter.numpy().copy() for parameter in workers[0].net.parameters()]
    for worker in workers:  # one after the other, so that the result is exact
        worker.service.init_worker()
    for _ in range(4):
        for worker in workers:
            for parameter in worker.net.parameters():
                part = (1.0, -0.5)[worker.number] * 2.0**-6
                parameter._grad = paddle.full_like(parameter, part)
            worker.step.step()
            worker.step.clear_grad()
    for worker in workers:
        worker.service.client().settle()
        worker.step._dense.pull()
        for parameter, before in zip(worker.net.parameters(), first, strict=True):
            expected = before - 4 * 2.0**-6 * (1.0 - 0.5) / 2
            np.testing.assert_allclose(parameter.numpy(), expected, rtol=0, atol=1e-6)


def test_parameters_of_another_dtype_and_workers_that_wait_in_vain() -> None:
    home = start_shards(1)
    worker = Worker(home, 1, lambda p: paddle.optimizer.SGD(1.0, parameters=p))
    worker.service.client().timeout = 0.05
    with pytest.raises(TimeoutError, match=r"worker 0 has not set the parameters for 0.05 s"):
        worker.service.init_worker()
    worker.net.to(dtype="float64")
    with pytest.raises(ValueError, match="expected float32 with several workers"):
        worker.service.init_worker()
