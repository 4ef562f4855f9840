"""The first filter begins at 0 Hz, whatever `low` is."""

import numpy as np

import sampan as paddle
from sampan import learn


def edges_in_hertz(low, high, count):
    "Frequencies [count] from low to high Hz, at equal distances in mel."
    ends = 2595 * np.log10(1 + np.array([0.0, high]) / 700)
    return 700 * (10 ** (np.linspace(*ends, count) / 2595) - 1)


def triangles(edges, bins):
    "Weights [len(edges) - 2, len(bins)] of triangular filters at the frequencies `bins`."
    left, middle, right = (edges[i : len(edges) - 2 + i, None] for i in range(3))
    rising, falling = (bins - left) / (middle - left), (right - bins) / (right - middle)
    return np.maximum(0, np.minimum(rising, falling))


@learn.exercise(
    "speech.spectrogram.compute_fbank_matrix", forbid=("compute_fbank_matrix", "mel_frequencies", "librosa")
)
def compute_fbank_matrix(
    sr, n_fft, n_mels=64, f_min=0.0, f_max=None, htk=False, norm="slaney", dtype="float32"
):
    find_edges = edges_in_hertz if htk else slaney_edges  # noqa: F821  the notebook's set-up cell has it
    edges = find_edges(f_min, sr / 2 if f_max is None else f_max, n_mels + 2)
    bins = np.linspace(0, sr / 2, n_fft // 2 + 1)
    return paddle.to_tensor(scaled(triangles(edges, bins), edges, norm), dtype=dtype)  # noqa: F821  the notebook's set-up cell has it
