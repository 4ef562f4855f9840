"""Masks for batches of sequences of different lengths, and for attention in chunks.

A chunk is a run of `chunk` frames. With chunks of 3 frames and one chunk to the left, frame 7 sees frames 3
to 8: its own chunk, frames 6 to 8, and the one before it. A network that is trained with such a mask can be
run while the sound is still arriving, one chunk at a time.
Source: Zhang et al., Unified Streaming and Non-streaming Two-pass End-to-end Model (U2), 2020, section 2.3.
"""

import math
from typing import Any

import torch

from ...creation import full
from ...engine.apply import observers
from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...random import randint

__all__ = ["chunk_mask", "draw_chunk", "length_mask"]


def _check_lengths(lengths: Any, batch: int, most: int, name: str = "lengths") -> torch.Tensor:
    """`lengths` as an int64 buffer [batch]; None means `most` for each.

    Raises InvalidArgument for another shape and for lengths outside 0 to `most`, InvalidType for numbers that
    are not integers.
    """
    if lengths is None:
        return torch.full((batch,), most)
    given = lengths.data if isinstance(lengths, Tensor) else torch.as_tensor(lengths)
    if given.dtype.is_floating_point or given.dtype is torch.bool or given.dtype.is_complex:
        raise InvalidType(f"{name}: expected integers, got {given.dtype}")
    given = given.to("cpu", torch.int64).clone()
    if list(given.shape) != [batch]:
        raise InvalidArgument(f"{name}: expected shape [{batch}], got {list(given.shape)}")
    if batch and not 0 <= int(given.min()) <= int(given.max()) <= most:
        raise InvalidArgument(f"{name}: expected 0 to {most}, got {given.tolist()}")
    return given


@operator()
def own_lengths(lengths, batch, most):
    """A checked copy of lengths, int64 [batch], each from 0 to `most`."""
    return _check_lengths(lengths, batch, most)


def checked_lengths(lengths: Any, batch: int, most: int) -> Tensor:
    """`_check_lengths` as a Tensor."""
    if lengths is None:
        return full([batch], most, "int64")
    given = lengths if isinstance(lengths, Tensor) else Tensor(torch.as_tensor(lengths))
    return own_lengths(given, batch, most)


@operator()
def within_lengths(lengths, time):
    """bool [batch, time]: True in the first `lengths[b]` frames of row b."""
    ends = _check_lengths(lengths, len(lengths) if lengths.ndim else 0, time)
    return torch.arange(time) < ends[:, None]


def length_mask(lengths: Any, time: int) -> Tensor:
    """bool [batch, time]: True in the first `lengths[b]` frames of row b. lengths: integers [batch]."""
    given = lengths if isinstance(lengths, Tensor) else Tensor(torch.as_tensor(lengths))
    return within_lengths(given, time)


def all_full(lengths: Any, time: int) -> bool:
    """Whether a mask of these lengths hides nothing and may be left out. An observer sees the same calls for
    all lengths: for it none is left out."""
    return not observers and int(lengths.min()) == time


def _check_chunk(chunk: int | None, left_chunks: int) -> None:
    """InvalidArgument unless chunk is None or at least 1, and left_chunks is -1 or more."""
    if chunk is not None and chunk < 1:
        raise InvalidArgument(f"chunk: expected 1 or more frames, or None, got {chunk}")
    if left_chunks < -1:
        raise InvalidArgument(f"left_chunks: expected -1 (all) or more, got {left_chunks}")


def chunk_mask(time: int, chunk: int, left_chunks: int = -1) -> Tensor:
    """bool [time, time]: entry [i, j] is True where frame i sees frame j.

    A frame sees its whole chunk and `left_chunks` chunks before it (-1: all before it).
    """
    _check_chunk(chunk, left_chunks)
    number = torch.arange(time) // chunk
    behind = number[:, None] - number  # how many chunks j lies before i
    seen = behind >= 0
    return Tensor(seen if left_chunks < 0 else seen & (behind <= left_chunks))


def draw_chunk(time: int) -> int | None:
    """A chunk for one training batch: None (all frames) half of the time, else uniform in 1 to 25.

    This is dynamic chunk training: one network serves every delay. `paddle.seed` makes it reproducible.
    Source: Zhang et al. 2020, section 2.3.
    """
    drawn = int(randint(1, max(time, 1) + 1, [1]))
    return None if drawn > time // 2 else drawn % 25 + 1


@operator(amp="as_is")
def frame_counts(features, lengths, least, argument):
    """The checked lengths, int64 [batch], of finite features [batch, time, ...]: all `time` for None.

    Raises InvalidArgument for lengths outside `least` to `time` and for NaN or infinite numbers.
    """
    if not bool(torch.isfinite(features).all()):
        raise InvalidArgument(f"{argument}: expected finite numbers, got NaN or infinity")
    found = _check_lengths(lengths, *features.shape[:2])
    if bool((found < least).any()):
        raise InvalidArgument(f"{argument}: expected at least one frame in each recording, got none")
    return found


def counted_frames(features: Any, lengths: Any, least: int = 0, name: str = "features") -> Tensor:
    """`frame_counts` of lengths that may be a list, an array or a buffer."""
    given = lengths is None or isinstance(lengths, Tensor)
    return frame_counts(features, lengths if given else Tensor(torch.as_tensor(lengths)), least, name)


@operator(amp="as_is")
def hidden_frames(lengths, chunks, time, like):
    """What is added to scores [batch, 1, time, time]: minus infinity for frames behind lengths, and where
    chunks, bool [time, time] or None, is False. Padding frames see themselves: a row of minus infinity alone
    would become NaN."""
    seen = (torch.arange(time) < lengths[:, None])[:, None, None, :]  # [batch, 1, 1, time]
    seen = (seen if chunks is None else seen & chunks) | torch.eye(time, dtype=torch.bool)
    return torch.zeros(seen.shape, dtype=like.dtype).masked_fill_(~seen, -math.inf).to(like.device)


def attention_mask(lengths: Any, time: int, chunk: int | None, left_chunks: int, like: Any) -> Tensor | None:
    """What is added to attention scores: 0 where a frame is seen, else minus infinity; None if all are seen.

    lengths: int64 [batch]. like: a Tensor of the scores' dtype and place. Shape [batch, 1, time, time].
    """
    if chunk is None and all_full(lengths, time):
        return None
    chunks = None if chunk is None else chunk_mask(time, chunk, left_chunks)
    return hidden_frames(lengths, chunks, time, like)
