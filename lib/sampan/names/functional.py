"""Functions of `nn.functional` for beam search and video."""

import torch

from ..engine.apply import wrap
from ..engine.spelling import spell
from ..engine.tensor import InvalidArgument, Tensor
from ..nn.functional.convolution import channels_back, channels_first
from ..ops.joining import concat
from ..ops.shape import pad_constant

__all__ = ["gather_tree", "temporal_shift"]


def gather_tree(ids, parents) -> Tensor:
    """Backtrace of a beam search: full sequences from each step's ids and parent beams, all [time, batch,
    beam]."""
    if ids.ndim != 3 or list(ids.shape) != list(parents.shape):
        raise InvalidArgument(
            f"gather_tree: expected [time, batch, beam] twice, got {[*ids.shape]}, {[*parents.shape]}"
        )
    if not ids.shape[0]:
        return ids.clone()
    steps, beams = [ids.data[-1]], parents.data[-1].long()
    for step, parent in zip(reversed(ids.data[:-1]), reversed(parents.data[:-1]), strict=True):
        steps.append(step.gather(1, beams))
        beams = parent.long().gather(1, beams)
    return wrap(torch.stack(steps[::-1]))


def temporal_shift(x, seg_num, shift_ratio=0.25, name=None, data_format="NCHW") -> Tensor:
    """Temporal shift (Lin et al., 2019): shifts the first part of the channels by one step forward, the next
    part by one step backward, with zeros at the ends.

    x: [batch seg_num, channels, height, width] (or "NHWC"), with seg_num steps in time; shift_ratio: the
    fraction of each part.
    """
    x, last = channels_first(x, 2, data_format)
    count, c, h, w = x.shape
    if seg_num < 1 or count % seg_num:
        raise InvalidArgument(f"temporal_shift: seg_num {seg_num} does not divide {count} images")
    if not 0 < shift_ratio < 0.5:
        raise InvalidArgument(f"temporal_shift: expected a shift_ratio below 0.5, got {shift_ratio}")
    first, second = int(c * shift_ratio), int(c * 2 * shift_ratio)
    film = x.reshape([-1, seg_num, c, h, w])
    longer = pad_constant(film, [0, 0, 0, 0, 0, 0, 1, 1], 0.0)
    shares = [longer[:, :seg_num, :first], longer[:, 2:, first:second], film[:, :, second:]]
    value = concat([s for s in shares if s.shape[2]], 2).reshape([count, c, h, w])
    return channels_back(value, last)


spell(globals(), __name__)
