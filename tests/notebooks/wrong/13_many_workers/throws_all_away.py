"""One NaN empties the whole residual."""

import torch

from sampan import learn


@learn.exercise("distributed.feedback.with_feedback")
def with_feedback(gradient, residual, compress):
    wanted = gradient + residual
    sent = compress(wanted)
    left = wanted - sent
    residual.copy_(left if left.isfinite().all() else torch.zeros_like(left))
    return sent
