"""The loss of the recurrent neural network transducer (Graves, 2012)."""

import math
from typing import Any

import torch

from ..engine.operator import operator
from ..engine.spelling import spelled
from ..engine.tensor import Tensor
from ..nn.functional.likelihood import lengths_of, number_of
from ..nn.functional.loss import reduced

__all__ = ["rnnt_loss"]


def _lattice(stay: Any, move: Any) -> Any:
    """The log of the sum over all paths from the first corner to each cell of [batch, time, labels + 1].

    stay, move: the log probability of entering a cell from the row before it and from the column before it;
    the first row's and column's do not count.
    """
    along = torch.cat([torch.zeros_like(move[:, :, :1]), move[:, :, 1:]], 2).cumsum(2)
    rows = [along[:, 0]]
    # a row is a running sum in the probabilities that its own moves divide out
    for t in range(1, stay.shape[1]):
        rows.append(along[:, t] + torch.logcumsumexp(rows[-1] + stay[:, t] - along[:, t], 1))
    return torch.stack(rows, 1)


@operator(lambda g, saved: saved * g.reshape([-1, 1, 1, 1]))
def transducer(x, labels, lengths, label_lengths, blank, fastemit):
    """-log of the probability [batch] that x, log probabilities [batch, time, labels + 1, classes], spells
    the labels.

    The recurrent neural network transducer (Graves, 2012). fastemit: emissions' gradients are 1 + fastemit
    times as large (Yu et al., 2021, formula 10).
    """
    batch, times, columns, _ = x.shape
    t, u = torch.arange(times, device=x.device), torch.arange(columns, device=x.device)
    names = torch.nn.functional.pad(labels.long(), (0, 1))[:, None, :, None].expand(batch, times, columns, 1)
    rest, emit = x[..., blank], x.gather(3, names).squeeze(3)
    alpha = _lattice(rest.roll(1, 1), emit.roll(1, 2))
    ends = torch.arange(batch, device=x.device), lengths - 1, label_lengths
    total = alpha[ends] + rest[ends]
    # The backward recursion is the same lattice, from the end of each sequence.
    rows, marks = ((n.view(-1, 1) - m).clamp(min=0) for n, m in ((lengths - 1, t), (label_lengths, u)))
    turn = (ends[0].view(-1, 1, 1), rows.unsqueeze(2), marks.unsqueeze(1))
    beta = (_lattice(rest[turn], emit[turn]) + rest[ends].view(-1, 1, 1))[turn]
    inside = (t < lengths.view(-1, 1)).unsqueeze(2) & (u <= label_lengths.view(-1, 1)).unsqueeze(1)
    after = beta.roll(-1, 1)
    after[(*ends,)] = 0.0
    reach = alpha - total.view(-1, 1, 1)
    resting = inside & ((t.view(-1, 1) < (lengths - 1).view(-1, 1, 1)) | (u == label_lengths.view(-1, 1, 1)))
    emitting = inside & (u < label_lengths.view(-1, 1, 1))
    slope = torch.zeros_like(x)
    slope[..., blank] = -((reach + rest + after).masked_fill(~resting, -math.inf)).exp()
    moved = (reach + emit + beta.roll(-1, 2)).masked_fill(~emitting, -math.inf).exp() * -(1 + fastemit)
    slope.scatter_add_(3, names, moved.unsqueeze(3))
    return -total, slope


@spelled()
def rnnt_loss(
    input, label, input_lengths, label_lengths, blank=0, fastemit_lambda=0.001, reduction="mean", name=None
) -> Tensor:
    """The transducer's loss (Graves, 2012): -log of the probability of the labels over all alignments.

    input: [batch, time, labels + 1, classes] log probabilities (Paddle's CPU kernel takes no softmax either).
    label: [batch, labels] ints; input_lengths, label_lengths: [batch]. fastemit_lambda: gradients of
    emissions are 1 + fastemit_lambda times as large (Yu et al., 2021).
    """
    number_of(reduction)
    batch, times, columns, _ = input.shape
    lengths = lengths_of("input_lengths", input_lengths, batch, times)
    counts = lengths_of("label_lengths", label_lengths, batch, columns - 1)
    both = (torch.tensor(n, device=input.data.device) for n in (lengths, counts))
    return reduced(transducer(input, label.data, *both, blank, fastemit_lambda), reduction)
