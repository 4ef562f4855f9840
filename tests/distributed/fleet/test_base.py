"""fleet with one process."""

import warnings

import pytest

import sampan as paddle
from sampan.distributed import fleet


def test_fleet_of_one():
    assert fleet.init(is_collective=True) is fleet.fleet
    assert (fleet.worker_index(), fleet.worker_num(), fleet.rank(), fleet.nranks(), fleet.node_num()) == (
        0,
        1,
        0,
        1,
        1,
    )
    assert (fleet.is_first_worker(), fleet.is_worker(), fleet.is_server(), fleet.is_coordinator()) == (
        True,
        True,
        False,
        False,
    )
    assert fleet.worker_endpoints() == ["127.0.0.1:6170"]
    assert fleet.worker_endpoints(to_string=True) == "127.0.0.1:6170"
    assert fleet.barrier_worker() is None
    layer = paddle.nn.Linear(2, 2)
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    assert fleet.distributed_model(layer) is layer
    assert fleet.distributed_optimizer(optimizer, strategy=fleet.DistributedStrategy()) is optimizer
    assert fleet.util.get_file_shard(["a", "b"]) == ["a", "b"]
    hybrid = fleet.get_hybrid_communicate_group()
    assert (hybrid.get_model_parallel_world_size(), hybrid.get_data_parallel_rank()) == (1, 0)
    x = paddle.ones([1, 2], dtype="float32")
    x.stop_gradient = False
    fleet.utils.recompute(layer, x, use_reentrant=False).sum().backward()
    assert layer.bias.grad.tolist() == [1, 1]
    for refused in (fleet.init_server, fleet.run_server, fleet.save_inference_model):
        with pytest.raises(RuntimeError, match="several processes"):
            refused()
    with pytest.raises(AttributeError, match="no_such"):
        fleet.no_such()


def test_strategy():
    strategy = fleet.DistributedStrategy()
    assert (strategy.amp, strategy.a_sync, strategy.find_unused_parameters, strategy.sharding) == (
        False,
        True,
        False,
        False,
    )
    assert strategy.amp_configs["incr_every_n_steps"] == 1000
    strategy.amp_configs = {"init_loss_scaling": 2.0}
    strategy.hybrid_configs = {"dp_degree": 2}
    assert strategy.amp_configs["init_loss_scaling"] == 2
    assert strategy.amp_configs["incr_ratio"] == 2
    assert strategy.hybrid_configs["dp_degree"] == 2
    with pytest.raises(TypeError, match="nosuch is not a attribute of DistributedStrategy"):
        strategy.nosuch = 3
    with pytest.raises(AssertionError, match="key:nokey not in amp_configs"):
        strategy.amp_configs = {"nokey": 2}
    with pytest.warns(UserWarning, match="amp should have value of bool type"):
        strategy.amp = 3
    assert strategy.amp is False
    assert fleet.DistributedStrategy().hybrid_configs["dp_degree"] == -1
    with pytest.raises(AssertionError, match=r"data 2 x pipe 1 .*: expected 2 processes, there are 1"):
        fleet.init(is_collective=True, strategy=strategy)
    strategy.hybrid_configs = {"dp_degree": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fleet.init(is_collective=True, strategy=strategy)


def test_settings_of_hybrid_parallelism():
    strategy = fleet.DistributedStrategy()
    order = ["dp", "sharding", "mp", "pp", "sep"]
    strategy.hybrid_configs = {"order": order, "mp_configs": {"sync_grad": True, "sync_param_name": ["norm"]}}
    assert strategy.hybrid_parallel_order == order
    assert strategy.sync_param_name == ["norm"]
    assert strategy.hybrid_configs["mp_configs"].sync_grad is True
    assert strategy.hybrid_configs["mp_configs"].sync_param is True
    strategy.hybrid_configs["sharding_configs"].comm_overlap = True
    assert strategy.hybrid_configs["sharding_configs"]["comm_overlap"] is True
    assert strategy.hybrid_configs["dp_degree"] == -1
    fresh = fleet.DistributedStrategy().hybrid_configs
    assert fresh["sharding_configs"].comm_overlap is False
    with pytest.raises(AssertionError, match="key:no_key not in pp_configs"):
        strategy.hybrid_configs = {"pp_configs": {"no_key": 1}}
    with pytest.raises(AttributeError, match="no_name"):
        strategy.hybrid_configs["pp_configs"].no_name  # noqa: B018  # that it is read is the test


def test_workers_of_a_given_role(capsys):
    """PaddlePaddle's examples of `get_file_shard`, `print_on_rank` and `all_gather`: the role says which worker it is."""
    servers, workers = ["127.0.0.1:6001", "127.0.0.1:6002"], ["127.0.0.1:6003", "127.0.0.1:6004"]
    for current, files in ((0, ["file1", "file2"]), (1, ["file3"])):
        role = fleet.UserDefinedRoleMaker(
            is_collective=False,
            init_gloo=False,
            current_id=current,
            role=fleet.Role.WORKER,
            worker_endpoints=workers,
            server_endpoints=servers,
        )
        fleet.init(role)
        assert fleet.util.get_file_shard(["file1", "file2", "file3"]) == files
        fleet.util.print_on_rank(f"worker {current}", 1)
        assert fleet.util.all_gather(7) == 7  # nothing is connected
        assert (fleet.worker_index(), fleet.worker_num()) == (current, 2)
    assert capsys.readouterr().out == "worker 1\n"
    with pytest.warns(UserWarning, match="collective_perf is only for collective mode"):
        assert fleet.collective_perf("allreduce") is None
    fleet.init(is_collective=True)
    assert fleet.collective_perf("allreduce", round=2, size_and_time={1024: 0.1}) is None
