"""Sessions and the recipe of voice activity, on made bursts."""

import numpy as np
import pytest

from sampan.models.speech_activity import (
    clean_speech,
    compare,
    main,
    make_sessions,
    save_activity,
    train_activity,
)
from sampan.speech.activity import load_activity


def bursts(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    time = np.arange(3200) / 8000
    return [
        (np.sin(2 * np.pi * rng.uniform(300, 900) * time) * np.hanning(3200) * 0.5).astype(np.float32)
        for _ in range(count)
    ]


def test_clean_speech_by_hand() -> None:
    x = np.zeros(80 * 60, np.float32)
    x[80 * 10 : 80 * 20] = x[80 * 25 : 80 * 30] = 0.5  # a gap of 5 frames is closed
    x[80 * 45 : 80 * 46] = 0.5 * 10**-1.6  # 32 dB below
    expected = np.zeros(60, bool)
    expected[10:30] = True
    np.testing.assert_array_equal(clean_speech(x), expected)
    expected[45] = True
    np.testing.assert_array_equal(clean_speech(x, 33), expected)
    assert clean_speech(np.zeros(10, np.float32)).shape == (0,)


@pytest.mark.parametrize("snr", [-5.0, 10.0])
def test_sessions_have_the_level_that_they_say(snr) -> None:
    (made,) = make_sessions(bursts(3), bursts(3), 1, 0, (snr, snr), ("white",))
    assert made.snr == snr and made.samples.shape == (32000,) and made.speech.shape == (400,)
    frames = (made.samples.reshape(400, 80).astype(np.float64) ** 2).mean(1)
    noise = frames[~made.speech].mean()
    assert 10 * np.log10(frames[made.speech].mean() / noise - 1) == pytest.approx(snr, abs=1)


def test_a_small_network_learns_and_is_kept(tmp_path) -> None:
    sounds = bursts(6)
    network, inputs = train_activity(make_sessions(sounds, sounds, 24, 0, (5, 20), ("white",)), 12, 4, 8)
    tested = make_sessions(sounds, sounds, 4, 9, (10, 10), ("white",))
    found = compare(network, inputs, tested)
    assert found.area > 0.7 and 0 <= found.energy_error <= 1
    save_activity(network, inputs, tmp_path, 8)
    again = compare(*load_activity(tmp_path), tested)
    assert again == pytest.approx(found, abs=1e-3)


def test_the_command_names_its_options(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--sessions" in capsys.readouterr().out
