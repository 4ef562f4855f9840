"""The generated loops: equal to float64 NumPy for every formula, whatever the size, the threads and the compiler."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
import torch

import sampan
from sampan.kernels.fused import FORMULAS, PARALLEL_FROM, fused, names_in, worth_fusing

module = importlib.import_module("sampan.kernels.fused")  # `sampan.kernels.fused` names the function in it
SIZES = [0, 1, 7, 1001, PARALLEL_FROM - 1, PARALLEL_FROM + 13]
REAL = {"float32": (torch.float32, 2e-6), "float64": (torch.float64, 1e-14)}
RUN = """
import sys, numpy as np, torch
torch.set_num_threads(1)
from sampan.kernels.fused import FORMULAS, _loop, names_in
import sampan
np.seterr(all="ignore")
out = {}
for i, formula in enumerate(FORMULAS):
    random = np.random.default_rng(i)
    arrays = [random.uniform(0.3, 0.8, 33).astype("float32") for _ in names_in(formula)]
    result = np.empty(33, np.float32)
    _loop(formula, "float32")(*arrays, result, size=33)
    out[str(i)] = result
np.savez(sys.argv[1], **out)
"""


def drawn(formula: str, size: int, dtype: str) -> list[np.ndarray]:
    random = np.random.default_rng(size + len(formula))
    arrays = [random.uniform(0.3, 0.8, size).astype(dtype) for _ in names_in(formula)]
    for array in arrays[1:]:
        array[:: max(size // 3, 1)] = 0.5  # some ties, for comparisons
    return arrays


def expected(formula: str, arrays: list[np.ndarray]) -> np.ndarray:
    values = {n: a.astype(np.float64) for n, a in zip(names_in(formula), arrays, strict=True)}
    with np.errstate(all="ignore"):  # roots of negative numbers are NaN on both sides
        return np.asarray(eval(formula, {"sqrt": np.sqrt}, values), dtype=np.float64)


def test_there_are_formulas_and_all_are_worth_it() -> None:
    assert len(FORMULAS) >= 10
    assert all(worth_fusing(f) for f in FORMULAS)
    assert not worth_fusing("g * y")
    assert not worth_fusing("g * exp(x) + x * x")


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("formula", sorted(set(FORMULAS)))
def test_equal_to_numpy_in_every_size(formula: str, dtype: str) -> None:
    run, (kind, tolerance) = fused(formula), REAL[dtype]
    FORMULAS.pop()  # fused() lists what it declares; this one was there already
    for size in SIZES if dtype == "float32" else SIZES[:4]:
        arrays = drawn(formula, size, dtype)
        result = run(*(torch.from_numpy(a) for a in arrays))
        assert result.dtype is kind and result.shape == (size,)
        np.testing.assert_allclose(result.numpy(), expected(formula, arrays), rtol=tolerance, atol=tolerance)


def test_any_shape_and_strides() -> None:
    run = fused("g / (x * x + y * y)")
    FORMULAS.pop()
    g, x, y = (torch.rand(6, 5, dtype=torch.float64).t() + 0.5 for _ in range(3))
    torch.testing.assert_close(run(g, x, y), g / (x * x + y * y))
    torch.testing.assert_close(run(g[1], x[1], y[1]), (g / (x * x + y * y))[1])


def test_other_dtypes_and_shapes_are_left_to_torch() -> None:
    run = fused("g / (x * x + y * y)")
    FORMULAS.pop()
    g, x = torch.rand(4, dtype=torch.float16), torch.rand(4, dtype=torch.float16) + 0.5
    assert run(g, x, x).dtype == torch.float16
    wide, narrow = torch.rand(3, 4), torch.rand(4) + 0.5
    torch.testing.assert_close(run(wide, narrow, narrow), wide / (narrow * narrow + narrow * narrow))


@pytest.mark.parametrize("formula", sorted(set(FORMULAS))[:4])
def test_bitwise_equal_for_one_and_two_threads(formula: str) -> None:
    loop = module._loop(formula, "float32")
    arrays = drawn(formula, PARALLEL_FROM + 1, "float32")
    results = []
    before = numba.get_num_threads()
    try:
        for threads in (1, 2):
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
            results.append(np.empty(PARALLEL_FROM + 1, np.float32))
            loop.parallel(*arrays, results[-1])
    finally:
        numba.set_num_threads(before)
    serial = np.empty(PARALLEL_FROM + 1, np.float32)
    loop.serial(*arrays, serial)
    assert results[0].tobytes() == results[1].tobytes() == serial.tobytes()


def test_the_large_derivative_runs_fused_and_is_the_same() -> None:
    n = PARALLEL_FROM + 3
    values = torch.rand(n, dtype=torch.float64) * 0.5 + 0.2
    with sampan.trace() as seen:
        x = sampan.Tensor(values.clone(), stop_gradient=False)
        x.asin().sum().backward()
    assert any(r.kernel == "fused g / sqrt(1 - x * x) (parallel)" for r in seen if r.backward)
    np.testing.assert_allclose(x.grad.numpy(), 1 / np.sqrt(1 - values.numpy() ** 2), rtol=1e-14)


def started(path: Path, cache: Path, **settings: str) -> subprocess.Popen:
    environment = {**os.environ, "SAMPAN_CACHE": str(cache), **settings}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finished(process: subprocess.Popen) -> None:
    _, problems = process.communicate(timeout=120)
    assert process.returncode == 0, problems.decode()


def test_the_same_without_the_compiler(tmp_path: Path) -> None:
    finished(started(tmp_path / "plain.npz", tmp_path / "cache", NUMBA_DISABLE_JIT="1"))
    plain = np.load(tmp_path / "plain.npz")
    for i, formula in enumerate(FORMULAS):
        random = np.random.default_rng(i)
        arrays = [random.uniform(0.3, 0.8, 33).astype("float32") for _ in names_in(formula)]
        compiled = np.empty(33, np.float32)
        module._loop(formula, "float32").serial(*arrays, compiled)
        np.testing.assert_allclose(plain[str(i)], compiled, rtol=3e-7, err_msg=formula)


def test_two_processes_may_make_the_same_loops_at_once(tmp_path: Path) -> None:
    both = [started(tmp_path / f"{i}.npz", tmp_path / "cache", NUMBA_DISABLE_JIT="1") for i in range(2)]
    for process in both:
        finished(process)
    first, second = (np.load(tmp_path / f"{i}.npz") for i in range(2))
    assert first.files and all(first[k].tobytes() == second[k].tobytes() for k in first.files)
    kept = sorted(p.name for p in (tmp_path / "cache" / "kernels").iterdir() if p.is_file())
    assert kept and all(name.startswith("fused_") and name.endswith(".py") for name in kept)


@pytest.mark.parametrize("obstacle", ["a file stands there", "no right to write"])
def test_a_cache_folder_that_cannot_be_used(tmp_path: Path, obstacle: str, monkeypatch) -> None:
    root = tmp_path / "cache"
    if obstacle == "a file stands there":
        root.write_text("in the way")
    else:
        root.mkdir()
        (root / "kernels").symlink_to("/proc")  # no user can create files there, not even root
    monkeypatch.setenv("SAMPAN_CACHE", str(root))
    formula = "g * (1 + x * x) + out"
    g, x, out = (np.full(3, v, np.float32) for v in (2, 3, 4))
    result = np.empty(3, np.float32)
    module._loop(formula, "float32").serial(g, x, out, result)
    assert result.tolist() == [24, 24, 24]
    module._loop.cache_clear()


def test_a_damaged_source_file_is_written_again(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SAMPAN_CACHE", str(tmp_path))
    formula = "g * (2 + x * x) - out"
    try:
        module._loop(formula, "float64")
        (path,) = (tmp_path / "kernels").glob("fused_*.py")
        good = path.read_text()
        path.write_text("def loop(g, x, out, result): raise RuntimeError('damaged')")
        module._loop.cache_clear()
        result = np.empty(1)
        module._loop(formula, "float64").serial(*(np.array([v]) for v in (2.0, 3.0, 4.0)), result)
        assert result[0] == 18 and path.read_text() == good
    finally:
        module._loop.cache_clear()
