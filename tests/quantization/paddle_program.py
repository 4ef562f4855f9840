"""Quantisation as a program of Paddle, and the answers of PaddlePaddle 3.3.1 to it, in `paddle_answers.json`.

To record them again: `.venv-paddle/bin/python tests/quantization/paddle_program.py`.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

ANSWERS = Path(__file__).with_name("paddle_answers.json")


def numbers(shape: Any, modulus: int, step: float) -> Any:
    """Fixed numbers around 0, without ties at the roundings."""
    whole = np.arange(np.prod(shape)) * 7919 % modulus - modulus // 2
    return (whole * step + 0.0007).astype("float32").reshape(shape)


def network(paddle: Any) -> Any:
    """A convolution, a ReLU and a linear layer, with fixed parameters."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.conv = paddle.nn.Conv2D(2, 3, 3, padding=1)
            self.relu = paddle.nn.ReLU()
            self.linear = paddle.nn.Linear(48, 5)

        def forward(self, x: Any) -> Any:
            y = self.relu(self.conv(x))
            return self.linear(y.reshape([y.shape[0], 48]))

    net = Net()
    for i, value in enumerate(net.parameters()):
        value.set_value(paddle.to_tensor(numbers(value.shape, 53 + i, 0.013)))
    return net


def inputs(paddle: Any) -> list[Any]:
    """Three batches of two pictures."""
    return [paddle.to_tensor(numbers([2, 2, 4, 4], 61 + i, 0.041 * (i + 1))) for i in range(3)]


def one(scale: Any) -> float:
    """A scale [] or [1] as a number."""
    return float(scale.numpy().item())


def answers(paddle: Any) -> dict[str, Any]:
    """What a library answers."""
    parts = ("quantization", "quantization.observers", "quantization.quanters", "nn.quant.format", "nn.quant")
    q, o, f, form, linear = (import_module(f"{paddle.__name__}.{part}") for part in parts)
    found: dict[str, Any] = {}
    net = network(paddle)
    net.eval()
    ptq = q.PTQ(q.QuantConfig(activation=o.AbsmaxObserver(8), weight=o.AbsmaxObserver(8)))
    model = ptq.quantize(net)
    for x in inputs(paddle):
        model(x)
    found["layers"] = [type(layer).__name__ for layer in model.sublayers()]
    found["activation"] = one(model.conv.activation_quanter.scales())
    found["relu"] = one(model.relu._observer.scales())
    found["weight"] = one(model.conv.weight_quanter.scales())
    converted = ptq.convert(model)
    found["converted"] = [type(layer).__name__ for layer in converted.sublayers()]
    found["state"] = sorted(converted.state_dict())
    found["whole"] = converted.conv.weight.numpy().astype(int).ravel().tolist()
    found["output"] = converted(inputs(paddle)[0]).numpy().tolist()
    net.train()
    quanter = f.FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
    model = q.QAT(q.QuantConfig(activation=quanter, weight=quanter)).quantize(net)
    for x in inputs(paddle):
        y = model(x)
    y.sum().backward()
    found["trained"], found["gradient"] = y.numpy().tolist(), model.conv.weight.grad.numpy().ravel().tolist()
    found["moving"] = [one(model.conv.activation_quanter.scales()), one(model.linear.weight_quanter.scales())]
    rounding = form.LinearQuanter(paddle.to_tensor([127.0]), paddle.to_tensor([0.0]), -1, 8)
    found["rounding"] = (
        rounding(paddle.to_tensor([0.5, 1.5, 2.5, -0.5, -1.5, 200.0, -200.0])).numpy().tolist()
    )
    groups = o.GroupWiseWeightObserver(8, 128)._instance(None)
    groups(paddle.to_tensor(numbers([256, 3], 97, 0.1)))
    found["groups"] = groups.scales().numpy().tolist()
    weight = paddle.to_tensor(numbers([64, 16], 89, 0.05)).astype("float16")
    whole, scale = linear.weight_quantize(weight, algo="llm.int8", arch=80)
    found["llm"], found["llm scale"] = whole.numpy().tolist(), scale.numpy().tolist()
    stub = linear.QuantStub()
    found["stub"] = stub(paddle.to_tensor([1.0, -2.0])).numpy().tolist()
    return found


if __name__ == "__main__":
    ANSWERS.write_text(json.dumps(answers(import_module("paddle"))) + "\n")
