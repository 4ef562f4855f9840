"""Activations in ONNX beside the operators themselves."""

import sampan as paddle
import sampan.nn.functional as F
from tests.onnx.exported import function_agrees

NAMES = [
    "relu",
    "relu6",
    "gelu",
    "silu",
    "swish",
    "elu",
    "celu",
    "selu",
    "mish",
    "softplus",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardshrink",
    "softshrink",
    "leaky_relu",
    "log_sigmoid",
    "tanhshrink",
    "thresholded_relu",
    "softsign",
    "glu",
    "softmax",
    "log_softmax",
    "sigmoid",
]


def test_every_activation_and_its_settings(tmp_path):
    def computed(x):
        settings = (F.gelu(x, approximate=True), F.softplus(x, 2.0), F.softmax(x, 1), F.leaky_relu(x, 0.3))
        return [getattr(F, name)(x) for name in NAMES] + [*settings, F.prelu(x, paddle.full([1], 0.2))]

    function_agrees(tmp_path, computed)
