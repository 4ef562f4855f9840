"""A feature file of made sounds: each unit of pinyin is a pattern of the mel bins, between silences."""

import json
from dataclasses import asdict

import numpy as np

from sampan.models.speech_mandarin_data import BINS, FeatureFile, Item

WORDS = [("学习", ("xue2", "xi2")), ("你好", ("ni3", "hao3")), ("我", ("wo3",)), ("中文", ("zhong1", "wen2"))]


def sound(rng, units):
    """float16 [frames, BINS] of silence, 12 frames for each unit, silence."""
    quiet = [rng.normal(0, 0.5, (25, BINS)) for _ in range(2)]
    spoken = []
    for unit in units:
        pattern = np.random.default_rng(sum(map(ord, unit))).normal(10, 3, BINS)
        spoken.append(pattern + rng.normal(0, 0.5, (12, BINS)))
    return np.concatenate([quiet[0], *spoken, quiet[1]]).astype(np.float16)


def made_features(folder):
    """Words of one speaker, syllables of another and synthetic words, in the layout of `store`."""
    rng, rows, arrays = np.random.default_rng(0), [], []
    for part, versions in (("train", 2), ("test", 1)):
        for n, (text, syllables) in enumerate(WORDS):
            for version in range(versions):
                rows.append((Item(f"hsk/{n}{part}.mp3", text, syllables, "A", part), version))
            rows.append((Item("", text, syllables, "m1", part, 150, 50), versions - 1))
            rows.append((Item(f"syllabs/{n}{part}.mp3", "", syllables[:1], "B", part), 0))
    for item, _ in rows:
        arrays.append(sound(rng, item.units))
    (folder / "features.f16").write_bytes(np.concatenate(arrays).tobytes())
    kept = [(asdict(item), version) for item, version in rows]
    (folder / "items.json").write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
    np.save(folder / "ends.npy", np.cumsum([len(a) for a in arrays]))
    return FeatureFile(folder)
