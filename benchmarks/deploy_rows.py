"""The rows of `deploy.py`: a network, its saved Program, and its ONNX file in the engines that are installed."""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from sampan.static import InputSpec

import sampan as paddle
from sampan import nn
from sampan.inference import Config, create_predictor
from sampan.quantization import PTQ, QuantConfig
from sampan.quantization.observers import AbsMaxChannelWiseWeightObserver, AbsmaxObserver

from .side_by_side import Row, Step, library


class Network(NamedTuple):
    """A network: how it is made, its input (None: the batch), the batch. goal: of replay / eager."""

    make: Callable[[], nn.Layer]
    shape: tuple[int | None, ...]
    batch: int
    goal: float


ZOO = (
    *("alexnet", "vgg11", "resnet50", "resnext50_32x4d", "wide_resnet50_2", "mobilenet_v1", "mobilenet_v2"),
    *(
        "mobilenet_v3_small",
        "mobilenet_v3_large",
        "squeezenet1_0",
        "squeezenet1_1",
        "densenet121",
        "googlenet",
    ),
    *("inception_v3", "shufflenet_v2_x0_25", "shufflenet_v2_x1_0"),
)
LARGE = {"inception_v3": 299, "alexnet": 224, "googlenet": 224, "squeezenet1_0": 224, "squeezenet1_1": 224}
NEVER = 0.95  # eager / to_static, at least, for any network


def mlp() -> nn.Layer:
    layers = [nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)]
    return nn.Sequential(*layers)


class Recurrent(nn.Layer):
    """An LSTM whose outputs alone are returned."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(64, 128)

    def forward(self, x: Any) -> Any:
        return self.lstm(x)[0]


NETWORKS = {
    "MLP 784-256-256-10, batch 1": Network(mlp, (None, 784), 1, 0.35),
    "LeNet, batch 1": Network(paddle.vision.models.LeNet, (None, 1, 28, 28), 1, 0.4),
    "ResNet-18, batch 1": Network(paddle.vision.models.resnet18, (None, 3, 224, 224), 1, 0.6),
    "MobileNetV2, batch 1": Network(paddle.vision.models.mobilenet_v2, (None, 3, 224, 224), 1, 0.6),
    "encoder layer 768, 128 tokens": Network(
        lambda: nn.TransformerEncoderLayer(768, 12, 3072), (None, 128, 768), 1, 0.6
    ),
    "LSTM 64-128, 32 steps, batch 8": Network(Recurrent, (None, 32, 64), 8, 0.9),
}
ENGINES = 1.3  # replay / the best engine, at most
INT8 = 0.35  # int8 / float32 in the replay, at most
QUANTISED = ["LeNet, batch 1", "ResNet-18, batch 1", "MobileNetV2, batch 1", "encoder layer 768, 128 tokens"]
TRAINED = {
    "MLP 784-256-256-10, batch 64": Network(mlp, (None, 784), 64, 0.6),
    "LeNet, batch 64": Network(paddle.vision.models.LeNet, (None, 1, 28, 28), 64, 0.9),
    "ResNet-18, 64 square, batch 8": Network(
        lambda: paddle.vision.models.resnet18(num_classes=10), (None, 3, 64, 64), 8, 0.9
    ),
    "LSTM 64-128, 32 steps, batch 8": Network(Recurrent, (None, 32, 64), 8, 0.9),
}


@cache
def files(name: str) -> tuple[nn.Layer, str]:
    """The layer, and the beginning of the names of its files."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    network = NETWORKS[name]
    paddle.seed(0)
    layer = network.make()
    layer.eval()
    spec = [InputSpec(network.shape)]
    paddle.jit.save(layer, str(Path(folder.name) / "model"), spec)
    if library("onnx") is not None:
        paddle.onnx.export(layer, str(Path(folder.name) / "model"), spec)
    return layer, str(Path(folder.name) / "model")


def data(network: Network) -> paddle.Tensor:
    """The input."""
    paddle.seed(1)
    return paddle.randn([network.batch if n is None else n for n in network.shape])


def predicted(base: str, x: paddle.Tensor, switch: str = "") -> Step:
    """One call of a predictor."""
    config = Config(f"{base}.json", f"{base}.safetensors")
    if switch:
        config.set_cpu_math_library_num_threads(torch.get_num_threads())
        getattr(config, switch)()
    predictor = create_predictor(config)

    def step() -> Any:
        return predictor.run([x])[0].numpy()

    return step


def eager(layer: nn.Layer, x: paddle.Tensor) -> Step:
    """One call of the layer."""

    def step() -> Any:
        with paddle.no_grad():
            return layer(x).numpy()

    return step


def bare(base: str, x: paddle.Tensor) -> Step:
    """One call of ONNX Runtime."""
    runtime = library("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = runtime.InferenceSession(f"{base}.onnx", options, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    array = x.numpy()
    return lambda: session.run(None, {given.name: array})[0]


def beside_eager(name: str) -> dict[str, Step]:
    layer, base = files(name)
    x = data(NETWORKS[name])
    return {"sampan": predicted(base, x), "eager": eager(layer, x)}


def beside_engines(name: str) -> dict[str, Step]:
    _, base = files(name)
    x = data(NETWORKS[name])
    programs = {"sampan": predicted(base, x), "onnxruntime": bare(base, x)}
    programs["enable_onnxruntime"] = predicted(base, x, "enable_onnxruntime")
    if library("openvino") is not None:
        programs["openvino"] = predicted(base, x, "enable_openvino_engine")
    return programs


def training(name: str) -> dict[str, Step]:
    """A step: forward, loss, backward, SGD; as a Program with gradients, and eager."""
    network = TRAINED[name]

    def step_of(compiled: bool) -> Step:
        paddle.seed(0)
        layer, x = network.make(), data(network)
        optimizer = paddle.optimizer.SGD(1e-3, parameters=layer.parameters())

        def loss_of(x: Any) -> Any:
            return (layer(x) ** 2).mean()

        loss = paddle.jit.to_static(loss_of) if compiled else loss_of

        def step() -> Any:
            found = loss(x)
            found.backward()
            optimizer.step()
            optimizer.clear_grad()
            return found.numpy()

        return step

    return {"sampan": step_of(True), "eager": step_of(False)}


def of_the_zoo(name: str) -> dict[str, Step]:
    """One call in evaluation: to_static, and the layer itself."""
    paddle.seed(0)
    layer = getattr(paddle.vision.models, name)()
    layer.eval()
    paddle.seed(1)
    size = LARGE.get(name, 64)
    x = paddle.randn([1, 3, size, size])
    static = paddle.jit.to_static(layer.forward)

    def first(found: Any) -> Any:  # googlenet has three answers
        return (found[0] if isinstance(found, (list, tuple)) else found).numpy()

    def of(function: Any) -> Step:
        def step() -> Any:
            with paddle.no_grad():
                return first(function(x))

        return step

    return {"sampan": of(static), "eager": of(layer)}


def in_integers(layer: Any, x: Any) -> Any:
    """A copy whose linear layers and convolutions are in int8, with the magnitudes that they see for an input."""
    config = QuantConfig(activation=None, weight=None)
    weight = AbsMaxChannelWiseWeightObserver()
    config.add_type_config([nn.Linear, nn.Conv2D], activation=AbsmaxObserver(), weight=weight)
    ptq = PTQ(config)
    observed = ptq.quantize(layer)
    with paddle.no_grad():
        observed(x)
    return ptq.convert(observed)


def in_int8(name: str) -> dict[str, Step]:
    """The predictor of a network whose linear layers and convolutions are in int8, and that of its floats."""
    network = NETWORKS[name]
    layer, base = files(name)
    x = data(network)
    paddle.jit.save(in_integers(layer, x), f"{base}-int8", [InputSpec(network.shape)])

    def without_answer(step: Step) -> Step:  # which quantisation changes
        def run() -> None:
            step()

        return run

    programs = {"sampan": predicted(f"{base}-int8", x), "float32": predicted(base, x)}
    return {kind: without_answer(step) for kind, step in programs.items()}


def rows() -> Iterator[Row]:
    for name, network in NETWORKS.items():
        yield Row(f"{name}: replay / eager", round(1 / network.goal, 2), partial(beside_eager, name))
        if library("onnx") is not None and library("onnxruntime") is not None:
            yield Row(f"{name}: replay / engines", round(1 / ENGINES, 2), partial(beside_engines, name))
    for name, network in TRAINED.items():
        yield Row(
            f"training step, {name}: to_static / eager", round(1 / network.goal, 2), partial(training, name)
        )
    for name in ZOO:
        yield Row(f"{name}: to_static / eager", NEVER, partial(of_the_zoo, name))
    for name in QUANTISED:
        yield Row(f"{name}: int8 / float32", round(1 / INT8, 2), partial(in_int8, name))


FAMILIES = [rows]
