"""ResNet (He et al. 2015), ResNeXt (Xie et al. 2016) and wide ResNet (Zagoruyko and Komodakis 2016)."""

from typing import Any

from ... import nn
from ...nn import functional as F
from .blocks import Classifier, variant

__all__ = [
    "ResNet",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext50_64x4d",
    "resnext101_32x4d",
    "resnext101_64x4d",
    "resnext152_32x4d",
    "resnext152_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]


class _Block(nn.Layer):
    """Residual block: relu(x + f(x)), f convolutions with norm and ReLU. `downsample` gives x the shape of
    f(x)."""

    def _keep(self, downsample: Any, norm_layer: Any, *convs: tuple[int, nn.Layer]) -> None:
        norm = norm_layer or nn.BatchNorm2D
        self.depth = len(convs)
        for i, (channels, conv) in enumerate(convs, 1):
            setattr(self, f"conv{i}", conv)
            setattr(self, f"bn{i}", norm(channels))
        self.downsample = downsample

    def forward(self, x: Any) -> Any:
        out = x
        for i in range(1, self.depth + 1):
            out = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(out))
            out = F.relu(out) if i < self.depth else out
        return F.relu(out + (x if self.downsample is None else self.downsample(x)))


class BasicBlock(_Block):
    """Two 3x3 convolutions."""

    expansion = 1

    def __init__(
        self,
        inplanes,
        planes,
        stride=1,
        downsample=None,
        groups=1,
        base_width=64,
        dilation=1,
        norm_layer=None,
    ):
        super().__init__()
        if dilation > 1:
            raise NotImplementedError(f"BasicBlock: dilation: expected 1, got {dilation}")
        first = nn.Conv2D(inplanes, planes, 3, stride, 1, bias_attr=False)
        self._keep(
            downsample,
            norm_layer,
            (planes, first),
            (planes, nn.Conv2D(planes, planes, 3, 1, 1, bias_attr=False)),
        )


class BottleneckBlock(_Block):
    """Bottleneck: 1x1 reduction, grouped 3x3, and 1x1 expansion to four times the channels."""

    expansion = 4

    def __init__(
        self,
        inplanes,
        planes,
        stride=1,
        downsample=None,
        groups=1,
        base_width=64,
        dilation=1,
        norm_layer=None,
    ):
        super().__init__()
        width = int(planes * (base_width / 64)) * groups
        middle = nn.Conv2D(width, width, 3, stride, dilation, dilation, groups, bias_attr=False)
        narrow, wide = (
            nn.Conv2D(inplanes, width, 1, bias_attr=False),
            nn.Conv2D(width, planes * 4, 1, bias_attr=False),
        )
        self._keep(downsample, norm_layer, (width, narrow), (width, middle), (planes * 4, wide))


_BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


class ResNet(Classifier):
    """[batch, 3, H, W] to [batch, num_classes] through four stages of residual blocks.

    block: BasicBlock or BottleneckBlock. width, groups: channels per group and number of groups of a
    bottleneck's 3x3 convolution.
    """

    def __init__(self, block, depth=50, width=64, num_classes=1000, with_pool=True, groups=1):
        super().__init__(num_classes, with_pool)
        self.conv1 = nn.Conv2D(3, 64, 7, 2, 3, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(64)
        self.maxpool = nn.MaxPool2D(3, 2, 1)
        self.inplanes, self.dilation, self.groups, self.base_width = 64, 1, groups, width
        self._norm_layer = nn.BatchNorm2D
        for stage, count in enumerate(_BLOCKS[depth]):
            layers = self._make_layer(block, 64 * 2**stage, count, 1 if stage == 0 else 2)
            setattr(self, f"layer{stage + 1}", layers)
        if num_classes > 0:
            self.fc = nn.Linear(self.inplanes, num_classes)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        """A stage of `blocks` blocks, with `inplanes` input channels. dilate: dilation in place of stride."""
        norm, outplanes, dilation, fit = self._norm_layer, planes * block.expansion, self.dilation, None
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        if stride != 1 or self.inplanes != outplanes:
            conv = nn.Conv2D(self.inplanes, outplanes, 1, stride, bias_attr=False)
            fit = nn.Sequential(conv, norm(outplanes))
        shared = {"groups": self.groups, "base_width": self.base_width, "norm_layer": norm}
        first = block(self.inplanes, planes, stride, fit, dilation=dilation, **shared)
        self.inplanes = outplanes
        return nn.Sequential(first, *[block(outplanes, planes, **shared) for _ in range(1, blocks)])

    def features(self, x: Any) -> Any:
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        for i in range(1, 5):
            x = getattr(self, f"layer{i}")(x)
        return x


_PLAIN, _DEEP = {"block": BasicBlock}, {"block": BottleneckBlock}
resnet18, resnet34 = (variant(f"resnet{n}", ResNet, depth=n, **_PLAIN) for n in (18, 34))
resnet50, resnet101, resnet152 = (variant(f"resnet{n}", ResNet, depth=n, **_DEEP) for n in (50, 101, 152))
resnext50_32x4d, resnext101_32x4d, resnext152_32x4d = (
    variant(f"resnext{n}_32x4d", ResNet, depth=n, groups=32, width=4, **_DEEP) for n in (50, 101, 152)
)
resnext50_64x4d, resnext101_64x4d, resnext152_64x4d = (
    variant(f"resnext{n}_64x4d", ResNet, depth=n, groups=64, width=4, **_DEEP) for n in (50, 101, 152)
)
wide_resnet50_2, wide_resnet101_2 = (
    variant(f"wide_resnet{n}_2", ResNet, depth=n, width=128, **_DEEP) for n in (50, 101)
)
