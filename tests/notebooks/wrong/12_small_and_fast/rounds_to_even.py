"""Halves go to the even number, as in banker's rounding."""

import torch

from sampan import learn


@learn.exercise("quantization.quanters.fake_quantize")
def fake_quantize(x, scale, levels):
    def of_x(g):
        return g

    safe = torch.where(scale == 0, torch.ones_like(scale), scale)
    value = torch.round((x / safe).clamp(-1, 1) * levels) * scale / levels
    return value, (of_x,)
