"""The likeliest sequence of tags (Viterbi, 1967)."""

from typing import Any

import torch

from ..engine.spelling import spelled
from ..engine.tensor import InvalidArgument, Tensor
from ..nn import Layer

__all__ = ["ViterbiDecoder", "viterbi_decode"]


@spelled()
def viterbi_decode(
    potentials, transition_params, lengths, include_bos_eos_tag=True, name=None
) -> tuple[Tensor, Tensor]:
    """The score [batch] and the tags [batch, longest length], int64, of the best path through each sequence.

    potentials: [batch, time, tags], of each tag at each time. transition_params: [tags, tags], from row to
    column; with include_bos_eos_tag its last row leads from the start, the last but one to the end. Behind a
    sequence's length [batch] the tags are 0. Raises InvalidArgument, a ValueError, for other shapes.
    """
    scores, steps, counts = potentials.data, transition_params.data, lengths.data.long()
    tags = scores.shape[-1:]
    if scores.ndim != 3 or steps.shape != tags * 2 or counts.shape != scores.shape[:1]:
        shapes = f"{[*potentials.shape]}, {[*transition_params.shape]} and {[*lengths.shape]}"
        raise InvalidArgument(
            f"expected potentials [batch, time, tags], [tags, tags] and [batch], got {shapes}"
        )
    longest = int(counts.max()) if len(counts) else 0
    best = scores[:, 0] + (steps[-1] if include_bos_eos_tag else 0)
    pointers = []
    for time in range(1, longest):
        value, pointer = (best.unsqueeze(2) + steps).max(1)  # [batch, tags], from which tag
        going = (counts > time).unsqueeze(1)
        best = torch.where(going, value + scores[:, time], best)
        pointers.append(torch.where(going, pointer, torch.arange(scores.shape[2], device=scores.device)))
    if include_bos_eos_tag:
        best = best + steps[-2]
    total, tag = best.max(1)
    path = [tag]
    for pointer in reversed(pointers):
        path.append(pointer.gather(1, path[-1].unsqueeze(1)).squeeze(1))
    tags = torch.stack(path[::-1], 1)  # behind its length a path stays where it ended
    inside = torch.arange(longest, device=scores.device) < counts.unsqueeze(1)
    return Tensor(total), Tensor(tags[:, :longest] * inside)


class ViterbiDecoder(Layer):
    """viterbi_decode with these transitions: forward(potentials, lengths)."""

    def __init__(self, transitions, include_bos_eos_tag=True, name=None):
        super().__init__()
        self.transitions, self.include_bos_eos_tag = transitions, include_bos_eos_tag

    def forward(self, potentials: Any, lengths: Any) -> Any:
        return viterbi_decode(potentials, self.transitions, lengths, self.include_bos_eos_tag)
