"""Connectionist temporal classification of buffers: Sampan's loops on the CPU, torch's kernel on a GPU."""

from typing import Any

import numpy as np
import torch

from . import cpu_speech_ctc
from .device import GPUS

aten: Any = torch.ops.aten


def owned_labels(labels: torch.Tensor, counts: list[int], classes: int) -> tuple[torch.Tensor, int | None]:
    """(int64 copy of labels [batch, n] with 0 behind each sequence's end, a label outside [0, classes) or
    None)."""
    owned = labels.long().clone()
    ends = torch.tensor(counts, device=owned.device)[:, None]
    owned.masked_fill_(torch.arange(owned.shape[1], device=owned.device) >= ends, 0)
    wrong = owned[(owned < 0) | (owned >= classes)]
    return owned, int(wrong[0]) if wrong.numel() else None


def losses(
    x: torch.Tensor, labels: torch.Tensor, lengths: list[int], counts: list[int], blank: int
) -> tuple[torch.Tensor, Any]:
    """(-log of the probability of each label [batch], what `slopes` needs).

    x: [time, batch, classes] logits. labels: from `owned_labels`. lengths, counts: frames and tokens of each
    sequence, checked. Raises TypeError for other dtypes than float32 and float64.
    """
    if x.dtype not in (torch.float32, torch.float64):
        kind = str(x.dtype).removeprefix("torch.")
        raise TypeError(f"ctc_loss: log_probs: expected float32 or float64, got {kind}")
    if x.device.type in GPUS:
        logs = x.log_softmax(-1)
        loss, alpha = aten._ctc_loss(logs, labels, lengths, counts, blank, False)
        return loss, (logs, labels, lengths, counts, loss, alpha)
    frames, tokens = (np.array(n, np.int64) for n in (lengths, counts))
    found, paths = cpu_speech_ctc.ctc_paths(x.numpy(), labels.numpy(), frames, tokens, blank)
    return torch.from_numpy(found), paths


def slopes(g: torch.Tensor, x: torch.Tensor, blank: int, divide: bool, saved: Any) -> torch.Tensor:
    """The gradient of x from that of the losses; divide: by the number of frames of a sequence."""
    if isinstance(saved, cpu_speech_ctc.Paths):
        return torch.from_numpy(cpu_speech_ctc.ctc_slopes(g.numpy(), x.numpy(), divide, blank, saved))
    logs, labels, lengths, counts, loss, alpha = saved
    if divide:
        g = g / torch.tensor(lengths, device=g.device).clamp(min=1)
    # With respect to log_softmax's input: its derivative leaves a gradient that adds up to 0 as it is.
    found: torch.Tensor = aten._ctc_loss_backward(
        g.contiguous(), logs, labels, lengths, counts, loss, alpha, blank, True
    )
    return found
