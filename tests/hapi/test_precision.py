"""Mixed precision of a Model, and its settings."""

import numpy as np
import pytest

import sampan as paddle
from sampan import nn


@pytest.mark.parametrize("configs", ["O1", {"level": "O2", "dtype": "bfloat16"}, {"init_loss_scaling": 64.0}])
def test_mixed_precision(configs):
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, (64, 1))
    data = paddle.io.TensorDataset(
        [(np.eye(3)[labels[:, 0]] + 0.1 * random.normal(size=(64, 3))).astype("float32"), labels]
    )
    paddle.seed(0)
    net = nn.Linear(3, 3)
    model = paddle.Model(net)
    optimizer = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss(), paddle.metric.Accuracy(), configs)
    model.fit(data, batch_size=16, epochs=8, verbose=0)
    assert model.evaluate(data, batch_size=16, verbose=0)["acc"] > 0.95
    assert (net.weight.dtype == paddle.bfloat16) == (
        isinstance(configs, dict) and configs.get("level") == "O2"
    )
    model.prepare(optimizer, nn.CrossEntropyLoss(), amp_configs="O0")
    assert model._precision is None


def test_mixed_precisions_settings_are_checked():
    model = paddle.Model(nn.Linear(1, 1))
    for bad in ("O5", {"level": "O7"}, {"use_pure_fp16": True}):
        with pytest.raises(ValueError, match="amp_configs"):
            model.prepare(amp_configs=bad)
