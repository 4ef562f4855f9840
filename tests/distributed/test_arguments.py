"""Arguments of another class are refused by the name of the function and of the argument."""

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
from sampan.distributed import fleet
from sampan.distributed.arguments import check_kind
from sampan.distributed.fleet.utils import sequence_parallel_utils as sequences
from sampan.nn import Linear


class Odd:
    """Belongs nowhere."""

    def __repr__(self):
        return "odd"


MESH = dist.ProcessMesh([0], dim_names=["x"])
CASES = [
    (dist.shard_weight, ("w", Odd(), 0, None), "shard_weight: weight: expected a Tensor, got odd"),
    (dist.shard_weight, ("w", sampan.ones([2]), 0, None), "shard_weight: group: expected a Group, got None"),
    (dist.build_sharded_state_dict, (Odd(),), "build_sharded_state_dict: state_dict: expected a dict"),
    (dist.build_sharded_state_dict, ({"w": Odd()},), "state_dict: 'w': expected a Tensor, got odd"),
    (dist.dtensor_from_fn, (Odd(), MESH, []), "dtensor_from_fn: fn: expected a function, got odd"),
    (dist.dtensor_from_local, (Odd(), MESH, []), "dtensor_from_local: local_tensor: expected a Tensor"),
    (dist.dtensor_to_local, (Odd(), MESH, []), "dtensor_to_local: dist_tensor: expected a Tensor"),
    (dist.reshard, (Odd(), MESH, []), "reshard: dist_tensor: expected a Tensor, got odd"),
    (dist.unshard_dtensor, (Odd(),), "unshard_dtensor: dist_tensor: expected a Tensor, got odd"),
    (dist.shard_dataloader, (Odd(), MESH), "shard_dataloader: dataloader: expected an Iterable, got odd"),
    (dist.shard_dataloader, ([], [Odd()]), "shard_dataloader: meshes: expected a ProcessMesh, got odd"),
    (dist.parallelize, (Odd(), None, MESH, {}), "parallelize: model: expected a Layer, got odd"),
    (dist.to_distributed, (Odd(), None, [], 1), "to_distributed: model: expected a Layer, got odd"),
    (dist.to_distributed, (Linear(1, 1), Odd(), [], 1), "to_distributed: optimizer: expected an Optimizer"),
    (dist.to_static, (Odd(),), "to_static: layer: expected a Layer, got odd"),
    (sampan.DataParallel, (Odd(),), "DataParallel: layers: expected a Layer, got odd"),
    (
        dist.gloo_init_parallel_env,
        ("0", 2, "h:1"),
        "gloo_init_parallel_env: rank_id: expected an int, got '0'",
    ),
    (fleet.HybridCommunicateGroup, (Odd(),), "topology: expected a CommunicateTopology, got odd"),
    (sequences.scatter, (np.ones([2, 2]),), r"input: expected a Tensor, got numpy float64\[2, 2\]"),
    (sequences.AllGatherOp.apply, (Odd(),), "AllGatherOp: input: expected a Tensor, got odd"),
    (sequences.mark_as_sequence_parallel_parameter, (Odd(),), "parameter: expected a Tensor, got odd"),
    (sequences.register_sequence_parallel_allreduce_hooks, (Odd(),), "model: expected a Layer, got odd"),
]


@pytest.mark.parametrize(("function", "given", "text"), CASES)
def test_the_error_names_function_and_argument(function, given, text):
    with pytest.raises(TypeError, match=text) as caught:
        function(*given)
    assert isinstance(caught.value, ValueError)  # InvalidType derives from both classes


def test_integers_of_numpy_are_integers():
    check_kind(np.int64(3), int, "axis")
    with pytest.raises(TypeError, match=r"axis: expected an int, got 1\.5"):
        check_kind(1.5, int, "axis")
