"""Log mel frames beside torch's STFT and NumPy, and silence and level of a recording."""

import numpy as np
import torch

from sampan import to_tensor
from sampan.speech.mel import compute_fbank_matrix
from sampan.speech.synthesis.sound import MelSettings, level, log_mel_array, trim

SOUND = np.random.default_rng(0).standard_normal(4000).astype(np.float32) * 0.1


def test_log_mel_is_the_logarithm_of_the_filtered_amplitudes() -> None:
    mel = MelSettings()
    x = torch.from_numpy(SOUND)
    size = torch.stft(x, 800, 200, window=torch.hann_window(800), return_complex=True).abs().numpy()
    filters = compute_fbank_matrix(16000, 800, 80, 20.0, 8000.0).numpy()
    wanted = np.log(np.maximum(filters @ size, 1e-5)).T
    made = log_mel_array(mel, SOUND)
    assert made.shape == (21, 80) and made.dtype == np.float32
    assert np.abs(made - wanted).max() < 1e-4
    assert np.allclose(mel.log_mel(to_tensor(np.stack([SOUND, SOUND]))).numpy()[1], made, atol=1e-6)
    assert np.allclose(log_mel_array(mel, SOUND * 0), np.log(1e-5))
    assert MelSettings(**mel.settings()) == mel


def test_silence_is_cut_off_but_for_the_margin() -> None:
    sound = np.concatenate([np.zeros(8000), SOUND, np.zeros(6000)]).astype(np.float32)
    cut = trim(sound, 16000)
    assert abs(len(cut) - (4000 + 2 * 480)) <= 320
    assert np.abs(cut).max() == np.abs(SOUND).max()
    assert len(trim(np.zeros(5, np.float32), 16000)) == 5
    assert len(trim(np.zeros(5000, np.float32), 16000)) == 5000


def test_the_level_is_set_without_clipping() -> None:
    assert np.isclose(np.sqrt((level(SOUND * 7) ** 2).mean()), 0.08, rtol=1e-4)
    peak = np.zeros(10000, np.float32)
    peak[5] = 0.2
    assert np.isclose(level(peak).max(), 0.99)
    assert (level(np.zeros(4)) == 0).all() and len(level(np.zeros(0))) == 0
