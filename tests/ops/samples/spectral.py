"""Samples of ops/spectral.py, and functions that compute the same by other means."""

import torch

from .declare import sampled

sampled("frame", reference=lambda x, n, hop: x.unfold(-1, n, hop).mT, samples=[((2, 7), 3, 2)])
sampled(
    "overlap_add",
    reference=lambda x, hop: torch.ops.aten.unfold_backward(x.mT, [2, 7], 1, 3, hop),
    samples=[((2, 3, 3), 2)],
)
sampled("fftshift", reference=torch.fft.fftshift, samples=[((3, 4),), ((5,), 0)])
sampled("ifftshift", reference=torch.fft.ifftshift, samples=[((3, 4),), ((5,), 0)])

for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    sampled(kind, [((2, 5),), ((2, 4), 6)], getattr(torch.fft, kind))
    for ending in ("2", "n"):
        sampled(kind + ending, [((3, 4),)], getattr(torch.fft, kind + ending))
