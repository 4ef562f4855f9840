"""Record what pyctcdecode decodes: `python -m tests.speech.pyctcdecode_record`, where pyctcdecode and kenlm are
installed. The inputs are drawn again from their seeds by the test."""

from __future__ import annotations

import json
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from pyctcdecode import build_ctcdecoder

from tests.speech import made_models

TOKENS = ["", "a", "b", "c", "d", "e", " "]
WORDS = ["a", "b", "c", "d", "e", "ab", "bad", "cab", "dead", "bed", "ace"]


def main() -> None:
    model = made_models.random_model(WORDS, 2, 3)
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        path = made_models.written(Path(folder), model)
        plain = build_ctcdecoder(TOKENS)
        # Words outside the model are charged by it alone, as here.
        fused = build_ctcdecoder(
            TOKENS, str(path), WORDS, alpha=0.5, beta=1.5, unk_score_offset=0.0, lm_score_boundary=True
        )
        for seed in range(8):
            for name, decoder in (("", plain), ("words", fused)):
                logs = made_models.log_probs(12 + seed, len(TOKENS), seed, 2.5).astype(np.float32)
                best = decoder.decode_beams(logs, beam_width=2000, beam_prune_logp=-1e3, token_min_logp=-1e3)[
                    0
                ]
                case = {
                    "seed": seed,
                    "frames": 12 + seed,
                    "model": name,
                    "text": best[0],
                    "score": float(best[-1]),
                }
                cases.append(case)
    record = {
        "versions": {"pyctcdecode": version("pyctcdecode"), "kenlm": version("kenlm")},
        "tokens": TOKENS,
        "arpa": made_models.arpa(model),
        "cases": cases,
    }
    target = Path(__file__).parent / "recorded" / "pyctcdecode.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
