"""Writes recorded.zip: layers that PaddlePaddle 3 saved, with inputs and its answers.

Run it with PaddlePaddle's Python, in this folder: `.venv-paddle/bin/python record.py`. The layers are our own.
"""

# It runs with PaddlePaddle, which the environment of the checks has not.
# mypy: ignore-errors

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.static import InputSpec


class Picture(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm = nn.Conv2D(2, 4, 3, padding=1), nn.BatchNorm2D(4)
        self.b, self.c = nn.Conv2D(4, 4, 3, groups=4, stride=2, padding="SAME"), nn.Linear(4, 3)
        self.up, self.group = nn.Conv2DTranspose(4, 2, 2, stride=2), nn.GroupNorm(2, 4)
        self.drop = nn.Dropout(0.3)

    def forward(self, x: Any) -> Any:
        h = F.max_pool2d(F.relu(self.norm(self.a(x))), 2)
        h = paddle.concat([h, h * 2], 1)[:, 1:5]
        wide = self.up(self.group(self.b(h)))
        h = F.adaptive_avg_pool2d(h, 1).flatten(1)
        small = F.interpolate(x, scale_factor=2.0, mode="bilinear") + F.interpolate(x, [16, 16])
        pooled = F.avg_pool2d(F.pad(small, [1, 1, 0, 2]), 3, 2, 1)
        return self.c(self.drop(h)), paddle.argmax(h, 1), wide, pooled


class Sequence(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.lstm = nn.Embedding(20, 8), nn.LSTM(8, 4, direction="bidirect")
        self.encoder = nn.TransformerEncoderLayer(8, 2, 8, activation="gelu")
        self.gru, self.out = nn.GRU(8, 4), nn.Linear(4, 3)

    def forward(self, ids: Any) -> Any:
        outputs, (h, c) = self.lstm(self.table(ids))
        outputs, last = self.gru(self.encoder(outputs))
        return F.softmax(self.out(outputs[:, -1])), h, c, last


def operators(x: Any, n: Any) -> list[Any]:
    """Results of one operator each; x [batch, 4, 6], n [batch, 4] of 0 or 1."""
    y, p = x.flip(0) * 0.5, paddle.abs(x) + 0.5
    same = [
        "abs",
        "ceil",
        "cos",
        "erf",
        "exp",
        "expm1",
        "floor",
        "isnan",
        "round",
        "sign",
        "sin",
        "square",
        "tan",
        "tanh",
        "atan",
        "asinh",
        "sinh",
        "cosh",
        "trunc",
    ]
    found = [getattr(paddle, name)(x) for name in same]
    found += [
        getattr(paddle, name)(p)
        for name in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "lgamma"]
    ]
    found += [
        getattr(F, name)(x)
        for name in ["relu", "relu6", "sigmoid", "silu", "softsign", "hardswish", "hardsigmoid", "mish"]
    ]
    found += [
        F.leaky_relu(x, 0.2),
        F.elu(x, 0.7),
        F.softplus(x, 2),
        F.gelu(x, True),
        F.swish(x),
        F.log_sigmoid(x),
    ]
    found += [F.softmax(x, 1), F.log_softmax(x, -1), F.tanhshrink(x), F.thresholded_relu(x, 0.3)]
    found += [x + y, x - y, x * y, x / p, paddle.maximum(x, y), paddle.minimum(x, y), p**y, paddle.mod(x, p)]
    found += [x == y, x != y, x < y, x <= y, x > y, x >= y, paddle.atan2(x, p), paddle.pow(p, 1.5)]
    truth, other = x > 0, y > 0
    found += [
        paddle.logical_and(truth, other),
        paddle.logical_or(truth, other),
        paddle.logical_xor(truth, other),
    ]
    found += [~truth, paddle.where(truth, x, y), paddle.clip(x, -0.5, 0.5), x * 3 + 1]
    found += [
        x.sum(),
        x.mean(1),
        x.max(-1, keepdim=True),
        x.min([1, 2]),
        x.prod(2),
        truth.any(1),
        truth.all(2),
    ]
    found += [x.argmax(), x.argmin(1), *paddle.topk(x, 2, 1), paddle.cumsum(x, 1)]
    found += [
        x.transpose([2, 0, 1]),
        x.reshape([-1, 8]),
        x.unsqueeze(1),
        x[:, :1].squeeze(1),
        x.flatten(0, 1),
    ]
    found += [
        *paddle.split(x, 2, 1),
        *paddle.split(x, [1, -1], 2),
        paddle.stack([x, y], 1),
        *x[:, :2].unbind(1),
    ]
    found += [x[:, 1:3], x[:, ::2], x[:, -1], x.tile([1, 2, 1]), x[:, :1].expand([-1, 4, 6]), x.roll(1, 2)]
    found += [paddle.gather(x, paddle.to_tensor([2, 0]), 1), paddle.index_select(x, paddle.to_tensor([1]), 2)]
    found += [
        paddle.tril(x),
        paddle.triu(x, 1),
        F.one_hot(n, 3),
        x.astype("int64"),
        x @ y.transpose([0, 2, 1]),
    ]
    found += [paddle.full_like(x, 2), paddle.zeros([x.shape[0], 2]), paddle.arange(4) + n, n // 2, n % 2]
    found += [
        paddle.bmm(x, y.transpose([0, 2, 1])),
        x.reshape([x.shape[0] * 2, 12]),
        F.layer_norm(x, 6),
        paddle.bitwise_and(n, n),
    ]
    return found


class Operators(nn.Layer):
    def forward(self, x: Any, n: Any) -> Any:
        return operators(x, n)


def main() -> None:
    paddle.seed(0)
    rng = np.random.default_rng(0)
    cases = {
        "picture": (Picture(), [InputSpec([None, 2, 8, 8], name="image")]),
        "sequence": (Sequence(), [InputSpec([None, None], "int64", "ids")]),
        "operators": (Operators(), [InputSpec([None, 4, 6], name="x"), InputSpec([None, 4], "int64", "n")]),
    }
    given = {
        "picture": [rng.standard_normal((3, 2, 8, 8)).astype("float32")],
        "sequence": [rng.integers(0, 20, (4, 5))],
        "operators": [rng.standard_normal((2, 4, 6)).astype("float32"), rng.integers(0, 2, (2, 4))],
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile("recorded.zip", "w", zipfile.ZIP_LZMA) as out,
    ):
        for name, (layer, spec) in cases.items():
            layer.eval()
            paddle.jit.save(layer, f"{folder}/{name}", spec)
            answers = paddle.utils.flatten(layer(*map(paddle.to_tensor, given[name])))
            arrays = {f"x{i}": x for i, x in enumerate(given[name])}
            arrays.update({f"y{i}": y.numpy() for i, y in enumerate(answers)})
            held = io.BytesIO()
            np.savez_compressed(held, **arrays)
            out.writestr(f"{name}.npz", held.getvalue())
            for suffix in (".json", ".pdiparams"):
                if (file := Path(f"{folder}/{name}{suffix}")).exists():
                    out.writestr(name + suffix, file.read_bytes())


if __name__ == "__main__":
    main()
