"""How long after its arrival the text of each moment of a recording is written."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.tensor import InvalidArgument

__all__ = ["text_delays"]

ROUNDING = 1e-9  # of a chunk: a moment that is a whole number of chunks may be rounded below it


def text_delays(times: Any, chunk: float, lookahead: float, seconds: Sequence[float]) -> np.ndarray[Any, Any]:
    """Seconds from the arrival of each moment of a recording to its text, float64 [samples].

    times: moments [samples], seconds from the beginning of the recording, which comes in real time. chunk:
    seconds of sound that are read together; lookahead: of sound after them that they need. seconds: [chunks],
    the work for each. A chunk's work begins when its look-ahead has come and the chunk before is done; its
    text is there when the work is done. So a computer that is too slow is later with every chunk.
    Raises InvalidArgument for a moment outside of the chunks, and for a chunk or work that is not positive.
    """
    moments = np.asarray(times, np.float64)
    work = np.asarray(seconds, np.float64)
    if not chunk > 0 or not lookahead >= 0 or not (work >= 0).all():
        raise InvalidArgument(
            f"chunk, lookahead, seconds: expected more than 0 and at least 0, got {chunk}, {lookahead} and "
            f"{work.min(initial=0.0)} at least"
        )
    where = np.floor(moments / chunk + ROUNDING).astype(np.int64)
    if moments.size and not 0 <= where.min() <= where.max() < len(work):
        raise InvalidArgument(
            f"times: expected moments of {len(work)} chunks of {chunk} s, "
            f"got {moments.min()} to {moments.max()} s"
        )
    done, ends = 0.0, np.empty(len(work))
    for c, took in enumerate(work):
        done = max(done, (c + 1) * chunk + lookahead) + took
        ends[c] = done
    return ends[where] - moments
