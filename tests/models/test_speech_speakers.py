"""The recipe of speakers on made voices that differ in how their formants move."""

import shutil

import numpy as np
import pytest

from sampan.models.speech_keywords import noise_features, raw_features
from sampan.models.speech_speakers import (
    embeddings,
    error_of,
    main,
    save_speakers,
    synthetic_voices,
    train_speakers,
)
from sampan.speech import SpeakerModel


def voice(formant: float, count: int, seed: int) -> list[np.ndarray]:
    """Sounds of 0.5 s with a pitch that changes, and a formant that moves between 500 Hz and `formant`: a constant
    one would be gone with the mean of the recording."""
    rng, time = np.random.default_rng(seed), np.arange(4000) / 8000
    made = []
    for _ in range(count):
        pitch = rng.uniform(90, 160)
        harmonics = pitch * np.arange(1, int(3900 / pitch))[:, None]
        place = 500 + (formant - 500) * (0.5 + 0.5 * np.sin(2 * np.pi * 5 * time + rng.uniform(0, 6)))
        gain = 0.02 + 1 / (1 + ((harmonics - place) / 150) ** 2)
        loud = 0.5 + 0.5 * np.sin(2 * np.pi * rng.uniform(2, 5) * time + rng.uniform(0, 6))
        made.append((0.1 * loud * (gain * np.sin(2 * np.pi * harmonics * time)).sum(0)).astype(np.float32))
    return made


def test_a_small_network_tells_voices_apart(tmp_path, one_thread) -> None:
    sounds = {f"v{f}": voice(f, 10, f) for f in (900, 1600, 2400, 3400)}
    heard = {name: raw_features(each) for name, each in sounds.items()}
    learned = {name: each[:7] for name, each in heard.items()}
    tested = {name: each[7:] for name, each in heard.items()}
    network, inputs = train_speakers(learned, noise_features(sounds["v900"]), 8, 10, 16, 8)
    rate, threshold = error_of(network, inputs, tested)
    assert rate < 0.25
    assert error_of(network, inputs, heard, 3)[0] <= rate + 0.2  # three sounds heard as one
    save_speakers(network, inputs, threshold, tmp_path)
    again = SpeakerModel(tmp_path)
    expected = embeddings(network, inputs, tested["v1600"][:1])[0]
    np.testing.assert_allclose(again.embed(sounds["v1600"][7], 8000), expected, atol=1e-3)
    assert again.threshold == pytest.approx(threshold, abs=1e-4)


def test_synthetic_voices() -> None:
    if shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed")
    made = synthetic_voices(["en-us+m1"])
    assert list(made) == ["en-us+m1"] and len(made["en-us+m1"]) == 20
    assert all(len(x) > 1500 and np.abs(x).max() > 0.05 for x in made["en-us+m1"])


def test_the_command_names_its_options(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--out" in capsys.readouterr().out
