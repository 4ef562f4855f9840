"""Training of the vocoder: the schedule, and that a run that was cut in two gives the same numbers."""

import math

import numpy as np
import pytest

from sampan.engine.errors import InvalidArgument
from sampan.models.speech_corpus import Corpus
from sampan.models.speech_vocoder import VocoderRecipe, rate_at, train_vocoder
from sampan.serialization import load

SMALL = {"width": 8, "hidden": 8, "num_layers": 1}


def corpus(seed: int) -> Corpus:
    rng = np.random.default_rng(seed)
    sounds = [np.sin(np.arange(4000) * rng.uniform(0.05, 0.2)) * 3000 for _ in range(2)]
    return Corpus(np.concatenate(sounds).astype(np.int16), np.array([4000, 8000]), ["一", "二"], 16000)


def test_the_rate_rises_and_falls_along_a_cosine() -> None:
    rates = [rate_at(step, 100, 10, 1.0) for step in range(1, 101)]
    assert (
        rates[0] == 0.1 and rates[9] == 1.0 and rates == sorted(rates[:10]) + sorted(rates[10:], reverse=True)
    )
    assert math.isclose(rates[54], 0.05 + 0.95 / 2) and math.isclose(rates[-1], 0.05)


def test_a_run_in_two_parts_is_the_same_run(tmp_path) -> None:
    recipe = VocoderRecipe(SMALL, steps=4, batch_size=2, frames=12, warmup=2, report=2)
    whole = list(train_vocoder(corpus(0), corpus(1), tmp_path / "whole", recipe))
    assert [p.step for p in whole] == [2, 4] and all(np.isfinite(p.loss + p.held_out) for p in whole)
    first = train_vocoder(corpus(0), corpus(1), tmp_path / "parts", recipe)
    assert next(first) == whole[0]
    first.close()
    assert list(train_vocoder(corpus(0), corpus(1), tmp_path / "parts", recipe)) == whole[1:]
    one, other = (load(str(tmp_path / name / "vocoder.pdparams"))["model"] for name in ("whole", "parts"))
    assert all((one[name].numpy() == other[name].numpy()).all() for name in one)


def test_recordings_shorter_than_a_segment_are_refused(tmp_path) -> None:
    with pytest.raises(InvalidArgument, match="corpus: expected a recording of 400 frames, found none"):
        next(train_vocoder(corpus(0), corpus(1), tmp_path, VocoderRecipe(SMALL, frames=400)))
