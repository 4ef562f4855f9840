"""Samples of ops/recurrent.py, and functions that compute the same by other means."""

from typing import Any

import torch

from .declare import sampled


def _by_torch(x, h, c, w_ih, w_hh, b_ih, b_hh, length, mode, reverse):  # type: ignore[no-untyped-def]
    """The same by torch's layers, for tests: the reversed sequence is turned, and its output turned back."""
    x = x.flip(0) if reverse else x
    weights = [w_ih, w_hh, b_ih, b_hh]
    if mode == "LSTM":
        out, h, c = torch.lstm(x, (h[None], c[None]), weights, True, 1, 0.0, False, False, False)
    else:
        function = {"GRU": torch.gru, "RNN_TANH": torch.rnn_tanh, "RNN_RELU": torch.rnn_relu}[mode]
        out, h = function(x, h[None], weights, True, 1, 0.0, False, False, False)
    out = out.flip(0) if reverse else out
    return (out, h[0], c[0]) if mode == "LSTM" else (out, h[0])


def _sample(mode: str, reverse: bool, gates: int) -> tuple[Any, ...]:
    shapes = ((gates * 3, 2), (gates * 3, 3), (gates * 3,), (gates * 3,))
    return ((4, 2, 2), (2, 3), (2, 3) if mode == "LSTM" else None, *shapes, None, mode, reverse)


sampled(
    "recurrent",
    reference=_by_torch,
    samples=[
        _sample("LSTM", False, 4),
        _sample("GRU", True, 3),
        _sample("RNN_TANH", False, 1),
        _sample("RNN_RELU", True, 1),
    ],
)
