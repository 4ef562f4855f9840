"""The keyword network: padding and loudness change nothing, gradients reach every parameter, errors."""

import numpy as np
import pytest

import sampan as paddle
from sampan.speech import AudioClassifier
from sampan.speech.nn import KeywordEncoder


def test_padding_and_loudness_change_nothing() -> None:
    paddle.seed(0)
    network = KeywordEncoder(12, channels=8)
    network(paddle.randn([4, 30, 12]))  # gives the norms other statistics than 0 and 1
    network.eval()
    x = paddle.randn([2, 25, 12]) * 0.5
    batch = paddle.concat([x, paddle.ones([2, 9, 12]) * 7], 1)
    found, ones = network(batch, paddle.to_tensor([25, 18]))
    assert found.shape == [2, 1, 16] and ones.tolist() == [1, 1]
    for row, size in enumerate((25, 18)):
        alone, _ = network(x[row : row + 1, :size])
        np.testing.assert_allclose(found[row].numpy(), alone[0].numpy(), atol=1e-5)
    louder, _ = network(x + 0.4)
    np.testing.assert_allclose(louder.numpy(), network(x)[0].numpy(), atol=1e-5)


def test_one_step_of_training_reaches_every_parameter() -> None:
    config = {"model_type": "keyword", "vocab_size": 3, "encoder": {"input_size": 12, "channels": 8}}
    model = AudioClassifier.from_config(config)
    labels, counts = np.array([[1], [0]]), np.array([1, 0])
    model.model.loss(paddle.randn([2, 20, 12]), np.array([20, 11]), labels, counts).backward()
    assert all(float(p.grad.abs().sum()) > 0 for p in model.parameters() if not p.stop_gradient)


def test_ctc_of_one_frame_is_cross_entropy() -> None:
    """Token 0 stands for no label: a recording without labels is one of class 0."""
    model = AudioClassifier.from_config(
        {"model_type": "keyword", "vocab_size": 4, "encoder": {"input_size": 12}}
    )
    model.eval()
    x, lengths = paddle.randn([3, 20, 12]), np.array([20, 20, 20])
    by_ctc = model.model.loss(x, lengths, np.array([[2], [0], [3]]), np.array([1, 0, 1]))
    logits = model(input_features=x).logits.squeeze(1)
    expected = paddle.nn.functional.cross_entropy(logits, paddle.to_tensor([2, 0, 3]))
    assert float(by_ctc) == pytest.approx(float(expected), abs=1e-5)


def test_errors() -> None:
    with pytest.raises(ValueError, match="kernel_size: expected an odd number, got 4"):
        KeywordEncoder(kernel_size=4)
    with pytest.raises(ValueError, match="features: expected at least one frame in each recording, got none"):
        KeywordEncoder(12)(paddle.zeros([1, 5, 12]), np.array([0]))
