"""Inception v3 (Szegedy et al. 2015): large convolutions factorized into small ones."""

from typing import Any

from ... import nn
from ...nn import functional as F
from ...ops import concat
from .blocks import Classifier, ConvNormActivation, named, uniform, variant

__all__ = ["InceptionV3", "inception_v3"]

# A block is a list of branches, a branch is a list of steps, a step is (name, channels, kernel[, stride]). A
# list of steps at the end of a branch is applied in parallel. A branch that starts with "mean" begins with
# average pooling; "max" is a branch of max pooling.
_WIDE, _TALL = (1, 7), (7, 1)


def _a(pool: int) -> list[Any]:
    return [
        [("branch1x1", 64, 1)],
        [("branch5x5_1", 48, 1), ("branch5x5_2", 64, 5)],
        [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3), ("branch3x3dbl_3", 96, 3)],
        ["mean", ("branch_pool_conv", pool, 1)],
    ]


def _c(n: int) -> list[Any]:
    return [
        [("branch1x1", 192, 1)],
        [("branch7x7_1", n, 1), ("branch7x7_2", n, _WIDE), ("branch7x7_3", 192, _TALL)],
        [
            ("branch7x7dbl_1", n, 1),
            ("branch7x7dbl_2", n, _TALL),
            ("branch7x7dbl_3", n, _WIDE),
            ("branch7x7dbl_4", n, _TALL),
            ("branch7x7dbl_5", 192, _WIDE),
        ],
        ["mean", ("branch_pool_conv", 192, 1)],
    ]


_B = [
    [("branch3x3", 384, 3, 2)],
    [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3), ("branch3x3dbl_3", 96, 3, 2)],
    ["max"],
]
_D = [
    [("branch3x3_1", 192, 1), ("branch3x3_2", 320, 3, 2)],
    [
        ("branch7x7x3_1", 192, 1),
        ("branch7x7x3_2", 192, _WIDE),
        ("branch7x7x3_3", 192, _TALL),
        ("branch7x7x3_4", 192, 3, 2),
    ],
    ["max"],
]
_E = [
    [("branch1x1", 320, 1)],
    [("branch3x3_1", 384, 1), [("branch3x3_2a", 384, (1, 3)), ("branch3x3_2b", 384, (3, 1))]],
    [
        ("branch3x3dbl_1", 448, 1),
        ("branch3x3dbl_2", 384, 3),
        [("branch3x3dbl_3a", 384, (1, 3)), ("branch3x3dbl_3b", 384, (3, 1))],
    ],
    ["mean", ("branch_pool_conv", 192, 1)],
]
_BLOCKS = [
    (192, _a(32)),
    (256, _a(64)),
    (288, _a(64)),
    (288, _B),
    (768, _c(128)),
    (768, _c(160)),
    (768, _c(160)),
    (768, _c(192)),
    (768, _D),
    (1280, _E),
    (2048, _E),
]


class Inception(nn.Layer):
    """Parallel branches; their outputs are concatenated along the channels."""

    def __init__(self, channels: int, branches: list[Any]) -> None:
        super().__init__()
        self._branches = branches
        for branch in branches:
            width = channels
            for step in branch:
                steps = step if isinstance(step, list) else [] if isinstance(step, str) else [step]
                for name, out, kernel, *stride in steps:
                    setattr(self, name, ConvNormActivation(width, out, kernel, *stride, *[0] * len(stride)))
                width = step[1] if isinstance(step, tuple) else width

    def forward(self, x: Any) -> Any:
        return concat([self._through(branch, x) for branch in self._branches], 1)

    def _through(self, branch: list[Any], x: Any) -> Any:
        for step in branch:
            if isinstance(step, list):
                x = concat([getattr(self, name)(x) for name, *_ in step], 1)
            elif isinstance(step, tuple):
                x = getattr(self, step[0])(x)
            else:
                x = F.max_pool2d(x, 3, 2) if step == "max" else F.avg_pool2d(x, 3, 1, 1, exclusive=False)
        return x


def _stem() -> nn.Sequential:
    """[batch, 3, 299, 299] to [batch, 192, 35, 35]."""
    return named(
        conv_1a_3x3=ConvNormActivation(3, 32, 3, 2, 0),
        conv_2a_3x3=ConvNormActivation(32, 32, 3, 1, 0),
        conv_2b_3x3=ConvNormActivation(32, 64),
        max_pool=nn.MaxPool2D(3, 2),
        conv_3b_1x1=ConvNormActivation(64, 80, 1),
        conv_4a_3x3=ConvNormActivation(80, 192, 3, 1, 0),
        max_pool_2=nn.MaxPool2D(3, 2),
    )


class InceptionV3(Classifier):
    """[batch, 3, 299, 299] to [batch, num_classes]."""

    def __init__(self, num_classes=1000, with_pool=True):
        super().__init__(num_classes, with_pool)
        self.inception_stem = _stem()
        self.inception_block_list = nn.Sequential(*[Inception(*block) for block in _BLOCKS])
        self.dropout = nn.Dropout(0.2, mode="downscale_in_infer")
        if num_classes > 0:
            self.fc = nn.Linear(2048, num_classes, uniform(2048))

    def features(self, x: Any) -> Any:
        x = self.inception_block_list(self.inception_stem(x))
        return self.dropout(x) if self.num_classes > 0 else x


inception_v3 = variant("inception_v3", InceptionV3)
