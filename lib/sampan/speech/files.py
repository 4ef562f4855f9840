"""Sound files: their waveforms, whole or in blocks, their facts, and saving.

soundfile (libsndfile) reads and writes WAV of 8 to 32 bits and float, FLAC, MP3, OGG and AIFF. Without it, or
after `set_backend("wave_backend")`, Python's `wave` module reads and writes WAV of 16 bits.
"""

import contextlib
import importlib.util
import os
import struct
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from .waveform import check_finite, positive, whole

Array = np.ndarray[Any, Any]
UNKNOWN_SIZE = 0xFFFFFFFF  # what a program writes that does not know the size in advance
_BITS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32, "FLOAT": 32, "DOUBLE": 64}
_BITS |= {"ULAW": 8, "ALAW": 8}
_ENCODINGS = {"PCM_U8": "PCM_U", "FLOAT": "PCM_F", "DOUBLE": "PCM_F", "MPEG_LAYER_III": "MP3"}
_FORMATS = {".wav": "WAV", ".flac": "FLAC", ".mp3": "MP3", ".ogg": "OGG", ".aiff": "AIFF", ".aif": "AIFF"}
_chosen: list[str] = []  # the backend that `set_backend` named


@dataclass
class AudioInfo:
    """sample_rate: Hz. num_samples: of one channel. bits_per_sample: 0 where the format has none, such as
    MP3. encoding: "PCM_S", "PCM_U", "PCM_F" (floating), "FLAC", "MP3", "VORBIS", "ULAW" or another of
    libsndfile."""

    sample_rate: int
    num_samples: int
    num_channels: int
    bits_per_sample: int
    encoding: str


def list_available_backends() -> list[str]:
    """The backends that `set_backend` takes: "soundfile" where it is installed, and "wave_backend"."""
    return [*(["soundfile"] if importlib.util.find_spec("soundfile") else []), "wave_backend"]


def get_current_backend() -> str:
    """The backend of `load`, `save` and `info`: the first of `list_available_backends` unless one was set."""
    return _chosen[-1] if _chosen else list_available_backends()[0]


def set_backend(backend_name: str) -> None:
    """Choose the backend, one of `list_available_backends`. Raises NotImplementedError for another."""
    if backend_name not in list_available_backends():
        raise NotImplementedError(
            f"set_backend: expected one of {', '.join(list_available_backends())}, got {backend_name!r}"
        )
    _chosen[:] = [backend_name]


@contextlib.contextmanager
def _reader(filepath: Any) -> Iterator[Any]:
    """An open file: `_Wave`, or soundfile's. Errors name the file."""
    name = filepath if isinstance(filepath, str | os.PathLike) else getattr(filepath, "name", "the stream")
    if isinstance(filepath, str | os.PathLike):
        path = Path(filepath)
        if not path.exists():
            raise FileNotFoundError(f"filepath: there is no file {path}")
        if path.is_dir():
            raise InvalidArgument(f"filepath: expected a sound file, {path} is a folder")
        if path.stat().st_size == 0:
            raise InvalidArgument(f"filepath: {path} is empty, it has 0 bytes")
        _check_riff(path)
    elif not hasattr(filepath, "read"):
        raise InvalidType(f"filepath: expected a path or an open file, got {type(filepath).__name__}")
    if get_current_backend() == "wave_backend":
        source: Any = os.fspath(filepath) if isinstance(filepath, os.PathLike) else filepath
        try:
            with wave.open(source, "rb") as opened:
                yield _Wave(opened, name)
        except (wave.Error, EOFError) as error:
            raise InvalidArgument(f"filepath: {name} is not a WAV file that `wave` reads: {error}") from error
        return
    import soundfile

    try:
        with soundfile.SoundFile(filepath) as held:
            yield held
    except soundfile.LibsndfileError as error:
        raise InvalidArgument(f"filepath: {name} is not a sound file: {error.error_string}") from error


def _check_riff(path: Path) -> None:
    """ValueError for a WAV file that ends before its samples do, which libsndfile reads without a word."""
    with path.open("rb") as stream:
        head = stream.read(12)
        if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
            return
        size = path.stat().st_size
        while len(chunk := stream.read(8)) == 8:
            kind, length = struct.unpack("<4sI", chunk)
            if kind == b"data":
                left = size - stream.tell()
                if length > left and length < UNKNOWN_SIZE - 256:
                    raise InvalidArgument(
                        f"filepath: {path} is truncated: its header states {length} bytes of samples, it has "
                        f"{left}"
                    )
                return
            stream.seek(length + length % 2, os.SEEK_CUR)
    raise InvalidArgument(f"filepath: {path} is truncated: it ends before its samples")


class _Wave:
    """A WAV file of 16 bits, with the members of soundfile's object that are used here."""

    format, subtype = "WAV", "PCM_16"

    def __init__(self, held: wave.Wave_read, name: Any) -> None:
        if held.getsampwidth() != 2:
            raise InvalidArgument(
                f"filepath: {name} has {8 * held.getsampwidth()} bits a sample; wave_backend reads 16, "
                "install soundfile"
            )
        self.held, self.samplerate, self.frames = held, held.getframerate(), held.getnframes()
        self.channels = held.getnchannels()

    def seek(self, frame: int) -> None:
        self.held.setpos(frame)

    def read(self, frames: int, dtype: str, always_2d: bool) -> Array:
        raw = np.frombuffer(self.held.readframes(frames), "<i2").reshape(-1, self.channels)
        return raw.astype(np.float32) / np.float32(2**15)


def info(filepath: Any) -> AudioInfo:
    """The facts of a sound file, without reading its samples.

    filepath: a path, or a file opened in binary mode. Raises FileNotFoundError; ValueError for a file that is
    empty, truncated or no sound.
    Source: PaddlePaddle 3.3.1, audio.info.
    """
    with _reader(filepath) as held:
        subtype = held.subtype
        encoding = _ENCODINGS.get(subtype, "PCM_S" if subtype.startswith("PCM") else subtype)
        encoding = "FLAC" if held.format == "FLAC" else encoding
        return AudioInfo(held.samplerate, held.frames, held.channels, _BITS.get(subtype, 0), encoding)


def load(
    filepath: Any,
    frame_offset: int = 0,
    num_frames: int = -1,
    normalize: bool = True,
    channels_first: bool = True,
) -> tuple[Tensor, int]:
    """The samples of a sound file, float32 [channels, samples], and its sample rate in Hz.

    filepath: a path, or a file opened in binary mode. frame_offset: the first sample. num_frames: how many,
    -1 for all that follow. normalize: from -1 to 1; False gives the stored integers, as float32.
    channels_first: False for [samples, channels]. Raises FileNotFoundError; ValueError for a file that is
    empty, truncated or no sound.
    Source: PaddlePaddle 3.3.1, audio.load.
    """
    whole("frame_offset", frame_offset, 0)
    whole("num_frames", num_frames, -1)
    with _reader(filepath) as held:
        first = min(frame_offset, held.frames)
        count = held.frames - first if num_frames == -1 else min(num_frames, held.frames - first)
        held.seek(first)
        samples = held.read(count, dtype="float32", always_2d=True)
        if len(samples) < count and held.format != "MP3":  # whose header holds an estimate
            raise InvalidArgument(
                f"filepath: {filepath} is truncated: its header states {held.frames} samples, "
                f"{first + len(samples)} can be read"
            )
        if not normalize and held.subtype.startswith("PCM"):
            samples = samples * np.float32(2 ** (_BITS[held.subtype] - 1))
        rate = int(held.samplerate)
    samples = np.ascontiguousarray(samples.T if channels_first else samples)
    return Tensor(torch.from_numpy(samples)), rate


def read_blocks(filepath: Any, num_frames: int = 160_000, channels_first: bool = True) -> Iterator[Array]:
    """The samples of a sound file in blocks, float32 [channels, num_frames], the last one shorter: memory for
    one block, whatever the length of the file.

    Errors as in `load`.
    """
    whole("num_frames", num_frames)
    with _reader(filepath) as held:
        left = held.frames
        while left > 0:
            block = held.read(min(num_frames, left), dtype="float32", always_2d=True)
            if not len(block):
                if held.format == "MP3":
                    return
                raise InvalidArgument(f"filepath: {filepath} is truncated: {left} samples are missing")
            left -= len(block)
            yield np.ascontiguousarray(block.T if channels_first else block)


def _as_integers(samples: Array, bits: int) -> Array:
    """Samples of -1 to 1 as integers of so many bits in the upper bits of int16 or int32; larger ones are cut
    off."""
    if samples.dtype == np.int16:
        return samples if bits == 16 else samples.astype(np.int32) << 16
    top = float(2 ** (bits - 1))
    scaled = np.clip(np.trunc(samples.astype(np.float64) * top), -top, top - 1)
    if bits == 16:
        return scaled.astype(np.int16)
    return scaled.astype(np.int32) << (32 - bits)


def save(
    filepath: Any,
    src: Tensor,
    sample_rate: int,
    channels_first: bool = True,
    encoding: str | None = None,
    bits_per_sample: int | None = 16,
) -> None:
    """Write samples to a sound file; the ending of its name is its format.

    src: [channels, samples], or [samples, channels] if not channels_first; float32 or float64 from -1 to 1
    (what is larger is cut off), or int16. sample_rate: Hz. encoding: "PCM_S" (or None) for integers, "PCM_F"
    for floating numbers. bits_per_sample: 16, 24 or 32; 32 or 64 for "PCM_F"; MP3 and OGG ignore both. Raises
    ValueError for NaN, another shape, or an unknown ending.
    Source: PaddlePaddle 3.3.1, audio.save.
    """
    if not isinstance(src, Tensor):
        raise InvalidType(f"src: expected a Tensor, got {type(src).__name__}")
    if src.ndim != 2:
        raise InvalidArgument(f"src: expected [channels, samples], got shape {list(src.shape)}")
    if src.data.dtype not in (torch.float32, torch.float64, torch.int16):
        raise InvalidType(f"src: expected float32, float64 or int16, got {src.dtype}")
    rate, bits = int(positive("sample_rate", sample_rate)), 16 if bits_per_sample is None else bits_per_sample
    if src.data.dtype is not torch.int16:
        check_finite(src.data, "src")
    samples = src.numpy().T if channels_first else src.numpy()
    floating = encoding == "PCM_F"
    if encoding not in (None, "PCM_S", "PCM_F") or bits not in ((32, 64) if floating else (16, 24, 32)):
        raise InvalidArgument(
            "encoding, bits_per_sample: expected PCM_S of 16, 24 or 32 bits or PCM_F of 32 or 64, got "
            f"{encoding!r} and {bits_per_sample!r}"
        )
    path = Path(filepath)
    if path.suffix.lower() not in _FORMATS:
        raise InvalidArgument(f"filepath: expected an ending of {', '.join(_FORMATS)}, got {path.name!r}")
    kind = _FORMATS[path.suffix.lower()]
    if get_current_backend() == "wave_backend":
        if kind != "WAV" or floating or bits != 16:
            raise InvalidArgument(
                "filepath, bits_per_sample: wave_backend writes WAV of 16 bits; install soundfile"
            )
        with wave.open(str(path), "wb") as held:
            held.setnchannels(samples.shape[1])
            held.setsampwidth(2)
            held.setframerate(rate)
            held.writeframes(_as_integers(samples, 16).astype("<i2").tobytes())
        return
    import soundfile

    if kind in ("MP3", "OGG"):
        soundfile.write(path, samples, rate, format=kind)
    elif floating:
        soundfile.write(path, samples, rate, subtype="FLOAT" if bits == 32 else "DOUBLE", format=kind)
    elif kind == "FLAC" and bits == 32:
        raise InvalidArgument("bits_per_sample: expected 16 or 24 for FLAC, got 32")
    else:
        soundfile.write(path, _as_integers(samples, bits), rate, subtype=f"PCM_{bits}", format=kind)
