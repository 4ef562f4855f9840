"""The pieces of the feature kernel; its results are tested in tests/speech/test_kaldi.py."""

import math

import numpy as np
from numba import njit

from sampan.kernels import cpu_speech_fbank as fbank


@njit
def logarithms(values):
    out = np.empty_like(values)
    for i in range(values.size):
        out[i] = fbank.log(values[i])
    return out


def test_logarithm_is_within_two_units_in_the_last_place() -> None:
    rng = np.random.default_rng(0)
    x = np.exp(rng.uniform(-87, 88, 200_000)).astype(np.float32)
    x = np.concatenate([x, np.float32([1.1920929e-07, 0.5, 0.70710677, 1.0, 1.0000001, 2.0, 3.4e38])])
    exact = np.log(x.astype(np.float64))
    unit = np.spacing(abs(exact).astype(np.float32)).astype(np.float64)
    assert (abs(logarithms(x) - exact) <= 2 * np.maximum(unit, 2**-27)).all()


def test_the_last_tile_writes_no_row_too_many() -> None:
    """17 frames are two tiles: the second holds one frame."""
    from sampan.speech.kaldi import FeatureOptions, plan_of

    plan = plan_of(FeatureOptions(num_mel_bins=23))
    wave = np.random.default_rng(1).standard_normal(400 + 16 * 160).astype(np.float32)
    guarded = np.full((19, 23), math.pi, np.float32)
    fbank.features(wave, plan, np.empty(0, np.float32), guarded[1:18])
    assert (guarded[[0, 18]] == np.float32(math.pi)).all() and (guarded[1:18] != np.float32(math.pi)).all()
