"""CTC: the loss, and decoding with and without a language model: a Markdown table.

    python benchmarks/speech_decoding.py [--rounds 11] [--threads 1 2] [--only X] [--peers FOLDER] [--paddle PYTHON]

How it is measured: `side_by_side.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import side_by_side

INTRODUCTION = """Times in ms (median ± interquartile range) of one call; a ratio above 1: Sampan is faster than the best peer.
Posteriors are random, with one token or the blank far above the others at each frame. The limit of the loss is three passes
over its logits (two reads, one write with the read before it: 409 MB). Peers: pyctcdecode with kenlm,
ctc-beam-decoder; like them, Sampan leaves out tokens below e^-5."""


def families() -> Any:
    from benchmarks.speech_decoding_rows import FAMILIES  # it looks for its peers

    return FAMILIES


if __name__ == "__main__":
    script = str(Path(__file__).with_name("speech_decoding_paddle.py"))
    side_by_side.table(__doc__, "CTC and decoding", INTRODUCTION, script, families)
