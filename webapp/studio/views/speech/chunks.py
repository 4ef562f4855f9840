"""Pieces of sound that a browser sends: what a piece may be. Independent of widgets.

A message of the page says {"run": number, "seq": 0, 1, ..., "dtype": "int16" or "float32", "samples": number} and has
one buffer, the samples at 16 kHz, mono, little-endian. Pieces are about 100 ms long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

RATE = 16_000
MOST_SAMPLES = RATE  # of one piece
_DTYPES: dict[str, np.dtype[Any]] = {"int16": np.dtype("<i2"), "float32": np.dtype("<f4")}
Samples = np.ndarray[Any, np.dtype[np.float32]]


class Refused(ValueError):
    """Sound that is not taken. `reason` is the end of a key of the page's sentences, `values` its fields."""

    def __init__(self, reason: str, **values: object) -> None:
        super().__init__(f"{reason}: {values}")
        self.reason, self.values = reason, values


class Chunks:
    """The pieces of one run, in order."""

    def __init__(self, run: int) -> None:
        self.run = run
        self.taken = 0  # pieces

    def take(self, about: Any, buffers: Sequence[Any]) -> Samples:
        """float32 [samples] from -1 to 1 of the next piece. Raises Refused: "stopped" for a piece of another run, "order"
        for a missing piece, "dtype", "length", "nan"."""
        if not isinstance(about, dict) or about.get("run") != self.run:
            raise Refused("stopped")
        if about.get("seq") != self.taken or isinstance(about.get("seq"), bool):
            raise Refused("order", expected=self.taken, got=about.get("seq"))
        dtype = _DTYPES.get(str(about.get("dtype")))
        if dtype is None:
            raise Refused("dtype", got=str(about.get("dtype"))[:40])
        count = about.get("samples")
        if not isinstance(count, int) or not 0 < count <= MOST_SAMPLES:
            raise Refused("length", expected=MOST_SAMPLES, got=str(count)[:40])
        content = b"" if len(buffers) != 1 else bytes(buffers[0])
        if len(content) != count * dtype.itemsize:
            raise Refused("length", expected=count * dtype.itemsize, got=len(content))
        given = np.frombuffer(content, dtype)
        samples = given.astype(np.float32) / np.float32(32768 if dtype.kind == "i" else 1)
        if not np.isfinite(samples).all():
            raise Refused("nan")
        self.taken += 1
        return np.clip(samples, -1, 1)
