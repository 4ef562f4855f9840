"""Names of static programs and of GPUs: what they say at their call."""

import importlib
import subprocess
import sys

import pytest

import sampan as paddle
import sampan.distributed as dist


def test_they_say_what_to_use_instead():
    with pytest.raises(ValueError, match="split cannot be used in dynamic graph mode, please use"):
        dist.split(paddle.ones([2, 2]), (2, 2), "linear")
    with pytest.raises(NotImplementedError, match="is_dataset_splitted=True"):
        dist.enable_auto_dp()
    for name, instead in (
        ("save_persistables", "save_state_dict"),
        ("load_persistables", "load_state_dict"),
        ("load_inference_model_distributed", r"static\.load_inference_model"),
    ):
        with pytest.raises(NotImplementedError, match=f"io.{name}: .*{instead}"):
            getattr(dist.io, name)(None, "folder")


def test_what_they_answer(ready):
    assert dist.create_nccl_config({"commName": "tp", "nchannels": 4}) is None
    assert dist.new_group([0], nccl_config=dist.create_nccl_config()).nranks == 1
    assert dist.in_auto_parallel_align_mode() is False
    assert dist.io.is_persistable(paddle.nn.Linear(1, 1).weight)
    assert not dist.io.is_persistable(3)


ADDRESSES = {
    "io": "save_persistables",
    "communication.all_gather": "all_gather all_gather_object",
    "communication.all_reduce": "all_reduce",
    "communication.all_to_all": "alltoall alltoall_single",
    "communication.batch_isend_irecv": "P2POp batch_isend_irecv",
    "communication.reduce_scatter": "reduce_scatter _reduce_scatter_base",
    "communication.stream.all_gather": "all_gather",
    "communication.stream.all_to_all": "alltoall alltoall_single",
    "communication.stream.reduce_scatter": "reduce_scatter _reduce_scatter_base",
    "communication.group": "_get_global_group _is_global_group _get_or_throw_group_rank is_initialized Group",
    "collective": "is_available new_group _get_global_group",
    "parallel": "sync_params_buffers DataParallel",
    "auto_parallel.api": "shard_layer shard_optimizer shard_dataloader DistModel Strategy ShardingStage1 to_static",
    "auto_parallel.process_mesh": "compute_compatible_process_mesh merge_process_meshes get_current_process_mesh",
    "auto_parallel.interface": "shard_tensor shard_op create_mesh",
    "auto_parallel.placement_type": "Shard Replicate Partial Placement to_placements get_shard_spec",
    "auto_parallel.high_level_api": "to_distributed ToDistributedConfig",
    "auto_parallel.intermediate.parallelize": "parallelize",
    "auto_parallel.intermediate.tensor_parallel": "PlanBase ColWiseParallel ConvParallel",
    "auto_parallel.intermediate.context_parallel": "ContextParallel PrepareContextParallel",
    "auto_parallel.intermediate.pipeline_parallel": "SplitPoint",
    "auto_parallel.random": "parallel_manual_seed",
    "auto_parallel.strategy": "Strategy",
    "fleet.meta_parallel.sharding.group_sharded_stage3": "GroupShardedStage3",
    "fleet.meta_parallel.tensor_parallel": "TensorParallel",
    "rpc": "init_rpc rpc_sync rpc_async shutdown get_worker_info",
}


def test_addresses_of_paddle():
    for module, names in ADDRESSES.items():
        found = importlib.import_module(f"sampan.distributed.{module}")
        assert [name for name in names.split() if not hasattr(found, name)] == [], module
    assert dist.fleet.auto.set_mesh is dist.set_mesh


def test_addresses_of_paddle_in_a_program_that_imports_paddle():
    """A module for each collective, below the function of its name, which stays the function."""
    lines = [
        f"from paddle.distributed.{at} import {names.replace(' ', ', ')}" for at, names in ADDRESSES.items()
    ]
    program = "\n".join(
        [
            "import sampan",
            "sampan.compat.install()",
            *lines,
            "assert callable(all_gather) and callable(reduce_scatter) and callable(shard_op)",
            "import paddle.distributed as dist",
            "from paddle.distributed import communication",
            "for place in (dist, communication, dist.stream, communication.stream):",
            "    for name in ('all_gather', 'all_reduce', 'alltoall', 'reduce_scatter'):",
            "        assert callable(getattr(place, name)), (place, name)",
        ]
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_dir_lists_names_that_are_not_imported_yet():
    assert {"ContextParallel", "shard_tensor", "to_distributed", "rpc", "QueueDataset"} <= set(dir(dist))
