"""Other versions of a recording or of its features, to train on: speed, volume, noise, reverberation, masks.

What is random draws from the generators that `paddle.seed` starts. All are differentiable with respect to the
waveform or the features.
"""

from typing import Any

import torch

from .. import fft
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from .deltas import feature_tensor
from .resample import resample
from .waveform import positive, waveform_tensor, whole


def change_speed(waveform: Any, factor: float) -> Tensor:
    """The waveform `factor` times as fast, higher in pitch by as much: samples / factor samples, rounded up.

    waveform: [samples] or [channels, samples]. factor: rounded to 0.01, 0.1 to 10. As sox's `speed`, and the
    usual 0.9, 1.0, 1.1 (T. Ko et al., Audio augmentation for speech recognition, 2015).
    """
    if not 0.1 <= positive("factor", factor) <= 10:
        raise InvalidArgument(f"factor: expected 0.1 to 10, got {factor}")
    return resample(waveform, round(100 * factor), 100)


def change_volume(waveform: Any, decibels: float) -> Tensor:
    """The waveform times 10^(decibels / 20). Samples beyond -1 to 1 are left as they are."""
    return waveform_tensor(waveform) * 10.0 ** (float(decibels) / 20)


def add_noise(waveform: Any, noise: Any, snr: float, offset: int = 0) -> Tensor:
    """The waveform and noise, so that the power of the waveform is `snr` decibels above that of the noise.

    waveform: [samples] or [channels, samples]. noise: [samples] of the same rate, from sample `offset` on,
    repeated if it is shorter. Raises ValueError for noise that is silent or of no sample.
    """
    x, n = waveform_tensor(waveform), waveform_tensor(noise, "noise", (1,)).astype("float64")
    whole("offset", offset, 0)
    if n.shape[0] == 0 or x.shape[-1] == 0:
        raise InvalidArgument(f"noise: expected at least 1 sample, got {n.shape[0]} for {x.shape[-1]}")
    places = (torch.arange(x.shape[-1]) + offset) % n.shape[0]
    n = n[places.to(n.data.device)].astype(x.dtype)
    power = float((n.data.double() ** 2).mean())
    if power == 0:
        raise InvalidArgument("noise: expected a sample other than 0, got silence")
    ratio = float((x.data.double() ** 2).mean()) / power
    return x + n * (ratio / 10.0 ** (float(snr) / 10)) ** 0.5


def reverberate(waveform: Any, impulse: Any) -> Tensor:
    """The waveform as heard in a room: convolved with the room's response, with the power that it had before.

    waveform: [samples] or [channels, samples]. impulse: [samples] of the same rate; its largest sample is the
    direct sound, which keeps its time. The result has as many samples as the waveform.
    """
    x, room = waveform_tensor(waveform), waveform_tensor(impulse, "impulse", (1,)).astype("float64")
    if room.shape[0] == 0 or float(room.abs().max()) == 0:
        raise InvalidArgument("impulse: expected a sample other than 0, got silence")
    if x.shape[-1] == 0:
        return x
    count, direct = x.shape[-1], int(room.abs().argmax())
    size = 1 << (count + room.shape[0] - 1).bit_length()
    made = fft.irfft(fft.rfft(x.astype("float64"), size) * fft.rfft(room, size), size)
    made = made[..., direct : direct + count]
    before, after = (float((each.data.double() ** 2).mean()) for each in (x, made))
    return (made * ((before / after) ** 0.5 if after else 1.0)).astype(x.dtype)


def _draw(least: int, most: int) -> int:
    """A random integer from least to most, both included."""
    return int(torch.randint(least, most + 1, (1,)))


def spec_augment(
    features: Any,
    freq_masks: int = 2,
    freq_width: int = 27,
    time_masks: int = 2,
    time_width: int = 100,
    time_ratio: float = 1.0,
    fill: float = 0.0,
) -> Tensor:
    """Features with random bands of columns and stretches of frames set to `fill`, other ones in each
    recording.

    features: [frames, columns] or [batch, frames, columns]. freq_masks, time_masks: how many of each.
    freq_width, time_width: a mask has 0 to so many columns or frames; a mask over time at most the part
    time_ratio of all frames.
    Source: D. S. Park et al., SpecAugment, 2019, without time warping (policy LD: the defaults); time_ratio:
    D. S. Park et al., SpecAugment on large scale datasets, 2020.
    """
    x = feature_tensor(features)
    if x.ndim > 3:
        raise InvalidArgument(f"features: expected [frames, columns] or [batch, ...], got {list(x.shape)}")
    counts = {"freq_masks": freq_masks, "freq_width": freq_width, "time_masks": time_masks}
    for name, value in (counts | {"time_width": time_width}).items():
        whole(name, value, 0)
    if not 0 <= time_ratio <= 1:
        raise InvalidArgument(f"time_ratio: expected 0 to 1, got {time_ratio}")
    keep = torch.ones(x.shape, dtype=torch.bool)
    frames, columns = x.shape[-2:]
    longest = min(time_width, int(frames * time_ratio))
    for each in keep.reshape(-1, frames, columns) if keep.numel() else ():
        for count, most, whole_axis, axis in (
            (freq_masks, min(freq_width, columns), columns, 1),
            (time_masks, longest, frames, 0),
        ):
            for _ in range(count):
                width = _draw(0, most)
                each.narrow(axis, _draw(0, whole_axis - width), width).fill_(False)
    kept = Tensor(keep.to(x.data.device, x.data.dtype))
    return x * kept + (1 - kept) * fill
