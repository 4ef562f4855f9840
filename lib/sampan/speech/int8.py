"""Linear layers that compute in int8, for a trained network on the CPU.

Weights are quantised once for each output channel, frames for each call by their greatest magnitude; the
products are added in int32. The model file is a separate matter: `packed.py`.
Source: Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference, 2018; Krishnamoorthi, Quantizing deep convolutional networks, 2018 (a scale for each channel).
"""

from typing import Any

import numpy as np
import torch

from .. import nn
from ..engine.tensor import InvalidArgument, Tensor
from ..kernels import cpu_speech_int8 as kernels

__all__ = ["Int8Linear", "int8_layers", "to_channels"]


def to_channels(weight: torch.Tensor, axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(int8 of the shape of weight, scale of each channel along an axis): weight is about int8 * scale.

    A scale is a number of float16, as files hold it. Weights that were made from int8 and these scales give
    the same int8 again.
    """
    moved = weight.float().movedim(axis, 0)
    scale = (moved.flatten(1).abs().amax(1) / kernels.LARGEST).half().float()
    divisor = torch.where(scale > 0, scale, torch.ones_like(scale))
    shape = [-1] + [1] * (weight.ndim - 1)
    q = (moved / divisor.view(shape)).round().clamp(-kernels.LARGEST, kernels.LARGEST).to(torch.int8)
    return q.movedim(0, axis).contiguous(), scale


class Int8Linear(nn.Layer):
    """A trained linear layer in int8: float32 [..., in] to [..., out], without gradients.

    layer: an nn.Linear on the CPU. The result differs from that layer's by about one part in a
    hundred of its size.
    """

    def __init__(self, layer: Any) -> None:
        super().__init__()
        weight: torch.Tensor = layer.weight.data
        if not weight.is_cpu or weight.dtype is not torch.float32:
            raise InvalidArgument(
                f"layer: expected float32 on the CPU, got {weight.dtype} on {weight.device}"
            )
        self.in_features, self.out_features = weight.shape
        q, scale = to_channels(weight, 1)
        bias = torch.zeros(self.out_features) if layer.bias is None else layer.bias.data.clone()
        self._weight, self._columns, self._bias = q, scale.numpy(), bias.numpy()
        self.eval()

    def forward(self, x: Any) -> Tensor:
        given = x.data
        if given.dtype is not torch.float32 or given.shape[-1] != self.in_features:
            raise InvalidArgument(
                f"x: expected float32 [..., {self.in_features}], got {given.dtype} {list(given.shape)}"
            )
        # NumPy's views cost a quarter of torch's, and a chunk of a stream has few rows.
        rows = np.ascontiguousarray(given.numpy()).reshape(-1, self.in_features)
        q, scales = kernels.to_int8(rows)
        sums = torch._int_mm(torch.from_numpy(q), self._weight).numpy()
        made = kernels.from_sums(sums, scales, self._columns, self._bias)
        return Tensor(torch.from_numpy(made.reshape(*given.shape[:-1], self.out_features)))


def int8_layers(network: nn.Layer) -> nn.Layer:
    """Put an Int8Linear in the place of every nn.Linear of a trained network; returns the network.

    Recurrent layers and convolutions stay as they are.
    """
    for layer in network.sublayers(include_self=True):
        for name, child in list(layer.named_children()):
            if isinstance(child, nn.Linear):
                setattr(layer, name, Int8Linear(child))
    network.eval()
    return network
