"""shard_tensor, reshard, unshard_dtensor and the parts of a tensor, in two processes."""

import subprocess
import sys

import numpy as np
import pytest

import sampan.distributed as dist
from tests.distributed.auto_parallel import programs

pytestmark = pytest.mark.servers


def test_parts_become_a_tensor_and_parts_again(workers):
    results = workers(2)(programs.local_and_back, False)
    for rank, (shape, back, whole, is_dist, gradient) in enumerate(results):
        assert list(shape) == [2, 2] and not is_dist
        assert np.array_equal(back, [[2.0 + 2 * rank, 4.0]])
        assert np.array_equal(whole, [[1.0, 2.0], [2.0, 2.0]])
        assert np.array_equal(gradient, 2.0 + 2.0 * np.array([[1.0 + rank, 2.0]]))


ONE = "dist.shard_tensor(sampan.ones([4]), mesh, [dist.Shard(0)])"


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (f"dist.shard_tensor({ONE}, mesh, [dist.Replicate()])", "InvalidArgument", "use reshard"),
        ("dist.reshard(sampan.ones([4]), mesh, [dist.Shard(0)])", "InvalidArgument", "use shard_tensor"),
        ("dist.shard_tensor(sampan.ones([4]), [0, 1], [])", "InvalidType", "expected a ProcessMesh, got [0, 1]"),
        ("dist.shard_tensor([1.0], dist.ProcessMesh([0, 7]), [])", "InvalidArgument", "names process 7, and there are 2"),
        (f"sampan.as_strided({ONE}, [2, 2], [1, 1])", "InvalidArgument", r"[Shard(dim=0)] is not supported"),
        (f"{ONE} + dist.shard_tensor([1.0], dist.ProcessMesh([[0, 1]]), [])", "InvalidArgument", "different meshes"),
    ],
)  # fmt: skip  # a table
def test_what_is_refused(workers, code, kind, text):
    for name, message in workers(2)(programs.refusal, code):
        assert name == kind and text in message


def test_dist_attr():
    mesh = dist.ProcessMesh([[2, 4, 5], [0, 1, 3]], dim_names=["x", "y"])
    attr = dist.DistAttr(mesh=mesh, sharding_specs=["y", None])
    assert attr.dims_mapping == [1, -1] and attr.placements == [dist.Replicate(), dist.Shard(0)]
    assert attr.process_mesh is mesh
    with pytest.raises(ValueError, match="Invalid sharding dimension 'z'"):
        dist.DistAttr(mesh, ["z"])
    with pytest.raises(ValueError, match="must be an instance of list"):
        dist.DistAttr(mesh, ("x",))
    with pytest.raises(AssertionError, match="must be an instance of str"):
        dist.DistAttr(mesh, [1])


PROGRAM = """
import sys
import sampan as paddle
x = paddle.ones([2], dtype="float32")
assert x.is_dist() is False and x.process_mesh is None and x.placements is None
import sampan.distributed as dist
parts = ("sampan.distributed.auto_parallel", "torch.distributed.tensor")
assert not [name for name in parts if name in sys.modules]
mesh = dist.ProcessMesh([0])
y = dist.shard_tensor(x, mesh, [dist.Shard(0)])
assert y.is_dist() and not x.is_dist() and x._local_value() is None and x._local_shape is None
y.stop_gradient = False
(y * 3.0).sum().backward()
print(y.grad.tolist(), y.placements, repr(x))
"""


def test_one_process_imports_nothing_of_it_and_can_run_it():
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("[3.0, 3.0] [Shard(dim=0)] Tensor(shape=[2]")


def test_the_text_of_how_a_tensor_lies():
    """As PaddlePaddle 3.3.1 prints it."""
    mesh = dist.ProcessMesh([[2, 4, 5], [0, 1, 3]], dim_names=["x", "y"])
    text = (
        "{process_mesh: {shape: [2,3], process_ids: [2,4,5,0,1,3], dim_names: [x,y]}, dim_mappings: [[1] [] ], "
        "batch_dim: 0, chunk_id: 0, skip_check_mesh: 0, dynamic_dims: [0,0], annotated: [dims_mapping: "
        "1,process_mesh: 1], partial: [], split_factor: .}"
    )
    assert str(dist.DistAttr(mesh, ["y", None])) == text
