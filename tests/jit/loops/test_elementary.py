"""Errors against float64, in units of the last place."""

from typing import Any

import numba
import numpy as np
import pytest
from scipy import special

from sampan.jit.loops import elementary

NAMES = ["exp", "tanh", "erf", "sigmoid"]
REFERENCES = {"exp": np.exp, "tanh": np.tanh, "erf": special.erf, "sigmoid": special.expit}
ULPS = {"exp": 2, "tanh": 5, "erf": 6, "sigmoid": 4}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-40, 88.72, 88.73, -87.4, -103.9, -104.1, 3e38]
EDGES = np.concatenate([np.linspace(low, -low, 100_001) for low in (-87.3, -10, -4, -1e-3)])
POINTS = np.concatenate([EDGES, SPECIAL]).astype(np.float32)


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    exp, tanh, erf, sigmoid = (getattr(elementary, name) for name in NAMES)
    wide_vectors = elementary.wide_vectors

    @numba.njit(error_model="numpy")
    def loop(x: Any, made: Any) -> None:
        for i in range(x.size):
            wide_vectors()
            made[0, i], made[1, i], made[2, i], made[3, i] = exp(x[i]), tanh(x[i]), erf(x[i]), sigmoid(x[i])

    made = np.empty((4, POINTS.size), np.float32)
    loop(POINTS, made)
    code = next(iter(loop.inspect_asm().values())) if hasattr(loop, "inspect_asm") else ""
    return {**dict(zip(NAMES, made, strict=True)), "code": code}


@pytest.mark.parametrize("name", NAMES)
def test_the_error_is_a_few_units_of_the_last_place(computed: Any, name: str) -> None:
    found = computed[name].astype(np.float64)
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](POINTS.astype(np.float64))
        nearest = exact.astype(np.float32)
        ends = ~np.isfinite(nearest) | ((name == "sigmoid") & (POINTS < -87.3))
        unit = np.maximum(np.spacing(np.abs(nearest)), np.finfo(np.float32).smallest_subnormal)
        errors = np.abs(found - exact)[~ends] / unit[~ends].astype(np.float64)
    assert errors.max() <= ULPS[name]
    assert np.allclose(found[ends], nearest[ends], rtol=0, atol=2e-38, equal_nan=True)


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_it_is_odd_and_never_beyond_one(computed: Any, name: str) -> None:
    found = computed[name][: EDGES.size].reshape(4, -1)
    assert np.array_equal(found, -found[:, ::-1]) and np.abs(found).max() == 1.0
    zeros = computed[name][POINTS == 0]
    assert np.array_equal(np.signbit(zeros), np.signbit(POINTS[POINTS == 0]))


def test_loops_over_it_are_vector_code(computed: Any) -> None:
    from llvmlite.binding import get_host_cpu_features

    features = get_host_cpu_features()
    if not (features.get("avx2") and computed["code"]):
        pytest.skip("a processor without AVX2, or the compiler is off")
    assert ("zmm" if features.get("avx512f") else "ymm") in computed["code"]
