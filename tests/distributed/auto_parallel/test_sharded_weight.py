"""Parts of parameters with their place, written by some processes and read by others."""

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
from sampan.distributed import fleet
from sampan.distributed.auto_parallel import sharded_weight

pytestmark = pytest.mark.servers


def begin(degree):
    """Groups of `degree` processes for tensor parallelism."""
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"mp_degree": degree, "dp_degree": dist.get_world_size() // degree}
    fleet.init(is_collective=True, strategy=strategy)


def layer(degree):
    """A ColumnParallelLinear of a group of `degree` processes, which belongs to a known array."""
    begin(degree)
    return fleet.meta_parallel.ColumnParallelLinear(3, 8, has_bias=True, gather_output=False)


RULES = {"weight": 1, "bias": 0}
WHOLE = {"weight": np.arange(24.0).reshape(3, 8), "bias": np.arange(8.0) + 100}


def part(name, values, group):
    return np.split(values, group.nranks, RULES[name])[group.rank]


def saved(folder, degree):
    made = layer(degree)
    group = made.model_parallel_group
    for name, parameter in made.state_dict().items():
        parameter.set_value(part(name, WHOLE[name], group).astype("float32"))
    state = dist.build_sharded_state_dict(made.state_dict(), RULES, "net.")
    text = str(state["net.weight"])
    dist.save_state_dict(state, folder)
    dist.barrier()
    return text, state["net.weight"].global_offset


def loaded(folder, degree):
    made = layer(degree)
    group = made.model_parallel_group
    state = dist.build_sharded_state_dict(made.state_dict(), RULES, "net.")
    version = made.weight.inplace_version
    dist.load_state_dict(state, folder)
    dist.barrier()
    return [
        np.array_equal(parameter.numpy(), part(name, WHOLE[name], group))
        for name, parameter in made.state_dict().items()
    ], made.weight.inplace_version > version


@pytest.mark.parametrize(("before", "after"), [((2, 2), (4, 4)), ((4, 4), (4, 2)), ((4, 2), (2, 1))])
def test_another_number_of_processes_reads_it(workers, tmp_path, before, after):
    told = workers(before[0])(saved, str(tmp_path), before[1])
    width = 8 // before[1]
    assert told[1] == (
        f"ShardedWeight(\n  key=net.weight,\n  local_tensor=Parameter(shape=[3, {width}]),\n"
        f"  local_shape=(3, {width}),\n  global_shape=(3, 8),\n  global_offset=(0, {width}),\n"
        "  flattened_range=None\n)",
        (0, width),
    )
    assert workers(after[0])(loaded, str(tmp_path), after[1]) == [([True, True], True)] * after[0]
    merged = dist.load_merged_state_dict(str(tmp_path))
    assert {name: value.tolist() for name, value in merged.items()} == {
        f"net.{name}": values.tolist() for name, values in WHOLE.items()
    }


def network(folder, degree, store):
    """A column-wise and a row-wise layer, a table and one that is whole: written, or read and compared with the whole."""
    begin(degree)
    parallel = fleet.meta_parallel
    made = sampan.nn.Sequential(
        parallel.VocabParallelEmbedding(8, 4),
        parallel.ColumnParallelLinear(4, 8, has_bias=True, gather_output=False),
        parallel.RowParallelLinear(8, 4, has_bias=True, input_is_parallel=True),
        sampan.nn.Linear(4, 2),
    )
    group = made[0].model_parallel_group
    sampan.seed(0)
    expected = []
    for name, weight in made.sharded_state_dict().items():
        whole = sampan.randn(weight.global_shape).numpy()
        own = whole[
            tuple(slice(at, at + n) for at, n in zip(weight.global_offset, weight.local_shape, strict=True))
        ]
        axes = [axis for axis, n in enumerate(weight.local_shape) if n != whole.shape[axis]]
        assert axes == ([CUT[name]] if name in CUT and group.nranks > 1 else [])
        weight.local_tensor.set_value(own if store else np.zeros_like(own))
        expected.append(own)
    if store:
        dist.save_state_dict(made.sharded_state_dict(), folder)
    else:
        dist.load_state_dict(made.sharded_state_dict(), folder)
    dist.barrier()
    return [np.array_equal(a.numpy(), b) for a, b in zip(made.state_dict().values(), expected, strict=True)]


CUT = {"0.weight": 0, "1.weight": 1, "1.bias": 0, "2.weight": 0}


def test_a_network_knows_the_places_of_its_parts(workers, tmp_path):
    assert workers(2)(network, str(tmp_path), 2, True) == [[True] * 7] * 2
    assert workers(4)(network, str(tmp_path), 4, False) == [[True] * 7] * 4
    assert workers(2)(network, str(tmp_path), 1, False) == [[True] * 7] * 2


def test_another_tensor_in_the_place_of_a_part():
    weight = dist.ShardedWeight("w", sampan.ones([2, 3]), (2, 3), (4, 3), (2, 0))
    moment = sharded_weight.create_sharded_weight_with_new_local("w.moment1_0", sampan.zeros([2, 3]), weight)
    assert (moment.key, moment.global_shape, moment.global_offset) == ("w.moment1_0", (4, 3), (2, 0))
    with pytest.raises(ValueError, match=r"new_local_tensor: expected the shape \[2, 3\].*got \[3\]"):
        sharded_weight.create_sharded_weight_with_new_local("w.moment1_0", sampan.zeros([3]), weight)
    whole = sharded_weight.make_replicated_sharded_weight("w", sampan.ones([2, 3]))
    assert (whole.local_shape, whole.global_shape, whole.global_offset) == ((2, 3), (2, 3), (0, 0))
    for make in (
        sharded_weight.make_replicated_sharded_weight,
        sharded_weight.make_tp_sharded_weight_for_checkpoint,
    ):
        with pytest.raises(TypeError, match=f"{make.__name__}: tensor: expected a Tensor, got 3"):
            make("w", 3)


def test_errors(tmp_path):
    weight = sampan.ones([2, 3])
    with pytest.raises(ValueError, match=r"Shard axis 2 is invalid for tensor with shape \[2, 3\]"):
        dist.shard_weight("w", weight, 2, dist.collective.Group())
    flat = dist.ShardedWeight("w", weight, (2, 3), (4, 3), (0, 0), True, slice(0, 6))
    with pytest.raises(ValueError, match="'w' is a flattened part"):
        dist.save_state_dict({"w": flat}, str(tmp_path))


@pytest.mark.parametrize(
    ("shape", "whole", "offset", "text"),
    [
        ((5, 3), (10, 3), (0, 0), r"'w': expected a local_tensor of shape \[5, 3\], got \[4, 3\]"),
        ((4, 3), (8, 3), (6, 0), r"a part inside the whole, got shape \[4, 3\] at \[6, 0\] of \[8, 3\]"),
        ((4, 3), (8, 3), (-1, 0), r"a part inside the whole, got shape \[4, 3\] at \[-1, 0\] of \[8, 3\]"),
        ((4, 3), (12,), (0,), r"a part inside the whole, got shape \[4, 3\] at \[0\] of \[12\]"),
    ],
)
def test_a_part_in_a_wrong_place_is_not_written(tmp_path, shape, whole, offset, text):
    weight = dist.ShardedWeight("w", sampan.ones([4, 3]), shape, whole, offset)
    with pytest.raises(ValueError, match=f"save_state_dict: state_dict: .*{text}"):
        dist.save_state_dict({"w": weight}, str(tmp_path))
    assert not [*tmp_path.iterdir()]
