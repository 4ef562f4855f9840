"""Gradients in 16 bits. What rounding loses is added to the next step's gradient (error feedback)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...engine.errors import InvalidArgument
from ..reducer import Bucket
from ..row_exchange import started_sum


class Then:
    """An exchange, and what is done with its result in `wait`."""

    def __init__(self, work: Any, function: Callable[[], None]) -> None:
        self.work, self.function = work, function

    def wait(self) -> None:
        self.work.wait()
        self.function()

    def is_completed(self) -> bool:
        """Whether `wait` would return or raise at once."""
        return bool(self.work.is_completed())


class HalfPrecision:
    """Error feedback after Seide et al. (2014) and Karimireddy et al. (2019).

    dtype: "bfloat16", with the range of float32, or "float16", with 3 more bits of precision. Buckets of 16
    bits are sent as they are. feedback: whether what rounding loses is kept; the sums of the backend, which
    are rounded too, are not corrected.
    """

    def __init__(self, dtype: str = "bfloat16", feedback: bool = True) -> None:
        if dtype not in ("bfloat16", "float16"):
            raise InvalidArgument(f"HalfPrecision: dtype: expected 'bfloat16' or 'float16', got {dtype!r}")
        self.dtype: torch.dtype = getattr(torch, dtype)
        self.feedback = feedback

    def __call__(self, bucket: Bucket, group: Any) -> Any:
        """Start the exchange of a bucket."""
        buffer = bucket.buffer
        if buffer.itemsize <= 2:
            return started_sum(buffer, group)
        lost = bucket.kept.get("lost")
        if lost is not None:
            bucket.gradients.add_(lost)
        sent = buffer.to(self.dtype)
        if self.feedback:
            left = bucket.gradients - sent[: bucket.starts[-1]]
            # An overflow or NaN is seen in this step and not sent again.
            bucket.kept["lost"] = left.nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)
        return Then(started_sum(sent, group), lambda: buffer.copy_(sent))
