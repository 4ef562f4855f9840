"""The audio-visual recipe on tones with rendered faces: in loud noise the mouth still tells them apart."""

import numpy as np
import pytest

from sampan.models.speech_keywords import noise_features
from sampan.models.speech_visual import MODES, accuracy_at, main, talking_faces, train_mode
from sampan.speech.noise import make_noise


def tones(count: int, seed: int) -> tuple[list[np.ndarray], list[int]]:
    """Sounds of a round and of a wide, wide open mouth."""
    rng, time = np.random.default_rng(seed), np.arange(3200) / 8000
    labels = [n % 2 for n in range(count)]
    pitches = [((300, 1000), (800, 2500))[label] for label in labels]
    made = [
        sum(np.sin(2 * np.pi * p * rng.uniform(0.97, 1.03) * time) for p in pair) * 0.2 for pair in pitches
    ]
    return [x.astype(np.float32) for x in made], labels


def test_the_mouth_helps_in_noise(one_thread) -> None:
    learned, tested = talking_faces(*tones(48, 0)), talking_faces(*tones(16, 1), 1)
    assert (
        learned[0].mouths.shape[1:] == (16, 16)
        and abs(len(learned[0].samples) / 320 - len(learned[0].mouths)) < 2
    )
    voices, _ = tones(4, 2)
    noises = noise_features(voices)
    white = [make_noise("white", 8000, 8000)]
    trained = {mode: train_mode(mode, learned, noises, 2, 30, 16) for mode in MODES}
    found = {mode: accuracy_at([trained[mode]], tested, white, -5) for mode in MODES}
    assert found["mouth"] >= 0.7 and found["both"] >= 0.7, found
    assert accuracy_at([trained["mouth"]], tested, white, -40) == found["mouth"]  # it hears nothing
    assert accuracy_at([trained["sound"], trained["mouth"]], tested, white, -5) >= 0.7


def test_the_command_names_its_options(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--held-out" in capsys.readouterr().out
