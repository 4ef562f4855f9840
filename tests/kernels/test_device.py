"""Which device's kernel runs: by the first array, with no module of the GPU's loaded for the CPU's."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
import torch

from sampan.kernels import cuda_embedding, cuda_sparse, device, embedding, sparse

FORMS = [(sparse, cuda_sparse), (embedding, cuda_embedding)]


@pytest.mark.parametrize(("entries", "gpu"), FORMS)
def test_each_kernel_of_a_gpu_is_called_under_its_own_name(entries, gpu, monkeypatch):
    public = {n for n, f in vars(gpu).items() if inspect.isfunction(f) and f.__module__ == gpu.__name__}
    asked = []
    monkeypatch.setattr(device, "gpu_kernel", lambda name: asked.append(name) or (lambda *args: name))
    for name in sorted(n for n in public if not n.startswith("_")):
        entry, buffer = getattr(entries, name), torch.zeros(1)
        assert entry(buffer) == entry((buffer, None), None) == f"{gpu.__name__.split('.')[-1]}.{name}"
        assert entry.__wrapped__.__name__ == name  # what its signature and its source are read from
    assert asked


def test_the_first_array_decides():
    kernel = device.dispatch(lambda *args: "loop", "cuda_sparse.cuts")
    array, buffer = np.zeros(1), torch.zeros(1)
    for args in ((array,), ((array, array), 1), (array, buffer), ([buffer],), (3, buffer)):
        assert kernel(*args) == "loop"
    assert kernel(buffer) is buffer
    assert device.gpu_kernel("cuda_sparse.cuts") is cuda_sparse.cuts
    with pytest.raises(AttributeError, match="no_such"):
        device.gpu_kernel("cuda_sparse.no_such")


PROGRAM = """
import sys
import sampan
from sampan import nn, optimizer

x = sampan.eye(3).to_sparse_csr()
(x @ sampan.ones([3, 2])).sum()
layer = nn.Embedding(5, 2, sparse=True)
layer(sampan.to_tensor([1, 2])).sum().backward()
optimizer.SGD(0.1, parameters=layer.parameters()).step()
assert not [name for name in sys.modules if name.startswith("sampan.kernels.cuda")]
assert sampan.kernels.sparse is sys.modules["sampan.kernels.sparse"]
"""


def test_work_on_the_cpu_loads_no_kernel_of_a_gpu():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shape", [5, (2, 3), (2_000_003,), (1_000, 2_001), 2_000_003])
def test_empty_is_of_the_shape_and_dtype_however_large(shape):
    for like, kind, dtype in ((np.ones(1, np.float32), "", "float32"), (None, "int32", "int32")):
        made = device.empty(shape, like, kind)
        made[...] = 3
        assert made.shape == np.empty(shape).shape and made.dtype == dtype and (made == 3).all()
