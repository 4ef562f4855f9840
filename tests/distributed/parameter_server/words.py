"""A model of words, whose table is in one process or on shards, and its losses."""

from typing import Any

import numpy as np

import sampan as paddle
from sampan import nn
from sampan.distributed.parameter_server import Service

ROWS, DIM, STEPS = 50, 6, 10


class Model(nn.Layer):
    """Predicts whether a bag of words has an odd word."""

    def __init__(self, table: Any) -> None:
        super().__init__()
        self.table, self.wide = table, nn.Linear(DIM, 1)

    def forward(self, ids: Any) -> Any:
        return self.wide(self.table(ids).sum(1))[:, 0]


def data(worker: int = 0) -> list[tuple[Any, Any]]:
    """Batches of ids [16, 4] and labels [16]."""
    rng = np.random.default_rng(worker)
    batches = [rng.zipf(1.3, (16, 4)) % ROWS for _ in range(STEPS)]
    return [(paddle.to_tensor(ids), paddle.to_tensor((ids % 2).max(1).astype(np.float32))) for ids in batches]


def losses(table: Any, wrap: Any, rule: str, settings: dict[str, Any], prefetch: bool = False) -> list[float]:
    """Train on `data`; the loss of each step."""
    paddle.seed(0)
    model = Model(table)
    rate = paddle.optimizer.lr.StepDecay(0.1, 4)
    step = wrap(getattr(paddle.optimizer, rule)(rate, parameters=model.parameters(), **settings))
    found, batches = [], data()
    for number, (ids, labels) in enumerate(batches):
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids), labels)
        if prefetch and number + 1 < len(batches):
            table.prefetch(batches[number + 1][0])
        loss.backward()
        step.step()
        step.clear_grad()
        rate.step()
        found.append(float(loss))
    return found


def in_one_process(rule: str, settings: dict[str, Any], padding_idx: int | None = None) -> list[float]:
    """The oracle: nn.Embedding(sparse=True) with the rows that shards draw."""
    table = nn.Embedding(ROWS, DIM, padding_idx=padding_idx, sparse=True)
    first = paddle.embedding.DynamicEmbedding(ROWS, DIM, padding_idx)
    table.weight.set_value(first(paddle.arange(ROWS)))
    return losses(table, lambda optimizer: optimizer, rule, settings)


def served(transport: Any, a_sync: bool, k_steps: int = 0) -> Service:
    """Tables on these shards, for one worker."""
    from sampan.distributed.server_roles import Roles

    return Service(Roles(), a_sync, k_steps, transport)
