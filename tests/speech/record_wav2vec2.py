"""Writes `wav2vec2_record.json`: names, shapes and logits of transformers' own wav2vec 2.0.

    python -m tests.speech.record_wav2vec2

The weights are not recorded: `weights` makes them from a seed, here and in the test.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

RECORD = Path(__file__).with_name("wav2vec2_record.json")
SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "conv_dim": [8] * 7,
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
    "vocab_size": 7,
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "base": SMALL,
    "layer_norm": SMALL
    | {
        "feat_extract_norm": "layer",
        "do_stable_layer_norm": True,
        "conv_bias": True,
        "num_conv_pos_embeddings": 7,
    },
}
LENGTHS = [2000, 1300]


def samples() -> np.ndarray[Any, Any]:
    """float32 [2, 2000]."""
    return np.random.default_rng(1).normal(size=(2, 2000)).astype("float32")


def weights(shapes: dict[str, list[int]]) -> dict[str, torch.Tensor]:
    """A value for each name, drawn in the order of the names, large enough that every part shows."""
    rng = np.random.default_rng(0)
    made = {}
    for name in sorted(shapes):
        scale = 2 / max(np.prod(shapes[name][1:]), 1) ** 0.5 if len(shapes[name]) > 1 else 0.5
        shift = 1.0 if "norm.weight" in name or name.endswith("original0") else 0.0
        made[name] = torch.from_numpy((rng.normal(size=shapes[name]) * scale + shift).astype("float32"))
    return made


def answers(settings: dict[str, Any]) -> dict[str, Any]:
    """What transformers gives: the shapes of its parameters, and logits of both rows without and with a mask."""
    import transformers

    model = transformers.Wav2Vec2ForCTC(transformers.Wav2Vec2Config(**settings)).eval()
    shapes = {name: list(value.shape) for name, value in model.state_dict().items()}
    model.load_state_dict(weights(shapes))
    x = torch.from_numpy(samples())
    mask = torch.arange(x.shape[1]) < torch.tensor(LENGTHS)[:, None]
    with torch.no_grad():
        plain = model(x).logits
        masked = model(x, attention_mask=mask.long()).logits
        hidden = model.wav2vec2(x).last_hidden_state
    return {
        "shapes": shapes,
        "logits": plain.tolist(),
        "masked": masked.tolist(),
        "hidden": hidden.mean(1).tolist(),
    }


def main() -> None:
    import transformers

    record = {"transformers": transformers.__version__, "torch": torch.__version__}
    record |= {name: answers(settings) for name, settings in LAYOUTS.items()}

    def rounded(value: Any) -> Any:
        if isinstance(value, list):
            return [rounded(v) for v in value]
        if isinstance(value, dict):
            return {k: rounded(v) for k, v in value.items()}
        return round(value, 6) if isinstance(value, float) else value

    RECORD.write_text(json.dumps(rounded(record), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
