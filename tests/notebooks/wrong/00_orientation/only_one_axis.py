"""It walks over a row and knows no other shape."""

import torch

from sampan import learn


@learn.exercise("ops.relu")
def relu(x):
    out = torch.tensor([max(float(number), 0.0) for number in x])
    return out, lambda g: g * (out > 0)
