"""The loop that small speech networks share: it learns, and returns what it says."""

import numpy as np

import sampan as paddle
from sampan.models.speech_small import mixed, padded, train_network


def test_a_line_is_learned() -> None:
    network = paddle.nn.Linear(3, 1)
    lines: list[str] = []

    def batches(rng):
        for _ in range(20):
            x = rng.standard_normal((16, 3)).astype(np.float32)
            yield [paddle.to_tensor(x)], [paddle.to_tensor(x @ np.float32([[1], [2], [-1]]))]

    losses = train_network(
        network, batches, paddle.nn.functional.mse_loss, 12, 20, 0.05, 0.0, report=lines.append
    )
    assert len(losses) == 12 and losses[-1] < 0.05 * losses[0]
    assert lines[0] == f"epoch 1: loss {losses[0]:.3f}" and not network.training
    np.testing.assert_allclose(network.weight.numpy().ravel(), [1, 2, -1], atol=0.15)


def test_padded_and_mixed() -> None:
    x, lengths = padded([np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)])
    assert x.shape == [2, 4, 3] and lengths.tolist() == [2, 4] and float(x.sum()) == 18
    sound, noise = np.ones(100, np.float32), np.tile(np.float32([1, -1]), 50)
    np.testing.assert_allclose(mixed(sound, noise, 20) - sound, 0.1 * noise, atol=1e-6)
