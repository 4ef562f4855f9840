"""The audio-visual recipe on tones with rendered faces: in loud noise the mouth still tells them apart."""

import numpy as np
import pytest

from sampan.models.speech_keywords import noise_features
from sampan.models.speech_visual import (
    MODES,
    accuracy,
    log_probs_at,
    main,
    mouth_weight,
    talking_faces,
    train_mode,
)
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
    by = {mode: log_probs_at(trained[mode], tested, white, -5) for mode in MODES}
    assert accuracy(by["mouth"], tested) >= 0.7 and accuracy(by["both"], tested) >= 0.7
    deaf = log_probs_at(trained["mouth"], tested, white, -40)
    np.testing.assert_allclose(deaf, by["mouth"], atol=1e-5)  # it hears nothing
    weight = mouth_weight([by["sound"]], by["mouth"], tested)
    best = accuracy(by["sound"] + weight * by["mouth"], tested)
    assert best >= max(accuracy(by["sound"], tested), accuracy(by["sound"] + by["mouth"], tested))


def test_the_weight_of_a_mouth_that_errs_is_small() -> None:
    faces = talking_faces(*tones(40, 3))
    truth = np.array([face.label for face in faces])
    sure = np.log(np.where(np.eye(2)[truth] > 0, 0.6, 0.4))
    wrong = np.log(np.where(np.eye(2)[1 - truth] > 0, 0.999, 0.001))
    assert mouth_weight([sure], wrong, faces) < 0.1
    assert mouth_weight([np.log(np.full((40, 2), 0.5))], sure, faces) > 0


def test_the_command_names_its_options(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--held-out" in capsys.readouterr().out
