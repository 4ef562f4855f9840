"""For a convolution over one frame, the last 0 frames are taken as all frames."""

import sampan as paddle
from sampan import learn
from sampan.nn import functional as F


def with_past(x, past, around):
    "(what the convolution reads, [batch, around + time, width]; the past of the next call)."
    if past is None:
        past = paddle.zeros([x.shape[0], around, x.shape[2]], dtype=x.dtype)
    joined = paddle.concat([past, x], 1)
    return joined, joined[:, -around:]


@learn.exercise("speech.nn.conformer.ConvolutionModule.forward", forbid=(".forward", "ConformerBlock"))
def forward(self, x, valid=None, past=None):
    x = F.glu(self.pointwise1(self.layer_norm(x)), -1)
    if valid is not None:  # padding must not enter the frames beside it
        x = paddle.where(valid, x, x * 0.0)
    around = self.kernel_size - 1
    x, past = with_past(x, past, around) if self.causal else (on_both_sides(x, around), None)  # noqa: F821  the notebook's set-up cell has it
    x = self.depthwise(x.transpose([0, 2, 1])).transpose([0, 2, 1])
    return self.dropout(self.pointwise2(F.silu(self.norm(x)))), past
