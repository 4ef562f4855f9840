"""Kaldi's filter-bank energies and cepstra: `fbank` and `mfcc`, with gradients, offline.

Frames of 25 ms every 10 ms; each loses its mean, is pre-emphasized and windowed; the power of its spectrum is
summed by triangular filters that are equally wide in mel; logarithm; for cepstra a cosine transform and a
lifter. On the CPU in float32 without a gradient one kernel does it all (`kernels/cpu_speech_fbank.py`). Else
the same formulas run as operators of Tensors.

Source: Kaldi, feat/feature-fbank.cc, feature-mfcc.cc, feature-window.cc and mel-computations.cc.
"""

import math
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
import torch

from .. import fft
from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from ..kernels import speech as kernels
from ..ops import concat, matmul, maximum
from ..ops.slicing import unfold
from .waveform import PCM16, positive, waveform_tensor, whole

Array = np.ndarray[Any, Any]
TINY = 1.1920928955078125e-07  # the smallest energy whose logarithm is taken: the epsilon of float32
WINDOWS = ("povey", "hanning", "hamming", "blackman", "sine", "rectangular")


@dataclass(frozen=True)
class FeatureOptions:
    """Settings of `fbank`, `mfcc` and their streaming forms, with Kaldi's defaults.

    sample_rate: Hz. num_mel_bins: filters. frame_length, frame_shift: ms. low_freq, high_freq: Hz, the ends
    of the filters; a high_freq of 0 or below is counted from half the sample rate. preemphasis: 0 to 1.
    window: one of "povey", "hanning", "hamming", "blackman", "sine", "rectangular". remove_dc_offset:
    subtract each frame's mean. snip_edges: only frames that lie within the signal; else one frame for each
    frame_shift, centred, over the mirrored signal. use_energy: `fbank` puts the log energy before the
    filters, `mfcc` in place of coefficient 0. raw_energy: of the frame before pre-emphasis and window.
    energy_floor: at least so much energy; 0: none. use_power: the filters weigh power, else magnitude.
    use_log: take the logarithm. scale: samples are multiplied by it; 32768 turns samples of -1 to 1 into the
    16-bit numbers that Kaldi reads. num_ceps: cepstral coefficients, 0 for `fbank`. cepstral_lifter: 0 for
    none. There is no dither: add noise with `add_noise`.
    """

    sample_rate: float = 16000
    num_mel_bins: int = 80
    frame_length: float = 25.0
    frame_shift: float = 10.0
    low_freq: float = 20.0
    high_freq: float = 0.0
    preemphasis: float = 0.97
    window: str = "povey"
    remove_dc_offset: bool = True
    snip_edges: bool = True
    use_energy: bool = False
    raw_energy: bool = True
    energy_floor: float = 0.0
    use_power: bool = True
    use_log: bool = True
    scale: float = PCM16
    num_ceps: int = 0
    cepstral_lifter: float = 22.0

    def __post_init__(self) -> None:
        for name in ("sample_rate", "frame_length", "frame_shift", "scale"):
            positive(name, getattr(self, name))
        whole("num_mel_bins", self.num_mel_bins, 3)
        whole("num_ceps", self.num_ceps, 0)
        if self.num_ceps > self.num_mel_bins:
            raise InvalidArgument(
                f"num_ceps: expected at most num_mel_bins={self.num_mel_bins}, got {self.num_ceps}"
            )
        if not 0 <= self.preemphasis <= 1:
            raise InvalidArgument(f"preemphasis: expected 0 to 1, got {self.preemphasis}")
        if self.window not in WINDOWS:
            raise InvalidArgument(f"window: expected one of {', '.join(WINDOWS)}, got {self.window!r}")
        if self.length < 2 or self.shift < 1:
            raise InvalidArgument(
                f"frame_length, frame_shift: expected at least 2 samples and 1, got {self.length} and "
                f"{self.shift}"
            )
        nyquist = self.sample_rate / 2
        if not 0 <= self.low_freq < self.top_freq <= nyquist:
            raise InvalidArgument(
                f"low_freq, high_freq: expected 0 <= low < high <= {nyquist:g} Hz, got {self.low_freq:g} and "
                f"{self.top_freq:g}"
            )

    @property
    def length(self) -> int:
        """Samples of a frame."""
        return int(self.sample_rate * 0.001 * self.frame_length)

    @property
    def shift(self) -> int:
        """Samples from one frame to the next."""
        return int(self.sample_rate * 0.001 * self.frame_shift)

    @property
    def padded(self) -> int:
        """Samples of a transform: a power of 2."""
        return 1 << max(3, (self.length - 1).bit_length())

    @property
    def top_freq(self) -> float:
        return self.high_freq if self.high_freq > 0 else self.sample_rate / 2 + self.high_freq

    @property
    def columns(self) -> int:
        """Numbers of a frame in the result."""
        return self.num_ceps or self.num_mel_bins + self.use_energy

    def num_frames(self, samples: int) -> int:
        """How many frames a signal of so many samples has."""
        if self.snip_edges:
            return 1 + (samples - self.length) // self.shift if samples >= self.length else 0
        return (samples + self.shift // 2) // self.shift

    @property
    def before(self) -> int:
        """Mirrored samples before the signal, without snip_edges; negative where the first frame begins
        later."""
        return 0 if self.snip_edges else self.length // 2 - self.shift // 2


def options_from(settings: dict[str, Any], **defaults: Any) -> FeatureOptions:
    """FeatureOptions of keyword arguments; TypeError for an unknown one."""
    known = [field.name for field in fields(FeatureOptions)]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InvalidType(f"{unknown[0]}: unknown; expected one of {', '.join(known)}")
    return FeatureOptions(**(defaults | settings))


def window_of(name: str, length: int) -> Array:
    """float64 [length]: a symmetric window of Kaldi's."""
    angle = 2 * math.pi * np.arange(length) / (length - 1)
    hann = 0.5 - 0.5 * np.cos(angle)
    found: Array = {
        "povey": hann**0.85,
        "hanning": hann,
        "hamming": 0.54 - 0.46 * np.cos(angle),
        "blackman": 0.42 - 0.5 * np.cos(angle) + 0.08 * np.cos(2 * angle),
        "sine": np.sin(angle / 2),
        "rectangular": np.ones(length),
    }[name]
    return found


def mel(frequency: Any) -> Any:
    """Mel of Hz, by Kaldi and HTK: 1127 ln(1 + f / 700)."""
    return 1127.0 * np.log(1.0 + np.asarray(frequency) / 700.0)


@cache
def mel_bank(options: FeatureOptions) -> Array:
    """float64 [num_mel_bins, padded / 2]: triangular filters, equally wide in mel. Read-only."""
    edges = np.linspace(mel(options.low_freq), mel(options.top_freq), options.num_mel_bins + 2)[:, None]
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    at = mel(np.arange(options.padded // 2) * (options.sample_rate / options.padded))
    bank = np.maximum(0.0, np.minimum((at - left) / (centre - left), (right - at) / (right - centre)))
    empty = np.flatnonzero(~bank.any(1))
    if len(empty):
        raise InvalidArgument(
            f"num_mel_bins: filter {empty[0]} of {options.num_mel_bins} holds no frequency of a transform of "
            f"{options.padded} samples; use fewer filters or longer frames"
        )
    bank.flags.writeable = False
    return bank


@cache
def cepstral_matrix(options: FeatureOptions) -> Array:
    """float64 [num_ceps, num_mel_bins]: the cosine transform of type II, orthonormal, times the lifter
    1 + Q / 2 sin(pi k / Q). Read-only."""
    count, rows = options.num_mel_bins, np.arange(options.num_ceps)[:, None]
    made = math.sqrt(2 / count) * np.cos(math.pi / count * (np.arange(count) + 0.5) * rows)
    made[:1] = math.sqrt(1 / count)
    q = options.cepstral_lifter
    if q:
        made = made * (1 + 0.5 * q * np.sin(math.pi * rows / q))
    made.flags.writeable = False
    return made


def filter_spans(bank: Array) -> tuple[Array, Array, Array]:
    """(first frequency of each filter int64 [filters], where its weights begin int64 [filters + 1], weights
    float32) of filters [filters, frequencies]: each from its first to its last weight that is not 0."""
    used = bank != 0
    first, last = used.argmax(1), bank.shape[1] - used[:, ::-1].argmax(1)
    counts = np.where(used.any(1), last - first, 0)
    places = np.arange(bank.shape[1])
    inside = (places >= first[:, None]) & (places < (first + counts)[:, None])
    starts = np.concatenate([[0], np.cumsum(counts)])
    return first.astype(np.int64), starts.astype(np.int64), bank[inside].astype(np.float32)


@cache
def plan_of(options: FeatureOptions) -> kernels.Plan:
    """The kernel's tables."""
    n = options.padded // 2
    cepstra = cepstral_matrix(options) if options.num_ceps else np.empty((0, options.num_mel_bins))
    return kernels.Plan(
        window_of(options.window, options.length).astype(np.float32),
        *kernels.angles(n, 2 * math.pi),
        *kernels.angles(n, math.pi),
        kernels.bin_rows(n),
        *filter_spans(mel_bank(options)),
        cepstra.astype(np.float32),
        options.shift,
        np.float32(options.scale),
        np.float32(options.preemphasis),
        np.float32(options.energy_floor),
        options.remove_dc_offset,
        options.raw_energy,
        options.use_power,
        options.use_log,
    )


def features_of(samples: Array, options: FeatureOptions) -> Array:
    """float32 [frames, columns] of float32 samples [samples], contiguous: the frames that begin every `shift`
    samples and lie within them."""
    count = 1 + (len(samples) - options.length) // options.shift if len(samples) >= options.length else 0
    width = options.num_ceps or options.num_mel_bins
    made = np.empty((count, width), np.float32)
    energies = np.empty(count if options.use_energy else 0, np.float32)
    kernels.features(samples, plan_of(options), energies, made)
    if not options.use_energy:
        return made
    if options.num_ceps:
        made[:, 0] = energies
        return made
    return np.concatenate([energies[:, None], made], 1)


def mirrored(samples: int, options: FeatureOptions) -> Array:
    """int64: which sample stands at each place of the signal that all frames lie in: mirrored at both
    ends."""
    last = (options.num_frames(samples) - 1) * options.shift + options.length - options.before
    places = np.arange(-options.before, last) % (2 * samples)
    return np.minimum(places, 2 * samples - 1 - places)


def _differentiable(x: Tensor, options: FeatureOptions) -> Tensor:
    """The same as operators. x: [..., samples], at least one frame; returns [..., frames, columns]."""

    def constant(array: Any) -> Tensor:
        return Tensor(torch.as_tensor(np.array(array), dtype=x.data.dtype, device=x.data.device))

    def log_energy(frames: Tensor) -> Tensor:
        return maximum((frames * frames).sum(-1), constant(max(TINY, options.energy_floor))).log()

    frames = unfold(x * options.scale, -1, options.length, options.shift)  # [..., frames, length]
    if options.remove_dc_offset:
        frames = frames - frames.mean(-1, keepdim=True)
    energy = log_energy(frames) if options.use_energy and options.raw_energy else None
    earlier = concat([frames[..., :1], frames[..., :-1]], -1)
    frames = (frames - earlier * options.preemphasis) * constant(window_of(options.window, options.length))
    if options.use_energy and energy is None:
        energy = log_energy(frames)
    spectrum = fft.rfft(frames, options.padded)[..., : options.padded // 2]
    power = spectrum.real() * spectrum.real() + spectrum.imag() * spectrum.imag()
    found = matmul(power if options.use_power else power.sqrt(), constant(mel_bank(options).T))
    found = maximum(found, constant(TINY)).log() if options.use_log else found
    if options.num_ceps:
        found = matmul(found, constant(cepstral_matrix(options).T))
        return found if energy is None else concat([energy.unsqueeze(-1), found[..., 1:]], -1)
    return found if energy is None else concat([energy.unsqueeze(-1), found], -1)


def compute(waveform: Any, options: FeatureOptions) -> Tensor:
    """Features of a waveform [samples] or [channels, samples]: [frames, columns] or [channels, frames,
    columns]."""
    x = waveform_tensor(waveform)
    samples = x.shape[-1]
    count = options.num_frames(samples)
    if count == 0 or samples == 0 or x.shape[0] == 0:
        shape = (*x.data.shape[:-1], 0 if samples == 0 else count, options.columns)
        return Tensor(torch.empty(shape, dtype=x.data.dtype, device=x.data.device))
    if not options.snip_edges:
        x = x[..., torch.from_numpy(mirrored(samples, options)).to(x.data.device)]
    kernel_runs = (
        x.data.dtype is torch.float32
        and x.data.device.type == "cpu"
        and (x.stop_gradient or not torch.is_grad_enabled())
        and options.padded <= 2 * kernels.LARGEST
    )
    if not kernel_runs:
        return _differentiable(x, options)
    channels = x.data.reshape(-1, x.shape[-1]).contiguous().numpy()
    made = [torch.from_numpy(features_of(channel, options)) for channel in channels]
    return Tensor(made[0] if x.ndim == 1 else torch.stack(made))


def fbank(waveform: Any, sample_rate: float = 16000, num_mel_bins: int = 80, **options: Any) -> Tensor:
    """Kaldi's log mel filter-bank energies: float [frames, num_mel_bins], one column more with use_energy.

    waveform: [samples], float32 or float64 in -1 to 1, or int16; [channels, samples] gives [channels, frames,
    num_mel_bins]. A signal shorter than a frame has no frames. options: see `FeatureOptions`. Differentiable
    with respect to the waveform. Raises ValueError for NaN or infinite samples and for settings out of range,
    TypeError for another dtype.
    Source: Kaldi, feat/feature-fbank.cc.

    >>> wave = paddle.sin(paddle.arange(16000, dtype="float32") * 0.3)
    >>> list(paddle.speech.fbank(wave).shape)
    [98, 80]
    """
    return compute(waveform, options_from(options, sample_rate=sample_rate, num_mel_bins=num_mel_bins))


def mfcc(
    waveform: Any, sample_rate: float = 16000, num_ceps: int = 13, num_mel_bins: int = 23, **options: Any
) -> Tensor:
    """Kaldi's mel-frequency cepstral coefficients: float [frames, num_ceps].

    use_energy is True unless given: coefficient 0 is the log energy of the frame. Waveform, options and
    errors as in `fbank`.
    Source: Kaldi, feat/feature-mfcc.cc.
    """
    given = {
        "use_energy": True,
        "sample_rate": sample_rate,
        "num_ceps": num_ceps,
        "num_mel_bins": num_mel_bins,
    }
    whole("num_ceps", num_ceps)
    return compute(waveform, options_from(options, **given))
