"""Streams of an encoder: what is refused, reset, and memory that does not grow."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.errors import InvalidArgument
from sampan.speech.nn import ConformerEncoder, EncoderStream

pytestmark = pytest.mark.usefixtures("one_thread")  # small networks


@pytest.fixture(scope="module")
def encoder():
    paddle.seed(0)
    return ConformerEncoder(8, 4, 2, 1, kernel_size=3, causal=True, norm="layer").eval()


def test_bad_input(encoder):
    stream = EncoderStream(encoder, 2, 1)
    with pytest.raises(InvalidArgument, match=r"features: expected \[time, 8\], got \[3, 7\]"):
        stream.feed(np.zeros((3, 7)))
    with pytest.raises(InvalidArgument, match=r"features: expected \[time, 8\], got \[8\]"):
        stream.feed(np.zeros(8))
    with pytest.raises(InvalidArgument, match=r"expected finite numbers, got NaN or infinity"):
        stream.feed(np.full((3, 8), np.nan))
    with pytest.raises(InvalidArgument, match=r"chunk: expected 1 or more frames"):
        EncoderStream(encoder, 0)
    stream.finish()
    with pytest.raises(InvalidArgument, match=r"this stream is finished: call reset\(\) for the next one"):
        stream.feed(np.zeros((3, 8)))
    with pytest.raises(InvalidArgument, match=r"encoder: expected eval mode, got training mode"):
        EncoderStream(ConformerEncoder(8, 4, 1, 1, causal=True))


def test_a_refused_piece_leaves_the_stream_as_it_was(encoder):
    x = np.random.default_rng(0).normal(size=(40, 8)).astype("float32")
    one, other = EncoderStream(encoder, 2, 1), EncoderStream(encoder, 2, 1)
    one.feed(x[:13])
    other.feed(x[:13])
    with pytest.raises(InvalidArgument):
        other.feed(np.full((30, 8), np.inf))
    assert np.array_equal(one.feed(x[13:]).numpy(), other.feed(x[13:]).numpy())


def test_reset_and_other_kinds_of_arrays(encoder):
    x = np.random.default_rng(0).normal(size=(40, 8))
    stream = EncoderStream(encoder, 2, 1)
    first = np.concatenate([stream.feed(x).numpy(), stream.finish().numpy()])
    for given in (x.astype("float32"), paddle.to_tensor(x), x.T.copy().T):
        stream.reset()
        again = np.concatenate([stream.feed(given).numpy(), stream.finish().numpy()])
        assert np.array_equal(first, again)
    assert first.shape == (9, 4)
    assert first.dtype == np.float32


def test_nothing_fed_grows_nothing(encoder):
    stream = EncoderStream(encoder, 2, 1)
    assert stream.feed(np.zeros((0, 8))).shape == [0, 4]
    assert stream.finish().shape == [0, 4]


def storage(stream) -> int:
    """Bytes that a stream holds."""
    held = [stream._waiting]
    held += [table.data for table in stream._caches.places]
    for cache in stream._caches.blocks:
        held += [cache.keys.key.data, cache.keys.value.data, cache.past.data]
    assert all(isinstance(x, torch.Tensor) for x in held)
    return sum(x.untyped_storage().nbytes() for x in held)


def test_a_stream_holds_the_same_memory_however_long_it_runs(encoder):
    """A minute and a half of frames: what is held after the first seconds does not grow."""
    stream, sizes = EncoderStream(encoder, 4, 2), set()
    piece = np.random.default_rng(0).normal(size=(450, 8)).astype("float32")
    stream.feed(piece)
    for _ in range(19):
        stream.feed(piece)
        sizes.add(storage(stream))
    assert max(sizes) < 20_000
    assert max(sizes) - min(sizes) <= 32 * 4 * 16  # the frames that wait for their chunk
