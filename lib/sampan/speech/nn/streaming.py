"""An encoder over features that arrive in pieces of any size.

The encoder works in chunks; between two chunks it keeps the states of its layers (caches). The result equals
that of one call with the chunk's mask, `encoder(features, chunk=chunk, left_chunks=left_chunks)`.
"""

from typing import Any

import numpy as np
import torch

from ...engine.backward import no_grad
from ...engine.tensor import InvalidArgument, Tensor
from ...ops import concat
from .masks import _check_chunk
from .subsampling import Subsampling4

__all__ = ["EncoderStream"]


class EncoderStream:
    """Feeds an encoder chunk by chunk; batch 1, without gradients.

    encoder: a ConformerEncoder with causal=True or a RecurrentEncoder of one direction, in eval mode. chunk:
    frames of the result in one step. left_chunks: earlier chunks that attention sees; memory is constant
    unless it is -1 (all of them). Raises InvalidArgument for an encoder in training mode.
    """

    def __init__(self, encoder: Any, chunk: int = 16, left_chunks: int = 4) -> None:
        _check_chunk(chunk, left_chunks)
        if encoder.training:
            raise InvalidArgument("encoder: expected eval mode, got training mode: call encoder.eval()")
        self.encoder, self.chunk = encoder, chunk
        self.keep = None if left_chunks < 0 else left_chunks * chunk
        weight = encoder.subsampling.conv1.weight
        self.dtype, self.place = weight.data.dtype, weight.data.device
        self.reset()

    def reset(self) -> None:
        """Forget all that was fed."""
        empty = torch.zeros(0, self.encoder.input_size, dtype=self.dtype, device=self.place)
        self._waiting, self._caches, self._finished = empty, None, False

    @property
    def steps(self) -> int:
        """Input frames between two chunks."""
        return self.chunk * Subsampling4.RATE

    def feed(self, features: Any) -> Tensor:
        """The frames that are complete now, [new frames, width], of further features [time, input_size].

        features: an array or a Tensor. Raises InvalidArgument for another width, NaN or infinity, and after
        `finish`.
        """
        if self._finished:
            raise InvalidArgument("features: this stream is finished: call reset() for the next one")
        given = features.data if isinstance(features, Tensor) else torch.as_tensor(np.asarray(features))
        size = self.encoder.input_size
        if given.ndim != 2 or given.shape[1] != size:
            raise InvalidArgument(f"features: expected [time, {size}], got {list(given.shape)}")
        given = given.to(self.place, self.dtype)
        if not bool(torch.isfinite(given).all()):
            raise InvalidArgument("features: expected finite numbers, got NaN or infinity")
        self._waiting = torch.cat([self._waiting, given])
        made = []
        while len(self._waiting) >= self.steps - Subsampling4.RATE + Subsampling4.WINDOW:
            made.append(self._step(self._waiting[: self.steps - Subsampling4.RATE + Subsampling4.WINDOW]))
            self._waiting = self._waiting[self.steps :]
        self._waiting = self._waiting.clone()  # not a view of all that was fed
        return concat(made, 0) if made else Tensor(given.new_empty(0, self.encoder.width))

    def finish(self) -> Tensor:
        """The last frames, [0 to chunk, width]; what is less than a window of 7 input frames is dropped."""
        self._finished = True
        if len(self._waiting) < Subsampling4.WINDOW:
            return Tensor(self._waiting.new_empty(0, self.encoder.width))
        return self._step(self._waiting)

    @no_grad()
    def _step(self, features: torch.Tensor) -> Tensor:
        made, self._caches = self.encoder.step(Tensor(features[None]), self._caches, self.keep)
        return made[0]
