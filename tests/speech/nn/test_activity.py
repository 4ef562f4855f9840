"""The activity network beside torch's GRU, in pieces, and its errors."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.speech.nn import ActivityNet


def test_beside_torch() -> None:
    network = ActivityNet(10, 6)
    x = paddle.randn([3, 15, 10])
    state = {name: value.data for name, value in network.named_parameters()}
    gru = torch.nn.GRU(6, 6, batch_first=True)
    gru.load_state_dict({name.removeprefix("rnn."): v for name, v in state.items() if "rnn.weight" in name or "rnn.bias" in name})  # fmt: skip
    hidden = torch.relu(x.data @ state["entrance.weight"] + state["entrance.bias"])
    with torch.no_grad():
        expected = gru(hidden)[0] @ state["head.weight"] + state["head.bias"]
    found, states = network(x)
    np.testing.assert_allclose(found.numpy(), expected[..., 0].numpy(), atol=1e-5)
    assert states.shape == [1, 3, 6]


def test_pieces_and_causality() -> None:
    network = ActivityNet(8, 5)
    x = paddle.randn([1, 20, 8])
    whole, _ = network(x)
    first, states = network(x[:, :7])
    second, _ = network(x[:, 7:], states)
    np.testing.assert_allclose(paddle.concat([first, second], 1).numpy(), whole.numpy(), atol=1e-6)


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"features: expected \[batch, time, 8\], got \[1, 5, 7\]"):
        ActivityNet(8)(paddle.zeros([1, 5, 7]))
