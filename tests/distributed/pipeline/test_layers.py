"""A network as a list of layers, and where it is cut."""

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.distributed.pipeline import LayerDesc, PipelineLayer, SegmentLayers, SharedLayerDesc
from tests.distributed.pipeline import programs

LINEAR, RELU = LayerDesc(nn.Linear, 2, 2), nn.ReLU()
LAYERS = [LINEAR, RELU, LINEAR, nn.functional.relu, LINEAR, RELU, LINEAR]


@pytest.mark.parametrize(
    ("count", "method", "stages", "expected"),
    [
        (7, "uniform", 2, [0, 3, 7]),
        (7, "uniform", 3, [0, 2, 4, 7]),
        (7, "uniform", 5, [0, 1, 2, 3, 5, 7]),
        (7, "layer:Linear", 2, [0, 3, 7]),
        (7, "layer:linear", 4, [0, 1, 3, 5, 7]),
        (7, [0, 1], 2, [0, 1, 7]),
        (7, [0, 1, 7], 2, [0, 1, 7]),
        (6, "layer:ReLU", 3, [0, 2, 4, 6]),
    ],
)
def test_cuts(count, method, stages, expected):
    assert SegmentLayers(LAYERS[:count], stages, method).do_segment() == expected


@pytest.mark.parametrize(
    ("method", "stages", "text"),
    [
        ("uniform", 8, "expected at least as many layers as stages, 8, got 7"),
        ("layer:Linear", 3, "expected a multiple of 3, .* named 'Linear'; got 4 of 7"),
        ("layer:Conv", 2, "got 0 of 7"),
        ("best", 2, "expected uniform, layer:Name or a list, got 'best'"),
        ([1, 2, 7], 2, r"expected 2 rising numbers from 0 on"),
        ([0, 5, 3, 7], 3, r"got \[0, 5, 3, 7\]"),
        ([0, 1, 2], 2, "the number of layers, 7"),
    ],
)
def test_cuts_that_are_impossible(method, stages, text):
    with pytest.raises(ValueError, match=text):
        SegmentLayers(LAYERS, stages, method).do_segment()


def test_descriptions():
    described = LayerDesc(nn.Linear, 2, 3, bias_attr=False)
    assert repr(described) == "Linear(2, 3, bias_attr=False)"
    assert described.build_layer().weight.shape == [2, 3]
    with pytest.raises(TypeError, match="expected a class of layers, got"):
        LayerDesc(nn.functional.relu)
    shared = SharedLayerDesc("key", nn.Linear, None, ["weight", "bias"], 2, 3)
    assert (shared.layer_name, shared.shared_weight_attr) == ("key", ["weight", "bias"])
    with pytest.raises(ValueError, match="shared_weight_attr: expected names, got 3"):
        SharedLayerDesc("key", nn.Linear, None, 3)


def test_one_stage_has_all_layers():
    before = paddle.get_rng_state()
    model = PipelineLayer(LAYERS, 1, loss_fn=nn.MSELoss())
    assert [*model.state_dict()] == [f"{n}.{kind}" for n in (0, 2, 4, 6) for kind in ("weight", "bias")]
    assert [model.get_stage_from_index(n) for n in range(7)] == [0] * 7
    assert model.get_num_virtual_stages() == 1
    assert model.get_model_chunks() is None
    assert model(paddle.ones([3, 2])).shape == [3, 2]
    paddle.seed(1234 + 4)
    np.testing.assert_array_equal(nn.Linear(2, 2).weight.numpy(), model.state_dict()["4.weight"].numpy())
    paddle.set_rng_state(before)
    with pytest.raises(ValueError, match="layer_idx: expected 0 to 6, got 7"):
        model.get_stage_from_index(7)


def test_shared_layers_are_one():
    model = programs.made("tied", 1)
    assert next(iter(model.state_dict())) == "shared_layers.embed.weight"
    assert len(model.parameters()) == 5
    x, _ = next(programs.batches("tied", 1, 1))
    np.testing.assert_array_equal(model(x).numpy(), programs.made("tied")(x).numpy())


def test_several_stages_in_one_process(tmp_path):
    model = PipelineLayer(LAYERS, 1, seg_method="layer:Linear", num_virtual_pipeline_stages=2)
    assert [*model.state_dict()][::2] == ["0.0.weight", "0.2.weight", "3.1.weight", "3.3.weight"]
    first, second = model.get_model_chunks()
    assert (len(first), len(second)) == (3, 4)
    x = paddle.randn([3, 2])
    whole = PipelineLayer(LAYERS, 1)
    for parameter in whole.parameters():
        parameter.set_value(paddle.randn(parameter.shape))
    whole.save_state_dict(str(tmp_path / "w"))
    assert sorted(f.name for f in (tmp_path / "w").iterdir())[:2] == [
        "layer_00-model_states.pdparams",
        "layer_01-model_states.pdparams",
    ]
    model.set_state_dir(str(tmp_path / "w"))
    np.testing.assert_array_equal(model(model(x), chunk_id=1).numpy(), whole(x).numpy())
    (tmp_path / "w" / "layer_02-model_states.pdparams").unlink()
    with pytest.raises(ValueError, match=r"expected the file layer_02-model_states\.pdparams in it"):
        model.set_state_dir(str(tmp_path / "w"))


def test_layers_run_again_in_the_backward_pass():
    plain, again = PipelineLayer(LAYERS, 1), PipelineLayer(LAYERS, 1, recompute_interval=2)
    x = paddle.randn([3, 2])
    x.stop_gradient = False
    gradients = []
    for model in (plain, again):
        model(x).sum().backward()
        gradients.append([p.grad.numpy() for p in model.parameters()])
    for ours, theirs in zip(*gradients, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "should provide num_stages or topology"),
        ({"num_stages": 2}, "num_stages: expected a divisor of 1, the number of processes, got 2"),
        ({"num_stages": 1, "num_virtual_pipeline_stages": 2}, "expected layer:Name with several stages"),
        ({"num_stages": 1, "use_dualpipev": True}, "use_dualpipev: expected False"),
    ],
)
def test_wrong_settings(settings, text):
    with pytest.raises(ValueError, match=text):
        PipelineLayer(LAYERS, **settings)
