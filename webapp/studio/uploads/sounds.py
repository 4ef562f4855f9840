"""Sounds: WAV with 8 to 32 bits or floating point. The header is read here, and every sample once."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO

import numpy as np

from . import bounds
from .refusal import Refusal

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_TYPES = {
    (_PCM, 8): "u1",
    (_PCM, 16): "<i2",
    (_PCM, 24): "u1",
    (_PCM, 32): "<i4",
    (_FLOAT, 32): "<f4",
    (_FLOAT, 64): "<f8",
}
_PIECE = 1 << 22
PEAKS = 120  # of the picture of a waveform


@dataclass(frozen=True)
class Sound:
    """`samples` of one channel, `rate` in Hz, `wave`: the largest absolute sample of each of `PEAKS` stretches."""

    rate: int
    channels: int
    samples: int
    wave: list[float]

    @property
    def seconds(self) -> float:
        return self.samples / self.rate


def read(stream: IO[bytes], size: int, name: str) -> Sound:
    """The sound in a stream of `size` bytes. Refuses one that is truncated or whose header contradicts itself."""
    place, layout = 12, None
    stream.read(place)
    while True:
        chunk = stream.read(8)
        if len(chunk) < 8:
            raise Refusal("wav_cut", name=name, stated=8, found=len(chunk))
        kind, length = struct.unpack("<4sI", chunk)
        place += 8
        if length > size - place:
            raise Refusal("wav_cut", name=name, stated=length, found=size - place)
        if kind == b"data":
            break
        body = stream.read(length + length % 2)
        place += len(body)
        if kind == b"fmt ":
            layout = _layout(body, name)
    if layout is None:
        raise Refusal("wav_header", name=name, why="no fmt")
    form, bits, channels, rate = layout
    if length % (channels * bits // 8):
        raise Refusal("wav_header", name=name, why=f"{length} bytes / {channels} * {bits} bits")
    samples = length // (channels * bits // 8)
    return Sound(rate, channels, samples, _wave(stream, samples, channels, form, bits, name))


def _layout(body: bytes, name: str) -> tuple[int, int, int, int]:
    """(format, bits, channels, rate)."""
    if len(body) < 16:
        raise Refusal("wav_header", name=name, why=f"fmt: {len(body)} bytes")
    form, channels, rate, _, block, bits = struct.unpack("<HHIIHH", body[:16])
    if form == _EXTENSIBLE and len(body) >= 26:
        form = struct.unpack("<H", body[24:26])[0]
    if (form, bits) not in _TYPES:
        raise Refusal("wav_header", name=name, why=f"format {form}, {bits} bits")
    if not 1 <= channels <= bounds.MOST_CHANNELS or block != channels * bits // 8:
        raise Refusal("wav_header", name=name, why=f"{channels} channels, block {block}")
    if not bounds.RATES[0] <= rate <= bounds.RATES[1]:
        raise Refusal("wav_header", name=name, why=f"{rate} Hz")
    return form, bits, channels, rate


def _wave(stream: IO[bytes], samples: int, channels: int, form: int, bits: int, name: str) -> list[float]:
    """Reads all samples. Refuses NaN and infinity, which would make every later computation NaN."""
    peaks = np.zeros(PEAKS)
    frame = channels * bits // 8
    done, piece = 0, max(_PIECE // frame, 1)
    while done < samples:
        part = stream.read(min(piece, samples - done) * frame)
        values = _decoded(part, form, bits).reshape(-1, channels)
        if not len(values):
            raise Refusal("wav_cut", name=name, stated=samples * frame, found=done * frame)
        if not np.isfinite(values).all():
            raise Refusal("wav_values", name=name)
        places = (np.arange(done, done + len(values)) * PEAKS) // samples
        np.maximum.at(peaks, places, np.abs(values).max(1))
        done += len(values)
    return [round(float(peak), 3) for peak in peaks / max(peaks.max(initial=0), 1e-9)]


def _decoded(part: bytes, form: int, bits: int) -> np.ndarray:
    width = bits // 8
    raw = np.frombuffer(part[: len(part) // width * width], _TYPES[form, bits])
    if bits == 24:  # little-endian, three bytes each
        wide = np.zeros((len(raw) // 3, 4), np.uint8)
        wide[:, 1:] = raw.reshape(-1, 3)
        return wide.view("<i4").reshape(-1) / 2.0**31
    return raw.astype(np.float64) - (128 if bits == 8 else 0)
