"""Every call of tests/parity/cases, with its gradients: the GPU's answer is the CPU's within rounding.

The CPU's answers are compared with PaddlePaddle's in tests/parity. Calls that the CPU refuses are left out.
"""

from __future__ import annotations

import pytest

import sampan
from tests.gpu.places import GPU, needs_gpu, on
from tools.parity import cases, surface
from tools.parity.perform import compare, perform

pytestmark = needs_gpu
FILES = [(file, name) for file, names in cases.load().items() for name in names]
PLACES = "says where the tensor is"
TIES = "which of several equal entries, or of several NaN, comes first is not defined without stable=True"
DRAWN = "draws its weights: a GPU's generator gives other numbers"
INTEGERS = 'no integer product of matrices on a GPU: refused ("not implemented for")'
OTHER = {  # what differs on purpose, and why
    "paddle.device.get_device": PLACES, "paddle.set_printoptions": PLACES, "Tensor.device": PLACES, "Tensor.is_cuda": PLACES,
    "Tensor.get_device": PLACES, "paddle.sparse.sparse_coo_tensor": PLACES, "paddle.sparse.sparse_csr_tensor": PLACES,
    **{f"{area}.{name}": TIES for area in ("paddle", "Tensor") for name in ("sort", "argsort", "median", "quantile", "nanquantile")},
    **dict.fromkeys(("paddle.nn.RReLU", "Layer.state_dict", "Layer.to", "Layer.parameters", "paddle.nn.utils.parameters_to_vector"), DRAWN),
    **dict.fromkeys(("paddle.mm", "Tensor.mm", "paddle.matmul", "Tensor.matmul", "paddle.inner", "Tensor.inner"), INTEGERS),
    "paddle.linalg.lstsq": "PaddlePaddle too has the driver 'gels' alone on a GPU, which gives no rank",
    "Tensor.lstsq": "PaddlePaddle too has the driver 'gels' alone on a GPU, which gives no rank",
}  # fmt: skip  # one row of fields to a line


@pytest.mark.parametrize(("file", "name"), FILES, ids=[f"{file}-{name}" for file, name in FILES])
def test_the_answer_is_that_of_the_cpu(file: str, name: str) -> None:
    if surface.find(sampan, name) is surface.MISSING:
        return
    wrong = []
    for one in cases.load()[file][name]:
        expected = on("cpu", perform, sampan, name, one)
        if "out" not in expected:
            continue  # an index out of range ends the process's use of the GPU
        got = on(GPU, perform, sampan, name, one)
        if (text := compare(expected, got, one.tolerance)) and "not implemented for" not in text:
            wrong.append(f"{one}: {text}")
    assert name in OTHER or not wrong, "\n".join(wrong)
