"""Products of gathered rows, beside NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest

from sampan.kernels import cpu_sparse_gemm

SIGNALLING = np.uint64(0x7FF0000000000001)  # a NaN of which NumPy warns when it is added to


def dirty(shape, dtype=float):
    """As numpy.empty, with the worst that can be in the memory."""
    made = np.zeros(shape, dtype)
    if made.dtype == float:
        made.view(np.uint64)[...] = SIGNALLING
    return made


@pytest.mark.parametrize(("inside", "outside"), [(1, 1), (5, 16), (7, 33), (32, 32), (40, 70)])
def test_products_of_gathered_rows(inside, outside, monkeypatch):
    rng = np.random.default_rng(inside)
    near = rng.integers(-1, 90, (4, 300)).astype(np.int32)
    near[1] = -1
    x, w, g = (rng.standard_normal(shape) for shape in ((90, inside), (4, inside, outside), (300, outside)))
    b, out = rng.standard_normal(outside), np.empty((300, outside))
    picked = np.where(near[..., None] >= 0, x[near], 0)
    sums, weight = np.einsum("kni,kio->no", picked, w) + b, np.einsum("kni,no->kio", picked, g)
    for compiled in (True, False):  # also as plain Python, as with NUMBA_DISABLE_JIT=1
        if not compiled:
            monkeypatch.setattr(cpu_sparse_gemm, "np", SimpleNamespace(**{**vars(np), "empty": dirty}))
            for name in ("_tiles", "_unpacked"):
                monkeypatch.setattr(cpu_sparse_gemm, name, getattr(cpu_sparse_gemm, name).py_func)
            for name in ("_gathered", "_outer"):
                body = getattr(cpu_sparse_gemm, name)
                monkeypatch.setattr(
                    cpu_sparse_gemm, f"{name}_loop", lambda *arrays, size, body=body: body(*arrays)
                )
        cpu_sparse_gemm.gathered_products(near, x.view(np.uint64), w, b, out)
        assert np.allclose(out, sums)
        assert np.allclose(cpu_sparse_gemm.outer_products(near, x.view(np.uint64), g.view(np.uint64)), weight)
