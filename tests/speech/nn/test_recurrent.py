"""The recurrent encoder against torch's LSTM and GRU, and streams against the whole."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.errors import InvalidArgument
from sampan.speech.nn import EncoderStream, RecurrentEncoder
from tests.speech.reference import layer_norm, part, state_of, subsampled

pytestmark = pytest.mark.usefixtures("one_thread")  # small networks


def torch_layers(state, kind, bidirectional):
    names = {
        "lstm": torch.nn.LSTM,
        "gru": torch.nn.GRU,
    }
    made = names[kind](6, 6, 2, batch_first=True, bidirectional=bidirectional)
    ours = {k: v for k, v in part(state, "rnn").items() if "_l" in k}
    made.load_state_dict(ours)
    return made


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_values_equal_torch(kind, bidirectional):
    paddle.seed(0)
    made = RecurrentEncoder(9, 6, 2, kind, bidirectional).eval()
    x = np.random.default_rng(1).normal(size=(3, 43, 9)).astype("float32")
    found, ends = made(paddle.to_tensor(x), [43, 30, 12])
    assert made.width == found.shape[2] == (12 if bidirectional else 6)
    assert ends.tolist() == [10, 6, 2]
    state = state_of(made)
    rnn = torch_layers(state, kind, bidirectional)
    for row, end in enumerate(ends.tolist()):  # each alone: padding is not seen
        frames = subsampled(part(state, "subsampling"), torch.from_numpy(x[row : row + 1]))[:, :end]
        with torch.no_grad():
            expected = layer_norm(part(state, "norm"), rnn(frames)[0])[0]
        np.testing.assert_allclose(found.numpy()[row, :end], expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_stream_equals_the_whole(kind):
    paddle.seed(0)
    made = RecurrentEncoder(9, 6, 2, kind, bidirectional=False).eval()
    x = np.random.default_rng(1).normal(size=(61, 9)).astype("float32")
    whole, _ = made(paddle.to_tensor(x[None]))
    for chunk, size in ((1, 1), (3, 5), (8, 61)):
        stream = EncoderStream(made, chunk)
        parts = [stream.feed(x[at : at + size]).numpy() for at in range(0, 61, size)]
        found = np.concatenate([*parts, stream.finish().numpy()])
        np.testing.assert_allclose(found, whole.numpy()[0], atol=1e-5)


def test_bad_input():
    with pytest.raises(InvalidArgument, match=r"RecurrentEncoder: kind: expected 'lstm' or 'gru', got 'rnn'"):
        RecurrentEncoder(kind="rnn")
    made = RecurrentEncoder(9, 6, 1).eval()
    with pytest.raises(InvalidArgument, match=r"a stream needs one direction"):
        EncoderStream(made, 1).feed(np.zeros((20, 9)))
    with pytest.raises(InvalidArgument, match=r"RecurrentEncoder: features: expected \[batch, time, 9\]"):
        made(paddle.zeros([1, 20, 8]))
