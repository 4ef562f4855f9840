"""parallelize, against the program of one process."""

import warnings

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
from tests.distributed.auto_parallel import programs
from tests.distributed.auto_parallel.test_optimizer import alone, close

pytestmark = pytest.mark.servers


def test_a_language_model_with_a_table_cut_by_rows(workers):
    results = workers(2)(programs.planned_training, 2, 0)
    close(alone("language", "AdamW"), results)
    assert results[0][2] == "[Replicate(), Shard(dim=0)]"


def test_two_by_two_processes_with_sharded_state(workers):
    close(alone("language", "AdamW", 6), workers(4)(programs.planned_training, 4, 1, 6))


def test_a_layer_on_parts_of_sequences(workers):
    for plain, parts, prepared in workers(2)(programs.sequence_plan):
        for value, gradient in (parts, prepared):
            assert np.allclose(value, plain[0], atol=1e-6) and np.allclose(gradient, plain[1], atol=1e-5)


def test_what_parallelize_refuses():
    net, mesh = sampan.nn.Linear(2, 2), dist.ProcessMesh([[0]], dim_names=["dp", "mp"])
    with pytest.warns(UserWarning, match="will do nothing"):
        assert dist.parallelize(net) == (net, None)
    with pytest.raises(TypeError, match="expected a dictionary, got list"):
        dist.parallelize(net, None, mesh, [])
    with pytest.raises(
        ValueError, match="expected mp_config, dp_config or cp_config, got 'pp_config': make the pipeline of"
    ):
        dist.parallelize(net, None, mesh, {"pp_config": {}})
    plan = {"mp_config": {"parallelize_plan": {"absent": dist.ColWiseParallel()}}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # ends the call before it connects this process to itself
        with pytest.raises(UserWarning, match="no layer or parameter has the name 'absent'"):
            dist.parallelize(net, None, mesh, plan)
    with pytest.raises(TypeError, match="PrepareLayerInput: fn: expected a function, got None"):
        dist.PrepareLayerInput()
