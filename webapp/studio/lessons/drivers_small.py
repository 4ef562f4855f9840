"""How notebook 12's functions are called: on weights and logits of their own, and through the library's quantisation, pruning
and distillation.

As in `drivers.py`: they run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import sampan
from sampan import nn, slim
from sampan.learn import slots
from sampan.learn.cases import Text
from sampan.learn.drivers import THE_VALUE, driver, gradient_of, parameter
from sampan.learn.language import say
from sampan.quantization import PTQ, QuantConfig, quanters
from sampan.quantization.observers import (
    AbsMaxChannelWiseWeightObserver,
    AbsMaxChannelWiseWeightObserverLayer,
    AbsmaxObserver,
)
from sampan.slim import distill

from .drivers_graphs import go_back, gradient

MAXIMA: Text = ("`self._max`", "`self._max`")


@driver(answer=lambda *_: [MAXIMA, parameter("data")])
def largest_seen(slot: slots.Slot, data: Any, axis: int) -> Any:
    """(the largest magnitudes, the data after the call) of an observer with that axis."""
    observer = AbsMaxChannelWiseWeightObserverLayer(None, quant_axis=axis)
    slot.placed(observer, data)
    if observer._max is None:
        raise ValueError(
            say(("self._max was not set: it holds the answer", "没有给 self._max 赋值：答案要存在那里"))
        )
    return np.asarray(observer._max), data.numpy()


@driver
def scales_converted(slot: slots.Slot, linear: Any, convolution: Any, x: Any) -> Any:
    """The scales of a Linear and of a Conv2D in a network that PTQ has converted."""
    inputs, outputs = linear.shape
    filters, channels, height, width = convolution.shape
    layers: list[Any] = [nn.Linear(inputs, outputs), nn.Conv2D(channels, filters, (height, width))]
    shapes = [[-1, inputs], [-1, channels, height, width]]
    found = []
    for layer, weight, shape in zip(layers, (linear, convolution), shapes, strict=True):
        layer.weight.set_value(weight.numpy())
        ptq = PTQ(QuantConfig(AbsmaxObserver(), AbsMaxChannelWiseWeightObserver()))
        model = ptq.quantize(nn.Sequential(layer))
        model(sampan.to_tensor(x).reshape(shape))
        found.append(ptq.convert(model)[0].weight_quanter._dequanter._scales.numpy())
    return found


@driver(answer=lambda *_: [THE_VALUE, gradient_of("x"), parameter("x"), parameter("scale")])
def levels_rounded(slot: slots.Slot, x: Any, scale: Any, levels: int, g: Any) -> Any:
    """(value, gradient of x, x and scale after the call) of the operator, which has the slot as its body."""
    given, limits = sampan.to_tensor(x, stop_gradient=False), sampan.to_tensor(scale)
    value: Any = quanters.fake_quantize(given, limits, levels)
    go_back(value, g)
    return value.numpy(), gradient(given, "x"), given.numpy(), limits.numpy()


@driver(answer=lambda *_: [THE_VALUE, gradient_of("x")])
def weights_in_bits(slot: slots.Slot, weight: Any, kind: str, bits: int, g: Any) -> Any:
    """(value, gradient) of the library's quanter for the weight of a layer of this kind, "Linear" or "Conv2D"."""
    layer = getattr(nn, kind)(1, 1, *([1] if kind == "Conv2D" else []))
    given = sampan.to_tensor(weight, stop_gradient=False)
    value: Any = quanters.FakeQuanterChannelWiseAbsMaxObserverLayer(layer, bits)(given)
    go_back(value, g)
    return value.numpy(), gradient(given, "x")


def _channels(numbers: Sequence[Sequence[Any]]) -> list[list[tuple[int, int]]]:
    return [[(int(number), int(index)) for number, index in one] for one in numbers]


@driver(answer=lambda *_: [("the channels", "各通道"), parameter("filters")])
def channels_ranked(slot: slots.Slot, filters: list[Any], channels: list[Any], count: int) -> Any:
    """(the channels that the slot returns, the weights after the call)."""
    pruner = slim.L1NormFilterPruner(nn.Linear(2, 2), [1, 2])
    found = slot.placed(pruner, dict(enumerate(filters)), _channels(channels), count)
    return np.array([int(number) for number in found], np.int64), [weight.numpy() for weight in filters]


class _Residual(nn.Layer):
    """first and second make the channels of one sum; inner is between them."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.first = nn.Conv2D(1, width, 3, padding=1)
        self.inner = nn.Conv2D(width, inner, 1)
        self.second = nn.Conv2D(inner, width, 3, padding=1)
        self.last = nn.Conv2D(width, 2, 1)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        return self.last(x + self.second(nn.functional.relu(self.inner(x))))


NAMES = ("first", "inner", "second", "last")


@driver(answer=lambda *_: [(f"the weight of `{name}`", f"`{name}` 的权重") for name in NAMES])
def network_pruned(slot: slots.Slot, weights: list[Any], ratios: dict[str, float]) -> Any:
    """The weights of a network with a residual sum after the library has pruned it."""
    network: Any = _Residual(weights[0].shape[0], weights[1].shape[0])
    for name, weight in zip(NAMES, weights, strict=True):
        getattr(network, name).weight.set_value(weight.numpy())
    pruner = slim.L1NormFilterPruner(network, [1, 1, 4, 4])
    pruner.prune_vars({f"{name}.weight": ratio for name, ratio in ratios.items()})
    return [getattr(network, name).weight.numpy() for name in NAMES]


@driver(answer=lambda *_: [THE_VALUE, gradient_of("student"), parameter("student"), parameter("teacher")])
def softened(slot: slots.Slot, student: Any, teacher: Any, T: float) -> Any:
    """(value, gradient of the student's logits, both logits after the call). Raises ValueError where the teacher
    gets a gradient."""
    mine, other = (sampan.to_tensor(logits, stop_gradient=False) for logits in (student, teacher))
    value: Any = slot.placed(mine, other, T)
    go_back(value, np.ones((), student.numpy().dtype))
    if other.grad is not None and np.asarray(other.grad.numpy()).any():
        raise ValueError(
            say(
                ("teacher: it got a gradient, but it is not trained", "teacher：它得到了梯度，但老师并不训练")
            )
        )
    return value.numpy(), gradient(mine, "student"), mine.numpy(), other.numpy()


@driver
def student_taught(
    slot: slots.Slot, x: Any, labels: Any, weights: list[Any], T: float, share: float, steps: int
) -> Any:
    """The weight of a student of one Linear layer after some steps of SGD on the library's `distil` loss."""
    layers: list[Any] = [nn.Linear(w.shape[0], w.shape[1], bias_attr=False) for w in weights]
    student, teacher = layers
    for layer, weight in zip(layers, weights, strict=True):
        layer.weight.set_value(weight.numpy())
    loss = distill.distil(student, teacher, T=T, weight=share)
    rule = sampan.optimizer.SGD(0.1, parameters=student.parameters())
    given, wanted = sampan.to_tensor(x), sampan.to_tensor(labels)
    for _ in range(steps):
        loss(given, wanted).backward()
        rule.step()
        rule.clear_grad()
    return student.weight.numpy()
