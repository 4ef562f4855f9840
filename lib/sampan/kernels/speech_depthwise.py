"""Depthwise convolution over time of buffers: Sampan's loops on the CPU, torch's functions elsewhere.

Buffers: x [batch, time + kernel - 1, channels], weight [channels, 1, kernel], result [batch, time, channels].
"""

import torch

from . import cpu_speech_depthwise

OWN = (torch.float32, torch.float64)


def _ours(x: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether the loops take these: on the CPU, of one dtype that they know."""
    return x.is_cpu and other.is_cpu and x.dtype is other.dtype and x.dtype in OWN


def depthwise(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """y[b, t, c] = bias[c] + sum over k of x[b, t + k, c] weight[c, 0, k]. bias: [channels]."""
    if not _ours(x, weight):
        return torch.conv1d(x.transpose(1, 2), weight, bias, groups=len(weight)).transpose(1, 2)
    arrays = (x.contiguous().numpy(), weight.contiguous().numpy()[:, 0], bias.contiguous().numpy())
    return torch.from_numpy(cpu_speech_depthwise.depthwise(*arrays))


def depthwise_weight(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """[channels, 1, kernel]: the sum over b and t of x[b, t + k, c] g[b, t, c]; g [batch, time, channels]."""
    if not _ours(x, g):
        return torch.einsum("bkct,btc->ck", x.unfold(1, g.shape[1], 1), g)[:, None]
    found = cpu_speech_depthwise.depthwise_weight(x.contiguous().numpy(), g.contiguous().numpy())
    return torch.from_numpy(found).t().contiguous()[:, None]
