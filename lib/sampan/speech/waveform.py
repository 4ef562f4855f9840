"""What a waveform may be, and its checks: every function of this package reads its samples through here."""

from typing import Any

import numpy as np
import torch

from ..dtype import name_of
from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor

PCM16 = 32768.0  # the integer that stands for 1.0


def waveform_tensor(waveform: Any, name: str = "waveform", axes: tuple[int, ...] = (1, 2)) -> Tensor:
    """A waveform as a floating Tensor: float32 or float64 as it is, int16 divided by 32768.

    waveform: Tensor or NumPy array, [samples] or [channels, samples]; `axes` lists the numbers of axes that
    are allowed. Raises TypeError for another type or dtype, ValueError for another shape, for NaN and for
    infinity.
    """
    if isinstance(waveform, np.ndarray):
        if waveform.dtype.kind not in "fiu":
            raise InvalidType(f"{name}: expected float32, float64 or int16, got {waveform.dtype}")
        waveform = Tensor(torch.from_numpy(np.ascontiguousarray(waveform).copy()))
    if not isinstance(waveform, Tensor):
        raise InvalidType(f"{name}: expected a Tensor or a NumPy array, got {type(waveform).__name__}")
    kind = waveform.data.dtype
    if kind is torch.int16:
        waveform = waveform.astype("float32") * (1 / PCM16)
    elif kind not in (torch.float32, torch.float64):
        advice = "; cast it and divide by its largest value" if not kind.is_floating_point else ""
        raise InvalidType(f"{name}: expected float32, float64 or int16, got {name_of(kind)}{advice}")
    if waveform.ndim not in axes:
        allowed = {1: "[samples]", 2: "[channels, samples]", 3: "[batch, channels, samples]"}
        expected = " or ".join(allowed[n] for n in axes)
        raise InvalidArgument(f"{name}: expected {expected}, got shape {list(waveform.shape)}")
    check_finite(waveform.data, name)
    return waveform


def check_finite(samples: torch.Tensor, name: str, offset: int = 0) -> None:
    """ValueError that names the first sample (counted from `offset`) that is NaN or infinite."""
    if samples.numel() and not bool(torch.isfinite(samples.sum())):  # a sum of finite samples is finite
        wrong = (~torch.isfinite(samples)).nonzero()
        if len(wrong):
            at = wrong[0].tolist()
            place = f"sample {at[-1] + offset}" + (f" of channel {at[0]}" if len(at) > 1 else "")
            raise InvalidArgument(
                f"{name}: expected finite samples, got {samples[tuple(at)].item()} at {place}"
            )


def positive(name: str, value: Any) -> Any:
    """The number, if it is above 0 and finite; else ValueError."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not 0 < value < float("inf")
    ):
        raise InvalidArgument(f"{name}: expected a positive number, got {value!r}")
    return value


def whole(name: str, value: Any, least: int = 1) -> int:
    """The integer, if it is at least `least`; else ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidArgument(f"{name}: expected an integer of at least {least}, got {value!r}")
    return int(value)
