"""Networks of speech recognition: a Markdown table.

    python benchmarks/speech_models.py [--rounds 11] [--threads 1 2] [--only X]
    python benchmarks/speech_models.py --delay        # seconds from a sample's arrival to its text, in real time

How it is measured: `side_by_side.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import side_by_side

INTRODUCTION = """Times in ms (median ± interquartile range) of one call; a ratio above 1: Sampan is faster than the best peer,
the same network in torch with the same weights. The real-time factor is Sampan's time over the duration of the sound.
The Conformer is the encoder of the paper's small network (16 blocks of width 144, 8.7 M parameters); the GRU has as many
parameters (5 layers of 384). The peer of the rows "chunked Conformer beside GRU" is the GRU."""


def families() -> Any:
    from benchmarks.speech_models_rows import FAMILIES

    return FAMILIES


if __name__ == "__main__":
    if "--delay" in sys.argv:
        from benchmarks.speech_models_rows import print_delay

        print_delay()
    else:
        side_by_side.table(__doc__, "Speech models", INTRODUCTION, "", families)
