"""Mel energies, decibels and cepstra of the spectrogram layers by the kernel of Kaldi's features.

One loop from samples to the result, where operators would write every spectrum to memory. It computes what
the layers in `spectrogram.py` define, up to the rounding of float32.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ..engine.apply import observers
from ..engine.tensor import Tensor
from ..kernels import speech as kernels
from .kaldi import filter_spans

Array = np.ndarray[Any, Any]
SMALLEST = float(np.finfo(np.float32).tiny)


def _runs(x: Tensor, tables: list[Tensor], n_fft: int, hop: int, power: float, pad_mode: str) -> bool:
    """Whether the kernel computes this. What it does not take, or is wrong, is left to the operators."""
    given = [x, *tables]
    return (
        not observers
        and all(t.data.dtype is torch.float32 and t.data.device.type == "cpu" for t in given)
        and (all(t.stop_gradient for t in given) or not torch.is_grad_enabled())
        and 8 <= n_fft <= 2 * kernels.LARGEST
        and n_fft & (n_fft - 1) == 0
        and hop > 0
        and power in (1.0, 2.0)
        and pad_mode in ("reflect", "constant")
        and x.ndim == 2
        and x.shape[0] > 0
        and x.shape[1] >= n_fft
    )


def _plan(
    window: Array, bank: Array, n_fft: int, hop: int, decibels: tuple[float, float] | None, matrix: Array
) -> kernels.Plan:
    """The kernel's tables for power spectra. window: [win_length], in the middle of n_fft samples; matrix:
    [columns, mels], or no row."""
    n, padded = n_fft // 2, np.zeros(n_fft, np.float32)
    padded[(n_fft - len(window)) // 2 :][: len(window)] = window
    reference, least = decibels or (1.0, SMALLEST)
    return kernels.Plan(
        padded,
        *kernels.angles(n, 2 * math.pi),
        *kernels.angles(n, math.pi),
        kernels.bin_rows(n),
        *filter_spans(bank),
        np.ascontiguousarray(matrix),
        shift=hop,
        scale=np.float32(1),
        preemphasis=np.float32(0),
        floor=np.float32(0),
        centred=False,
        raw=False,
        squared=True,
        logarithm=decibels is not None,
        least=np.float32(least),
        factor=np.float32(10 / math.log(10)),
        offset=np.float32(-10 * math.log10(max(reference, least))),
        by_column=True,
    )


def fused_mel(
    x: Tensor,
    window: Tensor,
    bank: Tensor,
    settings: Mapping[str, Any],
    power: float,
    decibels: tuple[float, float] | None = None,
    cosines: Tensor | None = None,
) -> Tensor | None:
    """float32 [batch, columns, frames] of waveforms [batch, samples], or None where operators must compute
    it: for a gradient, another dtype or device, a length of the transform that is no power of 2.

    window: [win_length]; bank: [mels, n_fft // 2 + 1]; settings: those of `stft`. decibels: (reference, least
    energy) as in `power_to_db`, or None for energies. cosines: [mels, columns], applied at last, or None.
    """
    n_fft, hop, pad_mode = settings["n_fft"], settings["hop_length"], settings["pad_mode"]
    hop = n_fft // 4 if hop is None else hop
    tables = [window, bank] if cosines is None else [window, bank, cosines]
    if not _runs(x, tables, n_fft, hop, power, pad_mode):
        return None
    if decibels is not None and not (decibels[0] > 0 and decibels[1] >= SMALLEST):
        return None
    matrix = np.empty((0, bank.shape[0]), np.float32) if cosines is None else cosines.data.numpy().T
    plan = _plan(window.data.numpy(), bank.data.numpy(), n_fft, hop, decibels, matrix)
    plan = plan._replace(squared=power == 2.0)
    around = n_fft // 2 if settings["center"] else 0
    frames = (x.shape[1] + 2 * around - n_fft) // hop + 1
    made = np.empty((x.shape[0], len(matrix) or bank.shape[0], frames), np.float32)
    none = np.empty(0, np.float32)
    for wave, out in zip(x.data.numpy(), made, strict=True):
        padded = np.pad(wave, around, "reflect" if pad_mode == "reflect" else "constant")
        kernels.features(padded, plan, none, out)
    return Tensor(torch.from_numpy(made))
