"""Networks in stages against one process with the whole network."""

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.distributed.pipeline import (
    NoPipelineParallel,
    PipelineLayer,
    PipelineParallelMicroStepLocations,
    register_global_pipeline_parallel_hook,
)
from sampan.distributed.pipeline import parallel as module
from tests.distributed.pipeline import programs


@pytest.mark.servers
@pytest.mark.parametrize(
    ("name", "micros", "mode"),
    [
        ("mlp", 4, "1F1B"),
        ("mlp", 3, "F-then-B"),
        ("mlp", 1, "1F1B"),
        ("containers", 4, "1F1B"),
        ("batch_norm", 3, "1F1B"),
        ("tied", 4, "1F1B"),
        ("rows", 4, "1F1B"),
    ],
)
def test_losses_and_gradients_are_those_of_one_process(workers, name, micros, mode):
    first, second = workers(2)(programs.trains, name, micros, mode)
    for losses, difference, *_ in (first, second):
        assert losses == first[0]
        assert difference < 1e-12
    assert losses[-1] < losses[0]
    assert ("RowSparse" in first[2]) == (name in ("rows", "tied"))
    assert first[3] == second[3]


@pytest.mark.servers
@pytest.mark.parametrize(("name", "micros"), [("mlp", 4), ("tied", 3)])
def test_interleaved_stages_are_as_one_process(workers, name, micros):
    for losses, difference, *_ in workers(2)(programs.interleaved, name, micros):
        assert losses[-1] < losses[0]
        assert difference < 1e-12


@pytest.mark.servers
def test_a_scaler_skips_a_step_in_all_stages_where_one_overflows(workers):
    steps = [(True, 1024.0, 1024.0, True), (False, 512.0, 512.0, True), (True, 512.0, 512.0, True)]
    assert workers(2)(programs.scaled) == [(steps, 0.5 * 0.5**3)] * 2


@pytest.mark.servers
def test_several_losses(workers):
    for rank, (found, expected, stepped) in enumerate(workers(2)(programs.two_losses)):
        for both, apart, factor in found:
            np.testing.assert_allclose(both, expected, rtol=1e-12)
            assert [len(parts) for parts in apart] == [2, 2]
            if rank == 1:
                assert factor == pytest.approx(stepped, rel=1e-12)


@pytest.mark.servers
def test_random_numbers_are_the_same_when_layers_run_again(workers):
    assert workers(2)(programs.random_words) == [0.0, 0.0]


@pytest.mark.servers
@pytest.mark.parametrize(
    ("count", "pipelines", "name"), [(4, 2, "tied"), (4, 2, "rows"), (4, 1, "mlp"), (2, 2, "mlp")]
)
def test_several_pipelines_by_fleets_names(workers, count, pipelines, name):
    for losses, difference in workers(count)(programs.hybrid, name, 4, pipelines):
        assert losses[-1] < losses[0]
        assert difference < 1e-12


@pytest.mark.servers
@pytest.mark.parametrize("virtual", [1, 2])
def test_stages_of_two_processes_each(workers, virtual):
    """mp_degree 2 and pp_degree 2 beside one process, with clipping by the global norm."""
    for losses, difference, parts in workers(4)(programs.tensor_and_pipeline, 4, 5, virtual):
        assert losses[-1] < losses[0]
        assert difference < 1e-12
        assert parts < 1e-12


# PaddlePaddle 3.3.1 on a CPU, one process and stage (its gloo does not send what its pipelines send): the losses of four
# steps, and of an evaluation after them.
OF_PADDLE = [
    1.158426284790039,
    1.1548137664794922,
    1.1495198011398315,
    1.1442434787750244,
    1.1384772062301636,
]


@pytest.mark.servers
def test_losses_are_paddles(workers):
    for losses in workers(2)(programs.of_paddle):
        np.testing.assert_allclose(losses, OF_PADDLE, rtol=1e-6)


# --- one process ---


def test_losses_are_paddles_in_one_process():
    np.testing.assert_allclose(programs.of_paddle(), OF_PADDLE, rtol=1e-6)


def test_one_stage_in_one_process():
    model, whole = programs.made("mlp", 1), programs.made("mlp")
    pipeline = NoPipelineParallel(model, programs.strategy(3, 4))
    optimizers = [paddle.optimizer.Adam(0.05, parameters=each.parameters()) for each in (model, whole)]
    for x, y in programs.batches("mlp", 3, 3):
        loss = pipeline.train_batch((x, y), optimizers[0])
        assert float(loss) == pytest.approx(programs.alone(whole, optimizers[1], x, y, 3), rel=1e-12)
        optimizers[1].step()
        optimizers[1].clear_grad()
        assert programs.apart(model, whole) < 1e-12
    assert pipeline.is_pipeline_first_stage()
    assert pipeline.is_pipeline_last_stage()
    assert pipeline.report().formula == 0
    assert pipeline(x).shape == [12, 3]


@pytest.mark.parametrize(
    ("chunks", "mode", "expected"),
    [
        (1, "1F1B", "f0;b0;f1;b1;"),
        (1, "F-then-B", "f0;f1;b0;b1;"),
        (2, "1F1B", "f0_vp0;f0_vp1;b0_vp1;f1_vp0;b0_vp0;f1_vp1;b1_vp1;b1_vp0;"),
    ],
)
def test_the_schedule_as_text(chunks, mode, expected):
    layers = [nn.Linear(2, 2), nn.Linear(2, 2)]
    model = PipelineLayer(
        layers, 1, loss_fn=nn.MSELoss(), seg_method="layer:Linear", num_virtual_pipeline_stages=chunks
    )
    pipeline = NoPipelineParallel(model, programs.strategy(2, 1, mode))
    assert pipeline.get_static_scheduler() == expected
    assert pipeline.forward_backward_pipeline(None, static_scheduler=True) == expected
    x = paddle.ones([2, 2])
    assert float(pipeline.forward_backward_pipeline((x, x))) > 0


def test_hooks(monkeypatch):
    kinds = PipelineParallelMicroStepLocations
    monkeypatch.setattr(module, "_hooks", {kind: [] for kind in kinds})
    seen = []
    for kind in kinds:
        register_global_pipeline_parallel_hook(
            kind, lambda kind=kind, **told: seen.append((kind.value, told["step_id"], {*told} - {"step_id"}))
        )
    pipeline = NoPipelineParallel(
        PipelineLayer([nn.Linear(2, 2)], 1, loss_fn=nn.MSELoss()), programs.strategy(1, 2)
    )
    pipeline.forward_backward_pipeline((paddle.ones([2, 2]), paddle.ones([2, 2])))
    assert seen == [
        ("forward_begin", 0, {"input_tensor"}),
        ("forward_end", 0, {"input_tensor", "output_tensor"}),
        ("backward_begin", 0, {"output_tensor", "output_tensor_grad"}),
        ("backward_end", 0, {"input_tensor_grad", "output_tensor_grad"}),
    ]
    with pytest.raises(ValueError, match="location: expected one of"):
        register_global_pipeline_parallel_hook("forward", print)


def test_wrong_calls():
    layer = PipelineLayer([nn.Linear(2, 2)], 1)
    pipeline = NoPipelineParallel(layer, programs.strategy(1, 2))
    data = (paddle.ones([2, 2]), paddle.ones([2, 2]))
    with pytest.raises(AssertionError, match="loss function 0 should exist to compute loss"):
        pipeline.train_batch(data, None)
    with pytest.raises(AssertionError, match="expected gradients to be enabled"), paddle.no_grad():
        pipeline.train_batch(data, None)
    with pytest.raises(RuntimeError, match="call train_batch or eval_batch first"):
        pipeline.report()
    with pytest.raises(TypeError, match="layers: expected a PipelineLayer, got Linear"):
        NoPipelineParallel(nn.Linear(2, 2), programs.strategy(1, 2))
    layer._loss_fn = [lambda out, y: 3]
    with pytest.raises(TypeError, match="expected it to return a Tensor, got int"):
        pipeline.train_batch(data, None)
