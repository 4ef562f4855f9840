"""How notebook 13's functions are called: by workers that are threads, on vectors and on networks that train together.

As in `drivers.py`: they run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import sampan
from sampan import nn
from sampan.distributed import feedback, ring
from sampan.distributed.ring_average import RingAverage
from sampan.learn import slots
from sampan.learn.cases import Text
from sampan.learn.drivers import driver

WAIT = 6.0  # seconds: a message between threads takes microseconds


def _of_worker(rank: int) -> Text:
    return f"the vector of worker {rank}", f"{rank} 号工作者的向量"


def _dtype(name: str | None) -> torch.dtype | None:
    return None if name is None else getattr(torch, name)


def _summed(slot: slots.Slot, vectors: list[Any], wire: str | None) -> list[tuple[Any, list[int]]]:
    """(the vector afterwards, the bytes of its messages) of each worker."""

    def work(links: ring.ThreadLinks) -> tuple[Any, list[int]]:
        values = vectors[links.rank]
        slot.placed(values, links, _dtype(wire))
        return values.numpy(), links.sent

    return ring.run(len(vectors), work, timeout=WAIT)


@driver(answer=lambda _, vectors, *__: [_of_worker(rank) for rank in range(len(vectors))])
def vectors_summed(slot: slots.Slot, vectors: list[Any], wire: str | None = None) -> Any:
    """The vector of each worker after the call."""
    return [values for values, _ in _summed(slot, vectors, wire)]


@driver(
    answer=lambda _, vectors, *__: [
        [_of_worker(rank) for rank in range(len(vectors))],
        ("the messages that each worker sends", "每个工作者发送的消息数"),
        ("the bytes of all messages", "全部消息的字节数"),
    ]
)
def messages_counted(slot: slots.Slot, vectors: list[Any], wire: str | None = None) -> Any:
    """(the vectors, how many messages each worker sends, the bytes of all messages of all workers)."""
    found = _summed(slot, vectors, wire)
    sent = [messages for _, messages in found]
    return [values for values, _ in found], np.array([len(one) for one in sent]), sum(map(sum, sent))


def _squares(x: Any, y: Any, weight: Any) -> Any:
    return ((x @ weight - y) ** 2).mean()


def _trained(x: Any, y: Any, weight: Any, world: int, steps: int, options: dict[str, Any]) -> list[Any]:
    """The weight of each worker after steps of SGD on the mean square error; worker r has the rows r, r + world..."""

    def work(links: ring.ThreadLinks) -> Any:
        layer: Any = nn.Linear(weight.shape[0], weight.shape[1], bias_attr=False)
        layer.weight.set_value(weight.numpy())
        average = RingAverage(layer.parameters(), links, **options)
        rule = sampan.optimizer.SGD(0.1, parameters=layer.parameters())
        mine = sampan.to_tensor(x[links.rank :: world]), sampan.to_tensor(y[links.rank :: world])
        for _ in range(steps):
            _squares(*mine, layer.weight).backward()
            average()
            rule.step()
            rule.clear_grad()
        return layer.weight.numpy()

    return ring.run(world, work, timeout=WAIT)


def _weights(_: Any, x: Any, y: Any, weight: Any, world: int, *__: Any) -> list[Text]:
    return [(f"the weight of worker {rank}", f"{rank} 号工作者的权重") for rank in range(world)]


@driver(answer=_weights)
def workers_trained(slot: slots.Slot, x: Any, y: Any, weight: Any, world: int, steps: int) -> Any:
    """The weight of each worker after steps with averaged gradients, through the library."""
    return _trained(x, y, weight, world, steps, {})


@driver(answer=_weights)
def workers_saving(
    slot: slots.Slot, x: Any, y: Any, weight: Any, world: int, steps: int, share: float
) -> Any:
    """The same where only a share of the values is sent, with error feedback."""
    return _trained(x, y, weight, world, steps, {"share": share, "with_feedback": True})


def _compression(kind: str, size: int) -> Any:
    """A compression of a vector: to a dtype, to its `size` largest magnitudes, to signs, or none ("same")."""
    if kind == "largest":
        return lambda values: feedback.only_largest(values, size)
    if kind == "signs":
        return lambda values: torch.where(values < 0, -1.0, 1.0).to(values.dtype) * size
    return lambda values: values if kind == "same" else values.to(getattr(torch, kind))


@driver(
    answer=lambda _, gradients, *__: [
        [(f"what is sent in step {step}", f"第 {step} 步发送的值") for step in range(len(gradients))],
        [
            (f"`residual` after step {step}", f"第 {step} 步之后的 `residual`")
            for step in range(len(gradients))
        ],
        ("the dtype of what is sent", "发送值的 dtype"),
        ("the gradients after the calls", "调用之后的梯度"),
    ]
)
def gradients_sent(slot: slots.Slot, gradients: list[Any], residual: Any, kind: str, size: int = 0) -> Any:
    """(what is sent in each step, the residual after each, the dtype of what was sent last, the gradients afterwards)."""
    compress, sent, left = _compression(kind, size), [], []
    for gradient in gradients:
        sent.append(slot.placed(gradient, residual, compress))
        left.append(residual.numpy().copy())
    dtype = str(getattr(sent[-1], "dtype", type(sent[-1]).__name__)).removeprefix("torch.")
    return sent, left, dtype, [gradient.numpy() for gradient in gradients]
