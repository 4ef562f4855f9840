"""What the processes of these tests run: the same mixture of experts in one process and over several."""

from typing import Any

import numpy as np

import sampan as paddle
import sampan.distributed as dist
from sampan import nn
from sampan.distributed.moe import ClipGradForMOEByGlobalNorm, MoELayer
from sampan.distributed.moe.routing import counts_of, limited

WIDTH, EXPERTS = 8, 4
_groups: dict[int, Any] = {}


def group_of_all() -> Any:
    """A group of its own, made once in each process of a pool."""
    count = dist.get_world_size()
    if count == 1:
        return None
    found = _groups.get(count)
    if found is None or dist.get_group(found.id) is not found:
        found = _groups[count] = dist.new_group([*range(count)])
    return found


def numbers(*shape: int, seed: int) -> Any:
    return np.random.RandomState(seed).randn(*shape)


def expert(number: int) -> nn.Layer:
    layer = nn.Sequential(nn.Linear(WIDTH, 16), nn.GELU(), nn.Linear(16, WIDTH))
    for at, parameter in enumerate(layer.parameters()):
        parameter.set_value(numbers(*parameter.shape, seed=10 * number + at) * 0.3)
    return layer


def mixture(kind: str, group: Any, capacity: float = 100.0, **settings: Any) -> MoELayer:
    count = 1 if group is None else group.nranks
    share = EXPERTS // count
    first = share * (0 if group is None else group.rank)
    gate = {"type": kind, "top_k": 1 if kind == "switch" else 2}
    experts = [expert(number) for number in range(first, first + share)]
    made = MoELayer(WIDTH, nn.LayerList(experts), gate, group, **settings)
    made.gate.gate.weight.set_value(numbers(WIDTH, EXPERTS, seed=7))
    made.gate.capacity, made.gate.random_routing = (capacity, capacity), False
    made.eval()  # without the numbers that SwitchGate adds
    return made


def computed(kind: str, batches: int, capacity: float = 100.0, **settings: Any) -> Any:
    """Outputs, gradients of the input and of the first expert, and the gate's loss, in float64.

    Every process has its part of the batches; their number need not divide.
    """
    before = paddle.get_default_dtype()
    paddle.set_default_dtype("float64")
    try:
        group = group_of_all()
        layer = mixture(kind, group, capacity, **settings)
        own = np.array_split(numbers(batches, 3, WIDTH, seed=5), dist.get_world_size())[dist.get_rank()]
        x = paddle.to_tensor(own, stop_gradient=False)
        y = layer(x)
        (y * y).sum().backward()
        gradients = [
            p.grad.numpy() if p.grad is not None else 0 * p.numpy() for p in layer.experts[0].parameters()
        ]
        loss = layer.gate.get_loss()
        return y.numpy(), x.grad.numpy(), gradients, None if loss is None else loss.item()
    finally:
        paddle.set_default_dtype(before)


def shared(kind: str, batches: int) -> Any:
    """All processes have the same rows and experts, and each takes a part of the rows."""
    before = paddle.get_default_dtype()
    paddle.set_default_dtype("float64")
    try:
        layer = mixture(kind, None, mp_group=group_of_all())
        x = paddle.to_tensor(numbers(batches, 3, WIDTH, seed=5), stop_gradient=False)
        y = layer(x)
        (y * y).sum().backward()
        return y.numpy(), x.grad.numpy()
    finally:
        paddle.set_default_dtype(before)


def without_rows() -> Any:
    """All rows go to the experts of process 0; the others' experts get no gradient, and the steps go on."""
    layer = mixture("naive", group_of_all())
    layer.gate.gate.bias.set_value(np.array([99.0, 98, 0, 0], "float32"))
    x = paddle.to_tensor(numbers(2, 3, WIDTH, seed=5).astype("float32"), stop_gradient=False)
    for _ in range(2):
        layer(x).sum().backward()
    return [p.grad is None for p in layer.experts.parameters()], float(x.grad.abs().sum()) > 0


def routed(choices: Any, capacity: int) -> Any:
    """What is left of the choice of this process; the counts that it sends and gets."""
    choice = paddle.to_tensor(choices[dist.get_rank()]).data
    group = group_of_all()
    left = limited(choice, EXPERTS, capacity, group)
    return left.tolist(), [counts.tolist() for counts in counts_of(left, EXPERTS, group)]


def clipped(norm: float) -> Any:
    """The gradients of a shared parameter and of this process's expert after a step of SGD with clipping."""
    rank = dist.get_rank()
    shared_one, own = paddle.create_parameter([2], "float32"), paddle.create_parameter([2], "float32")
    own.expert = True
    for parameter in (shared_one, own):
        parameter.set_value(np.zeros(2, "float32"))
    clip = ClipGradForMOEByGlobalNorm(norm, lambda p: getattr(p, "expert", False), group_of_all())
    optimizer = paddle.optimizer.SGD(1.0, parameters=[shared_one, own], grad_clip=clip)
    (shared_one * paddle.to_tensor([3.0, 0.0]) + own * paddle.to_tensor([0.0, 4.0 + rank])).sum().backward()
    pairs = [(p, p.grad) for p in (shared_one, own)]
    called = [g.tolist() for _, g in clip(pairs)]
    optimizer.step()
    return [(-p).tolist() for p in (shared_one, own)], called
