"""The audio-visual network: padding, which branch is heard, shapes, errors."""

import numpy as np
import pytest

import sampan as paddle
from sampan.speech.nn import AudioVisualNet


@pytest.mark.parametrize("uses", [("sound",), ("mouth",), ("sound", "mouth")])
def test_padding_changes_nothing_and_only_the_named_branches_are_heard(uses) -> None:
    paddle.seed(0)
    network = AudioVisualNet(4, uses, 12, 8, 16, 1)
    network(paddle.randn([4, 40, 12]), paddle.randn([4, 10, 8, 8]))
    network.eval()
    sound, mouths = paddle.randn([2, 40, 12]) * 0.5, paddle.randn([2, 10, 8, 8])
    found = network(sound, mouths, paddle.to_tensor([10, 7]))
    assert found.shape == [2, 4]
    for row, size in enumerate((10, 7)):
        alone = network(sound[row : row + 1, : 4 * size], mouths[row : row + 1, :size])
        np.testing.assert_allclose(found[row].numpy(), alone[0].numpy(), atol=1e-5)
    other = {"sound": network(sound + 1, mouths), "mouth": network(sound, mouths + 1)}
    plain = network(sound, mouths).numpy()
    for branch, changed in other.items():
        assert (np.abs(changed.numpy() - plain).max() > 1e-4) == (branch in uses)


def test_errors() -> None:
    with pytest.raises(ValueError, match="uses: expected 'sound', 'mouth' or both, got "):
        AudioVisualNet(4, ("smell",))
    network = AudioVisualNet(4, size=8)
    with pytest.raises(ValueError, match="sound: expected 40 frames for 10 of the mouths, got 39"):
        network(paddle.zeros([1, 39, 40]), paddle.zeros([1, 10, 8, 8]))
    with pytest.raises(ValueError, match=r"mouths: expected \[batch, time, 8, 8\], got \[1, 10, 9, 9\]"):
        network(paddle.zeros([1, 40, 40]), paddle.zeros([1, 10, 9, 9]))
