"""Numbers beyond the scale get levels of their own, which no int8 has."""

import torch

from sampan import learn


@learn.exercise("quantization.quanters.fake_quantize")
def fake_quantize(x, scale, levels):
    def of_x(g):
        return g

    safe = torch.where(scale == 0, torch.ones_like(scale), scale)
    steps = x / safe * levels
    value = torch.copysign((steps.abs() + 0.5).floor(), steps) * scale / levels
    return value, (of_x,)
