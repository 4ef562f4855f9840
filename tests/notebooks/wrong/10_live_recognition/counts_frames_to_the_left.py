"""`left` counts frames before the frame itself instead of chunks."""

import numpy as np

import sampan as paddle
from sampan import learn


def sees(time, chunk, left):
    "bool [time, time]: whether frame i sees frame j."
    number = np.arange(time) // chunk
    behind = number[:, None] - number
    return (behind >= 0) & ((left < 0) | (np.arange(time)[:, None] - np.arange(time) <= left * chunk))


@learn.exercise("speech.nn.masks.chunk_mask", forbid=("chunk_mask", "attention_mask"))
def chunk_mask(time, chunk, left_chunks=-1):
    return paddle.to_tensor(sees(time, chunk, left_chunks))
