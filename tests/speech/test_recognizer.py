"""Live recognition: any pieces give the text of the whole, bad pieces change nothing, the parts of the delay."""

import resource
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan as paddle
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.speech import CTCTokens, StreamingRecognizer
from sampan.speech.nn import AttentionDecoder, ConformerEncoder, SpeechModel

pytestmark = pytest.mark.usefixtures("one_thread")  # small networks

TOKENS = CTCTokens({"<pad>": 0, "a": 1, "b": 2, "c": 3, "d": 4})
SOUND = np.random.default_rng(0).normal(0, 0.1, 24000).astype("float32")


class Energies:
    """Log energies of 8 bands in frames of 400 samples every 160."""

    def __init__(self):
        self.waiting = np.zeros(0, np.float32)

    def feed(self, samples):
        self.waiting = np.concatenate([self.waiting, samples])
        count = max((len(self.waiting) - 400) // 160 + 1, 0)
        frames = np.stack([self.waiting[160 * k : 160 * k + 400] for k in range(count)] or [np.zeros(400)])
        self.waiting = self.waiting[160 * count :]
        power = np.abs(np.fft.rfft(frames[:count].astype("float64"))[:, :200]) ** 2
        return np.log(power.reshape(count, 8, 25).sum(-1) + 1e-9).astype("float32")

    def finish(self):
        return np.zeros((0, 8), np.float32)


class Greedy:
    """The best token of each frame; a token is final as soon as it is there."""

    def __init__(self):
        self.frames = []

    def feed(self, log_probs):
        self.frames += log_probs.numpy().argmax(-1).tolist()

    def partial(self):
        ids = TOKENS.collapse(self.frames)
        return ids, max(len(ids) - 1, 0)

    def finish(self):
        return [(TOKENS.collapse(self.frames), 0.0)]


@pytest.fixture(scope="module")
def model():
    paddle.seed(3)
    encoder = ConformerEncoder(8, 16, 2, 2, kernel_size=5, causal=True, norm="layer")
    made = SpeechModel(encoder, 5, AttentionDecoder(5, 16, 1, 2)).eval()
    made.head.linear.weight.set_value(paddle.randn([16, 5]))  # so that the best token changes
    return made


def recognizer(model, **settings):
    return StreamingRecognizer(model, Energies(), Greedy(), TOKENS, **settings)


@settings(max_examples=6)
@given(sizes=st.lists(st.integers(400, 9000), min_size=1, max_size=6))
def test_any_pieces_give_the_text_of_the_whole(model, sizes):
    made, at, turn, last = recognizer(model, chunk=4, left_chunks=2), 0, 0, ""
    while at < len(SOUND):
        size = sizes[turn % len(sizes)]
        partial, final = made.feed(SOUND[at : at + size])
        assert final.startswith(last)  # final text stays
        last, at, turn = final, at + size, turn + 1
        assert len(partial) <= 1
    text = made.finish()
    assert text.startswith(last)
    features = paddle.to_tensor(Energies().feed(SOUND)[None])
    logits = model(features, None, 4, 2).logits
    best = torch.unique_consecutive(logits.data[0].argmax(-1)).tolist()
    assert text == "".join(TOKENS.tokens[n] for n in best if n)
    assert len(text) > 3


def test_rescoring_chooses_by_the_decoder(model):
    class Two(Greedy):
        def finish(self):
            return [([1, 2, 3, 4, 4, 3], -1.0), ([2], -1.0), ([], -1.0)]

    made = StreamingRecognizer(model, Energies(), Two(), TOKENS, rescore=True)
    made.feed(SOUND)
    text = made.finish()
    encoded, _ = model.encoder(paddle.to_tensor(Energies().feed(SOUND)[None]), None, 4, 16)
    best = model.rescore(encoded[0], Two().finish())[0][0]
    assert text == TOKENS.text(best)


def test_the_delay_has_three_parts(model):
    made = recognizer(model, chunk=4)
    assert made.delay.compute == 0
    made.feed(SOUND)
    found = made.delay
    assert found.chunk == pytest.approx(0.16)  # 4 frames of 40 ms
    assert found.lookahead == pytest.approx(0.045)  # 15 ms of the window, 30 ms of the subsampling
    assert found.compute > 0
    assert found.total == pytest.approx(found.lookahead + found.chunk + found.compute)


def test_each_sample_has_its_delay(model):
    live = StreamingRecognizer(model, Energies(), Greedy(), TOKENS, chunk=2)
    live.feed(SOUND[:4000])  # 0.25 s: two chunks of 0.08 s, and their look-ahead
    first, later, second = live.delays([0.0, 0.05, 0.12])
    assert first - later == pytest.approx(0.05) and first > 0.08 + 0.045
    assert second > 0.16 + 0.045 - 0.12
    with pytest.raises(InvalidArgument, match="times: expected moments of 2 chunks"):
        live.delays([0.17])


def test_the_text_of_a_sample_is_there_when_the_delay_says(model):
    """Frame k of the encoder is decoded once the sound of its chunk and the look-ahead have arrived, and not before."""
    made, seen = recognizer(model, chunk=4), []
    for at in range(0, 16000, 16):
        made.feed(SOUND[at : at + 16])
        seen.append(len(made.decoder.frames))
    arrived = (np.arange(len(seen)) + 1) * 16 / 16000
    for chunk in range(1, 5):
        first = arrived[np.searchsorted(seen, 4 * chunk)]
        assert first == pytest.approx(chunk * 0.16 + 0.045, abs=0.001)


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class Counted(Greedy):
    """Keeps the number of frames alone."""

    def __init__(self):
        self.count = 0

    def feed(self, log_probs):
        self.count += log_probs.shape[0]

    def partial(self):
        return [], 0

    def finish(self):
        return []


@pytest.mark.alone
def test_an_hour_of_sound_takes_no_more_memory_than_five_minutes(one_thread):
    paddle.seed(3)
    encoder = ConformerEncoder(8, 8, 1, 1, kernel_size=5, causal=True, norm="layer")
    small = SpeechModel(encoder, 5).eval()
    made = StreamingRecognizer(small, Energies(), Counted(), TOKENS, chunk=16, left_chunks=4)
    piece, sizes = np.tile(SOUND, 20), []  # half a minute
    for _ in range(120):
        made.feed(piece)
        sizes.append(resident())
    assert max(sizes[10:]) - sizes[9] < 8 * 2**20
    assert made.finish() == ""
    assert made.decoder.count == 89_998  # 359,998 frames of features, subsampled


def test_bad_input(model):
    made, clean = recognizer(model), recognizer(model)
    made.feed(SOUND[:5000]), clean.feed(SOUND[:5000])
    for bad, error, text in (
        (np.full(9, np.nan), InvalidArgument, "samples: expected finite numbers"),
        (SOUND[None], InvalidArgument, r"samples: expected \[samples\], got \[1, 24000\]"),
        (np.arange(9), InvalidType, "samples: expected floating numbers or int16, got int64"),
    ):
        with pytest.raises(error, match=text):
            made.feed(bad)
    made.feed(SOUND[5000:].astype("float64")), clean.feed(SOUND[5000:])
    assert made.finish() == clean.finish()
    with pytest.raises(InvalidArgument, match=r"feed: samples: this recogniser has finished"):
        made.feed(SOUND)
    with pytest.raises(InvalidArgument, match=r"this recogniser has finished already"):
        made.finish()
    empty = recognizer(model)
    assert empty.feed(SOUND[:0]) == ("", "")
    assert empty.finish() == ""
    with pytest.raises(InvalidArgument, match=r"tokens: expected 5 tokens with blank 0, got 2 with blank 1"):
        StreamingRecognizer(model, Energies(), Greedy(), CTCTokens({"a": 0, "<pad>": 1}))
    plain = SpeechModel(model.encoder, 5).eval()
    with pytest.raises(InvalidArgument, match=r"rescore: this model has no attention decoder"):
        StreamingRecognizer(plain, Energies(), Greedy(), TOKENS, rescore=True)
