"""Features of speech beside kaldi-native-fbank, librosa and PaddlePaddle: a Markdown table, which `make bench` appends.

    python benchmarks/speech_features.py [--rounds 11] [--threads 1 2] [--only X] [--paddle PYTHON] [--peers FOLDER]

How it is measured: `side_by_side.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import side_by_side

INTRODUCTION = """Times in ms (median ± interquartile range) of one call; a ratio above 1: Sampan is faster than the best peer.
The sound is 10 minutes at 16 kHz. Kaldi's rows have its definition in Sampan and in kaldi-native-fbank (one thread). The
others have Paddle's and librosa's definition (512 samples, 160 apart, 64 filters). x limit: over torch.fft.rfft of all
frames alone."""


def families() -> Any:
    from benchmarks.speech_features_rows import FAMILIES  # it looks for its peers

    return FAMILIES


if __name__ == "__main__":
    side_by_side.table(__doc__, "Features of speech", INTRODUCTION, "speech_features_paddle.py", families)
