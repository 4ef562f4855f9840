"""Phase from amplitudes, beside librosa's answers (recorded_synthesis.npz, written by
record_synthesis.py) and SciPy's non-negative least squares."""

from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import torch

from sampan import to_tensor
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.speech import griffin_lim, mel_to_amplitude
from sampan.speech.mel import compute_fbank_matrix

RECORD = np.load(Path(__file__).with_name("recorded_synthesis.npz"))


def amplitudes(sound: np.ndarray, n_fft: int = 512, hop: int = 128) -> np.ndarray:
    window = torch.hann_window(n_fft)
    x = torch.from_numpy(sound)
    return torch.stft(x, n_fft, hop, window=window, pad_mode="constant", return_complex=True).abs().numpy()


def off(sound: np.ndarray) -> float:
    """The relative distance of the sound's amplitudes from the wanted ones."""
    wanted = RECORD["amplitude"]
    return float(np.linalg.norm(amplitudes(sound) - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("momentum", [0.0, 0.99])
def test_from_the_same_phase_it_is_librosas_sound(momentum) -> None:
    made = griffin_lim(RECORD["amplitude"], 128, iterations=8, momentum=momentum, seed=None)
    assert np.abs(made.numpy() - RECORD[f"sound_{momentum}"]).max() < 1e-4


def test_momentum_comes_closer_than_the_algorithm_of_1984() -> None:
    fast, plain = (off(griffin_lim(RECORD["amplitude"], 128, momentum=m).numpy()) for m in (0.99, 0.0))
    assert fast < 0.15 and fast < 0.7 * plain
    assert fast < 1.2 * float(RECORD["off"])  # librosa's, from another random phase


def test_a_seed_gives_the_same_sound_again_and_a_batch_its_rows() -> None:
    size = RECORD["amplitude"][:, :20]
    one, again = (griffin_lim(size, 128, iterations=3, seed=5).numpy() for _ in range(2))
    assert (one == again).all()
    both = griffin_lim(to_tensor(np.stack([size, size * 0.5])), 128, iterations=3, seed=None).numpy()
    assert both.shape == (2, 19 * 128)
    assert np.allclose(both[0] * 0.5, both[1], atol=1e-6)
    assert griffin_lim(size, 128, iterations=1, length=2000).shape == [2000]
    assert griffin_lim(size.astype(np.float64), 128, iterations=1).numpy().dtype == np.float64


def test_it_begins_with_the_given_phase() -> None:
    size = RECORD["amplitude"][:, :20]
    zero = griffin_lim(size, 128, iterations=2, phase=np.zeros_like(size)).numpy()
    assert (zero == griffin_lim(size, 128, iterations=2, seed=None).numpy()).all()
    with pytest.raises(InvalidArgument, match=r"phase: expected the shape .257, 20., got .257, 3."):
        griffin_lim(size, 128, phase=np.zeros((257, 3)))


def test_mel_inversion_is_as_good_as_scipys_least_squares() -> None:
    filters = compute_fbank_matrix(16000, 512, 40).numpy().astype(np.float64)
    mel = filters @ RECORD["amplitude"][:, 10:14].astype(np.float64)
    made = mel_to_amplitude(mel, 16000, 512, iterations=2000).numpy()
    assert (made >= 0).all()
    for column in range(mel.shape[1]):
        best = scipy.optimize.nnls(filters, mel[:, column])[1]
        left = np.linalg.norm(filters @ made[:, column] - mel[:, column])
        assert left < best + 2e-3 * np.linalg.norm(mel[:, column])


def test_bad_input_is_named() -> None:
    size = RECORD["amplitude"]
    for wrong, expected in (
        (-size, "amplitude: expected finite amplitudes"),
        (size * np.nan, "amplitude: expected finite amplitudes"),
        (size[:, :1], "amplitude: expected 2 or more rows and frames"),
        (size[0], "amplitude: expected .* got shape"),
    ):
        with pytest.raises(InvalidArgument, match=expected):
            griffin_lim(wrong, 128)
    with pytest.raises(InvalidType, match="amplitude: expected float32 or float64, got int64"):
        griffin_lim(size.astype(np.int64))
    with pytest.raises(InvalidArgument, match="momentum: expected 0 or more, got -1"):
        griffin_lim(size, momentum=-1)
    with pytest.raises(InvalidArgument, match="iterations: expected an integer of at least 1, got 0"):
        griffin_lim(size, iterations=0)
    with pytest.raises(InvalidArgument, match="length: expected more than 256 samples"):
        griffin_lim(size, 128, length=100)
    with pytest.raises(InvalidArgument, match="mel: expected finite"):
        mel_to_amplitude(-size, 16000, 512)
