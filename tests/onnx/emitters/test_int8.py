"""Quantised networks as ONNX files: their form, their answers, and that they run where there is neither torch nor Sampan."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sampan.static import InputSpec

import sampan as paddle
from sampan import nn
from sampan.quantization import PTQ, QuantConfig
from sampan.quantization.int8 import int8_linear
from sampan.quantization.observers import AbsMaxChannelWiseWeightObserver, AbsmaxObserver

from ..exported import Function, agrees


def quantised(net, *inputs):
    """The network with its Linear and Conv2D layers in int8, after it has seen these inputs."""
    config = QuantConfig(activation=None, weight=None)
    kinds, weight = [nn.Linear, nn.Conv2D], AbsMaxChannelWiseWeightObserver()
    config.add_type_config(kinds, activation=AbsmaxObserver(), weight=weight)
    net.eval()
    observed = PTQ(config).quantize(net)
    observed(*inputs)
    return PTQ(config).convert(observed)


def digits():
    layers = [nn.Conv2D(1, 6, 3, padding=1, bias_attr=False), nn.BatchNorm2D(6), nn.ReLU(), nn.MaxPool2D(2)]
    net = nn.Sequential(*layers, nn.Conv2D(6, 8, 3, stride=2, groups=2), nn.Flatten(), nn.Linear(72, 10))
    net[1].weight.set_value(paddle.randn([6]))  # some below 0: signs of the integers change
    for _ in range(3):
        net(paddle.randn([4, 1, 14, 14]) + 1)
    return net


def test_a_quantised_network_keeps_its_integers_in_the_file(tmp_path):
    paddle.seed(0)
    x = paddle.randn([5, 1, 14, 14])
    # A number beside the half of two integers may become the other one: answers are about 3.
    model = agrees(tmp_path, quantised(digits(), x), [InputSpec([None, 1, 14, 14])], x, atol=0.05)
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("QuantizeLinear") == 3 and "BatchNormalization" not in kinds
    weights = [one for one in model.graph.initializer if one.name.endswith("weight") or len(one.dims) == 4]
    assert {one.data_type for one in weights} == {3}  # int8


def test_without_a_known_scale_the_file_finds_it(tmp_path):
    weight = paddle.to_tensor(np.arange(-12, 12).reshape(6, 4).astype("int8"))
    scales = paddle.to_tensor([0.5, 1.0, 2.0, 4.0])
    layer = Function(lambda x: int8_linear(x, weight, None, None, scales))
    agrees(tmp_path, layer, [InputSpec([None, 6])], paddle.randn([3, 6]))


def test_the_file_runs_where_there_is_neither_torch_nor_sampan(tmp_path):
    pytest.importorskip("onnxruntime")
    paddle.seed(1)
    x = paddle.randn([2, 1, 14, 14])
    net = quantised(digits(), x)
    paddle.onnx.export(net, str(tmp_path / "net"), [InputSpec([None, 1, 14, 14])])
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("numpy", "onnxruntime"):
        found = Path(importlib.util.find_spec(name).origin).parent
        (packages / name).symlink_to(found)
        if (libraries := found.parent / f"{name}.libs").is_dir():
            (packages / libraries.name).symlink_to(libraries)
    np.save(tmp_path / "x.npy", x.numpy())
    program = f"""
import sys
sys.path.append({str(packages)!r})
import numpy, onnxruntime
for name in ("torch", "sampan"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    raise SystemExit(name + " is there")
session = onnxruntime.InferenceSession({str(tmp_path / "net.onnx")!r}, providers=["CPUExecutionProvider"])
(given,) = session.get_inputs()
numpy.save({str(tmp_path / "y.npy")!r}, session.run(None, {{given.name: numpy.load({str(tmp_path / "x.npy")!r})}})[0])
"""
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True, timeout=60)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), net(x).numpy(), rtol=0, atol=0.05)
