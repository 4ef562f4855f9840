"""The square root is of the variance alone."""

import torch

from sampan import learn


@learn.exercise(
    "jit.passes.fold_batch_norm.folded", forbid=("fold_batch_norm", "batch_norm", "normalize_batch")
)
def folded(weight, bias, gamma, beta, mean, variance, epsilon, axis=0):
    scale = 1.0 / torch.sqrt(variance.double())
    if gamma is not None:
        scale = scale * gamma.double()
    moved = -mean.double() if bias is None else bias.double() - mean.double()
    new_bias = moved * scale
    if beta is not None:
        new_bias = new_bias + beta.double()
    shape = [1] * weight.ndim
    shape[axis] = -1
    return (weight.double() * scale.reshape(shape)).to(weight.dtype), new_bias.to(weight.dtype)
