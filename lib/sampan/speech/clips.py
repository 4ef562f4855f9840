"""Clips with sound: the frames and the samples of a video file."""

import importlib
import os
from typing import Any, NamedTuple

import numpy as np

from ..engine.errors import InvalidArgument

Array = np.ndarray[Any, Any]


class Clip(NamedTuple):
    """frames: uint8 [time, height, width], grey. frame_rate: frames in a second. samples: float32 [samples],
    channels averaged; none where the file has no sound. sample_rate: Hz, 0 without sound."""

    frames: Array
    frame_rate: float
    samples: Array
    sample_rate: int


def load_clip(path: str | os.PathLike[str]) -> Clip:
    """A video file of any kind that FFmpeg reads, by the package `av` (PyAV).

    Raises ImportError without the package, FileNotFoundError, and ValueError for a file that is damaged or
    has no picture.
    """
    try:
        av: Any = importlib.import_module("av")
    except ImportError:
        raise ImportError("load_clip: expected the package av (pip install av), found none") from None
    if not os.path.exists(path):
        raise FileNotFoundError(f"path: there is no file {os.fspath(path)}")
    frames, sound, sample_rate = [], [], 0
    try:
        with av.open(os.fspath(path)) as held:
            if not held.streams.video:
                raise InvalidArgument(f"path: {os.fspath(path)} has no picture")
            rate = float(held.streams.video[0].average_rate or 25)
            for frame in held.decode(*held.streams.video[:1], *held.streams.audio[:1]):
                if isinstance(frame, av.VideoFrame):
                    frames.append(frame.to_ndarray(format="gray"))
                elif isinstance(frame, av.AudioFrame):
                    sample_rate = frame.sample_rate
                    sound.append(_mono(frame))
    except av.FFmpegError as error:
        raise InvalidArgument(f"path: {os.fspath(path)} is no video that can be read: {error}") from None
    if not frames:
        raise InvalidArgument(f"path: {os.fspath(path)} has no frame")
    samples = np.concatenate(sound) if sound else np.zeros(0, np.float32)
    return Clip(np.stack(frames), rate, samples, sample_rate)


def _mono(frame: Any) -> Array:
    """float32 [samples] of a frame of sound, channels averaged."""
    x = frame.to_ndarray()
    if not frame.format.is_planar:
        x = x.reshape(-1, frame.layout.nb_channels).T
    if x.dtype.kind == "i":
        x = x / np.float32(2 ** (8 * x.dtype.itemsize - 1))
    made: Array = x.mean(0).astype(np.float32)
    return made
