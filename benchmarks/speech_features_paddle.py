"""PaddlePaddle's feature layers, in a separate process and virtual environment (`speech_features.py` starts it)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.paddle_programs import Arrays, Step, serve

SETTINGS = {"sr": 16000, "n_fft": 512, "hop_length": 160, "n_mels": 64}


def log_mel(paddle: Any, a: Arrays) -> Step:
    layer, x = paddle.audio.features.LogMelSpectrogram(**SETTINGS), paddle.to_tensor(a["sound"])
    return lambda: layer(x)[0, :, ::100]


def mfcc(paddle: Any, a: Arrays) -> Step:
    layer, x = paddle.audio.features.MFCC(n_mfcc=13, **SETTINGS), paddle.to_tensor(a["sound"])
    return lambda: layer(x)[0, :, ::100]


if __name__ == "__main__":
    serve({"LogMelSpectrogram": log_mel, "MFCC": mfcc})
