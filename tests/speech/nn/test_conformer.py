"""The Conformer against the same network in torch (`tests/speech/reference.py`), and streams against chunks."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan as paddle
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.speech.nn import ConformerEncoder, ConvolutionModule, EncoderStream
from tests.speech.reference import conformer, state_of

pytestmark = pytest.mark.usefixtures("one_thread")  # small networks


def encoder(dtype="float32", **settings):
    paddle.seed(0)
    paddle.set_default_dtype(dtype)
    try:
        made = ConformerEncoder(9, 8, 2, 2, 12, kernel_size=5, **settings)
    finally:
        paddle.set_default_dtype("float32")
    rng = np.random.default_rng(0)
    for name, value in made.state_dict().items():  # norms and biases begin as 1 and 0
        low = 0.5 if "_variance" in name or name.endswith("norm.weight") else -0.5
        value.set_value(rng.uniform(low, low + 1, value.shape).astype(dtype))
    return made


@pytest.mark.parametrize(("causal", "norm"), [(False, "batch"), (True, "layer"), (True, "batch")])
@pytest.mark.parametrize(("chunk", "left"), [(None, -1), (2, -1), (3, 1), (1, 0), (50, 2)])
def test_values_equal_torch(causal, norm, chunk, left):
    made = encoder(causal=causal, norm=norm).eval()
    x = np.random.default_rng(1).normal(size=(3, 43, 9)).astype("float32")
    lengths = [43, 30, 9]
    found, ends = made(paddle.to_tensor(x), lengths, chunk, left)
    state = {name: value.double() for name, value in state_of(made).items()}
    expected, frames = conformer(state, torch.from_numpy(x).double(), lengths, 2, causal, norm, chunk, left)
    assert ends.tolist() == frames
    for row, end in enumerate(frames):
        np.testing.assert_allclose(found.numpy()[row, :end], expected[row, :end].numpy(), atol=1e-5)
    assert np.isfinite(found.numpy()).all()


def test_gradients_equal_torch():
    made = encoder("float64", norm="layer", dropout=0.0)
    x = paddle.randn([2, 31, 9], "float64")
    x.stop_gradient = False
    found, _ = made(x, [31, 20], 2, 1)
    state = {name: value.requires_grad_() for name, value in state_of(made).items()}
    theirs = x.data.clone().requires_grad_()
    expected, ends = conformer(state, theirs, [31, 20], 2, False, "layer", 2, 1)
    (found[0].square().sum() + found[1, : ends[1]].square().sum()).backward()
    (expected[0].square().sum() + expected[1, : ends[1]].square().sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), theirs.grad.numpy(), atol=1e-9)
    for name, parameter in made.named_parameters():
        np.testing.assert_allclose(parameter.grad.numpy(), state[name].grad.numpy(), atol=1e-8, err_msg=name)


def test_padding_changes_nothing():
    made = encoder().eval()
    x = paddle.randn([1, 43, 9])
    alone, _ = made(x[:, :30])
    noise = paddle.concat([x[:, :30], paddle.randn([1, 13, 9]) * 100], 1)
    padded, ends = made(paddle.concat([noise, x]), [30, 43])
    assert ends.tolist() == [6, 10]
    np.testing.assert_allclose(padded.numpy()[0, :6], alone.numpy()[0], atol=1e-5)


STREAMED = encoder(causal=True, norm="layer").eval()


@settings(max_examples=10)
@given(
    time=st.integers(0, 70),
    chunk=st.integers(1, 9),
    left=st.sampled_from([-1, 0, 1, 3]),
    sizes=st.lists(st.integers(0, 20), min_size=1, max_size=10).filter(any),
)
def test_a_stream_equals_the_whole_with_the_chunk_s_mask(time, chunk, left, sizes):
    x = np.random.default_rng(time).normal(size=(time, 9)).astype("float32")
    stream, made, at, turn = EncoderStream(STREAMED, chunk, left), [], 0, 0
    while at < time:
        size = sizes[turn % len(sizes)]
        made.append(stream.feed(x[at : at + size]).numpy())
        at, turn = at + size, turn + 1
    made.append(stream.finish().numpy())
    found = np.concatenate(made)
    if time < 7:
        assert found.shape == (0, 8)
        return
    whole, _ = STREAMED(paddle.to_tensor(x[None]), None, chunk, left)
    np.testing.assert_allclose(found, whole.numpy()[0], atol=2e-5)


def test_dynamic_chunks_are_drawn_in_training_alone():
    made = encoder(norm="layer", dropout=0.0, dynamic_chunk=True)
    x = paddle.randn([1, 203, 9])
    drawn = {made(x)[0].numpy().tobytes() for _ in range(8)}
    assert len(drawn) > 2
    assert np.array_equal(made(x, chunk=3)[0].numpy(), made(x, chunk=3)[0].numpy())
    made.eval()
    assert np.array_equal(made(x)[0].numpy(), made(x)[0].numpy())


def test_the_sizes_of_the_paper_s_small_network():
    """Gulati et al. 2020, table 1: 16 layers of width 144 with 4 heads and kernels of 32 (odd here: 31) frames."""
    made, d = ConformerEncoder(), 144
    feed = 2 * d + d * 4 * d + 4 * d + 4 * d * d + d
    attention = 4 * (d * d + d) + d * d + 2 * d
    convolution = (
        2 * d + d * 2 * d + 2 * d + 31 * d + d + 4 * d + d * d + d
    )  # the norm has running statistics
    block = 2 * feed + attention + convolution + 2 * 2 * d
    subsampling = 9 * d + d + 9 * d * d + d + 19 * d * d + d
    assert sum(p.size for p in made.state_dict().values()) == 16 * block + subsampling


def test_bad_input():
    made, x = encoder().eval(), paddle.zeros([1, 20, 9])
    with pytest.raises(InvalidType, match=r"ConformerEncoder: features: expected a Tensor of .*float32"):
        made(x.astype("float64"))
    with pytest.raises(InvalidArgument, match=r"chunk: expected 1 or more frames, or None, got 0"):
        made(x, chunk=0)
    with pytest.raises(InvalidArgument, match=r"num_layers: expected 1 or more, got 0"):
        ConformerEncoder(num_layers=0)
    with pytest.raises(InvalidArgument, match=r"kernel_size: expected an odd number of frames, got 4"):
        ConvolutionModule(8, 4, False, "batch", 0.0)
    with pytest.raises(InvalidArgument, match=r"norm: expected 'batch' or 'layer', got 'group'"):
        ConvolutionModule(8, 3, False, "group", 0.0)
    with pytest.raises(InvalidArgument, match=r"a stream needs causal convolutions"):
        EncoderStream(made, 2).feed(np.zeros((40, 9)))
