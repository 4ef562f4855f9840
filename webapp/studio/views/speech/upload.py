"""A visitor's own recording. Independent of widgets; its size is bounded before it is decoded."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .chunks import RATE, Refused, Samples

MOST_BYTES, MOST_SECONDS = 20_000_000, 120
LEAST_RATE, MOST_RATE = 4_000, 192_000
ENDINGS = (".wav", ".mp3", ".flac", ".ogg")


@dataclass(frozen=True)
class Recording:
    """samples: float32 at 16 kHz, channels averaged. The rest: of the file."""

    samples: Samples
    rate: int
    channels: int


def read_recording(content: bytes, name: str = "") -> Recording:
    """The recording in a file. Raises Refused: "bytes", "empty", "format", "seconds", "rate", "nan"; for "format" the
    error of the library is its cause."""
    from sampan import speech

    if len(content) > MOST_BYTES:
        raise Refused("bytes", count=f"{len(content):,}", most=f"{MOST_BYTES:,}")
    if not content:
        raise Refused("empty")
    ending = Path(name).suffix.lower()
    with (
        tempfile.TemporaryDirectory() as folder
    ):  # a path: the library compares the size of the file with its header
        path = Path(folder, f"sound{ending if ending in ENDINGS else '.wav'}")
        path.write_bytes(content)
        try:
            about = speech.info(path)
            if not LEAST_RATE <= about.sample_rate <= MOST_RATE:
                raise Refused("rate", rate=about.sample_rate, least=LEAST_RATE, most=MOST_RATE)
            seconds = about.num_samples / about.sample_rate
            if seconds > MOST_SECONDS:
                raise Refused("seconds", seconds=f"{seconds:,.0f}", most=MOST_SECONDS)
            # The header of an MP3 only estimates its length.
            waveform, rate = speech.load(path, num_frames=(MOST_SECONDS + 1) * about.sample_rate)
        except (ValueError, OSError) as error:
            if isinstance(error, Refused):
                raise
            raise Refused("format", name=name[:60]) from error
    mono = waveform.numpy().mean(0)
    if mono.size == 0:
        raise Refused("empty")
    if not np.isfinite(mono).all():
        raise Refused("nan")
    try:
        samples = mono if rate == RATE else speech.resample(mono, rate, RATE).numpy()
    except ValueError as error:  # a rate without small factors
        raise Refused("rate", rate=rate, least=LEAST_RATE, most=MOST_RATE) from error
    return Recording(np.clip(samples, -1, 1).astype(np.float32), rate, about.num_channels)
