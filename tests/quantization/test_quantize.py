"""PTQ and QAT beside PaddlePaddle, files, and bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn, quantization
from sampan.quantization import observers, quanters
from tests.quantization.paddle_program import ANSWERS, answers, inputs, network

ABSMAX, BY_CHANNEL = observers.AbsmaxObserver, observers.AbsMaxChannelWiseWeightObserver


def test_every_answer_is_paddles() -> None:
    expected, found = json.loads(ANSWERS.read_text()), answers(paddle)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if name in ("layers", "state", "whole", "llm", "converted"):
            assert found[name] == value, name
        else:
            np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-6, err_msg=name)


def calibrated(net: Any, activation: Any, weight: Any, samples: Any) -> Any:
    ptq = quantization.PTQ(quantization.QuantConfig(activation, weight))
    model = ptq.quantize(net)
    for x in samples:
        model(x)
    return ptq.convert(model)


def test_a_scale_for_each_channel_keeps_small_channels_exact() -> None:
    net, samples = network(paddle), inputs(paddle)
    net.eval()
    net.conv.weight.data[1] *= 20  # one scale for all leaves the other channels few steps
    expected = net.conv(samples[0]).numpy()[:, [0, 2]]
    errors = []
    for weight in (ABSMAX(), BY_CHANNEL()):
        made = calibrated(net, ABSMAX(), weight, samples)
        found = made.conv(samples[0]).numpy()[:, [0, 2]]
        errors.append(np.abs(found - expected).max() / np.abs(expected).max())
    assert errors[1] < 0.02 and errors[0] > 3 * errors[1]


def test_a_file_holds_int8_and_answers_alike(tmp_path: Path) -> None:
    net, samples = network(paddle), inputs(paddle)
    made = calibrated(net, ABSMAX(), BY_CHANNEL(), samples)
    made.eval()
    paddle.jit.save(made, tmp_path / "net", [paddle.static.InputSpec([None, 2, 4, 4])])
    loaded = paddle.jit.load(tmp_path / "net")
    np.testing.assert_allclose(loaded(samples[1]).numpy(), made(samples[1]).numpy(), rtol=1e-6)
    assert {"int8_conv2d", "int8_linear"} <= {call.name for call in loaded.program().calls}
    state = made.state_dict()
    assert state["conv.weight"].dtype == paddle.int8 and state["linear.weight"].dtype == paddle.int8
    other = calibrated(net, ABSMAX(), BY_CHANNEL(), samples[:1])
    other.set_state_dict(state)
    np.testing.assert_array_equal(other(samples[2]).numpy(), made(samples[2]).numpy())


def test_training_with_quanters_wins_back_what_rounding_costs() -> None:
    paddle.seed(3)
    x = paddle.randn([256, 8])
    target = (x.matmul(paddle.randn([8, 4])) > 0).astype("float32")
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def train(model: Any, steps: int) -> float:
        adam = paddle.optimizer.Adam(0.02, parameters=model.parameters())
        for _ in range(steps):
            loss = nn.functional.binary_cross_entropy_with_logits(model(x), target)
            loss.backward()
            adam.step()
            adam.clear_grad()
        return float(nn.functional.binary_cross_entropy_with_logits(model(x), target))

    train(net, 80)
    by_channel = quanters.FakeQuanterChannelWiseAbsMaxObserver(3)
    config = quantization.QuantConfig(quanters.FakeQuanterWithAbsMaxObserver(bit_length=8), by_channel)
    qat = quantization.QAT(config)
    model = qat.quantize(net)
    before = train(model, 1)
    after = train(model, 60)
    assert after < 0.8 * before
    model.eval()
    converted = qat.convert(model)
    assert converted[0].weight.dtype == paddle.int8 and int(converted[0].weight.data.abs().max()) == 3
    np.testing.assert_allclose(converted(x).numpy(), model(x).numpy(), atol=0.3)


@pytest.mark.parametrize(
    ("sample", "message"),
    [(None, "convert: conv: .*no sample was observed"), (float("nan"), "convert: conv: .*NaN")],
    ids=["no sample", "NaN"],
)
def test_calibration_without_a_usable_sample_is_an_error(sample: Any, message: str) -> None:
    net = network(paddle)
    samples = [] if sample is None else [paddle.full([1, 2, 4, 4], sample)]
    with pytest.raises(ValueError, match=message):
        calibrated(net, ABSMAX(), ABSMAX(), samples)
