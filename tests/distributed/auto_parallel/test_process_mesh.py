"""ProcessMesh: PaddlePaddle 3.3.1 gave the expected texts and errors."""

import copy

import numpy as np
import pytest

import sampan.distributed as dist
from sampan.distributed.auto_parallel import process_mesh


@pytest.fixture
def mesh():
    return dist.ProcessMesh([[0, 1], [2, 3], [4, 5]], dim_names=["dp", "mp"])


def test_facts_of_a_mesh(mesh):
    assert (mesh.shape, mesh.ndim, mesh.dim_names, mesh.size) == ([3, 2], 2, ["dp", "mp"], 6)
    assert mesh.process_ids == [0, 1, 2, 3, 4, 5]
    assert str(mesh) == "shape [3, 2], process_ids [0, 1, 2, 3, 4, 5], dim_names ['dp', 'mp']"
    assert mesh.get_dim_size("mp") == mesh.dim_size(1) == 2
    assert mesh.get_rank_by_dim_and_process_id("dp", 3) == 1
    assert mesh.get_rank_by_dim_and_process_id("dp", 9) == -1
    assert mesh.contains(5) and not mesh.contains(6)
    assert np.array_equal(mesh.mesh, [[0, 1], [2, 3], [4, 5]])


def test_parts_of_a_mesh(mesh):
    assert str(mesh[0]) == "shape [2], process_ids [0, 1], dim_names ['mp']"
    assert str(mesh[:, 0]) == "shape [3], process_ids [0, 2, 4], dim_names ['dp']"
    assert str(mesh[0:1]) == "shape [1, 2], process_ids [0, 1], dim_names ['dp', 'mp']"
    assert mesh[1, 1].process_ids == [3]
    turned = mesh.get_mesh_with_dim("mp")
    assert (turned.shape, turned.process_ids, turned.dim_names) == ([2, 3], [0, 2, 4, 1, 3, 5], ["mp", "dp"])
    assert str(mesh.get_mesh_with_dim("mp", 0)) == "shape [3], process_ids [0, 2, 4], dim_names ['dp']"


def test_meshes_compare_by_shape_and_processes(mesh):
    same = dist.ProcessMesh([[0, 1], [2, 3], [4, 5]])
    assert mesh == same and hash(mesh) == hash(same) and same.dim_names == ["d0", "d1"]
    assert mesh != dist.ProcessMesh([0, 1, 2, 3, 4, 5]) and mesh != 1
    assert copy.deepcopy(mesh) == mesh
    assert mesh.unique_id == copy.copy(mesh).unique_id
    flat = dist.ProcessMesh(shape=[1, 2], process_ids=[0, 1])
    assert str(flat) == "shape [1, 2], process_ids [0, 1], dim_names ['d0', 'd1']"


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((3,), ValueError, "must be an instance of list or np.ndarray"),
        (([0, 0],), AssertionError, "must be unique"),
        (([[0, 1]], ["x"]), AssertionError, "same as the shape of the mesh"),
        (([0, 1], "x"), ValueError, "dim_names must be an instance of list"),
        (([0, -1],), AssertionError, "greater than or equal to 0"),
        (([0.5, 1.0],), AssertionError, "must be integer"),
        (([[0, 1]], ["x", "x"]), AssertionError, "must be unique"),
        ((), ValueError, "expected mesh, or both shape and process_ids"),
    ],
)
def test_what_is_no_mesh(arguments, error, text):
    with pytest.raises(error, match=text):
        dist.ProcessMesh(*arguments)


def test_the_mesh_of_the_program(mesh, monkeypatch):
    from sampan.distributed.auto_parallel import process_mesh

    monkeypatch.setattr(process_mesh, "_global", [None])
    assert dist.get_mesh() is None
    dist.set_mesh(mesh)
    assert dist.get_mesh() is mesh
    with pytest.raises(ValueError, match="expected a ProcessMesh, got list"):
        dist.set_mesh([0])


def test_meshes_of_several():
    """PaddlePaddle 3.3.1's answers."""
    line, square, part = (dist.ProcessMesh(m) for m in ([0, 1, 2, 3], [[0, 1], [2, 3]], [1, 2]))
    together = process_mesh.compute_compatible_process_mesh
    for given, wanted in (
        ([line, square], square),
        ([square, line], square),
        ([part, line], line),
        ([None, part], part),
        ([square, part], square),
    ):
        found = together(given)
        assert str(found) == str(wanted) and found is not wanted
    assert together([]) is together([part, dist.ProcessMesh([3])]) is None
    merged = process_mesh.merge_process_meshes([part, None, dist.ProcessMesh([5, 3])])
    assert merged.process_ids == [1, 2, 3, 5]
    assert process_mesh.merge_process_meshes([None]) is None


def test_the_current_mesh(mesh):
    assert process_mesh.get_current_process_mesh() is None
    with mesh:
        assert process_mesh.get_current_process_mesh() is process_mesh.current_mesh() is mesh
        process_mesh.set_current_process_mesh(mesh[0])
        assert process_mesh.get_current_process_mesh() == mesh[0]
        process_mesh.reset_current_process_mesh()
        assert process_mesh.get_current_process_mesh() is mesh
    assert process_mesh.get_current_process_mesh() is None
