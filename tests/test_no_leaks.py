"""No value of a Tensor leaves the graph inside our layers.

A network is called three times under an observer: twice with other values, and with a larger batch. All three
have the same operators on inputs from the same origins; a Tensor that is none of input, parameter or value of an
earlier operator is a constant, equal in all three. A number among the settings is the same or a multiple of the
batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import sampan as paddle
import sampan.speech.nn as speech
from sampan import models, nn
from sampan.models.bert import MaskedLM
from sampan.models.recommender import TwoTower
from sampan.models.recommender_ranking import DIN, DeepFM
from sampan.models.word_char import WordCharClassifier
from sampan.speech.nn.speaker import AngularMargin
from sampan.speech.wav2vec2 import Wav2Vec2Config, Wav2Vec2ForCTC
from sampan.vision import models as vision
from tests.recorded_calls import Recorder, recorded

F = nn.functional
BATCH = -1  # in a shape: the batch


class Case(NamedTuple):
    """A layer, how its inputs are made of (batch, generator), how it is called, and whether in training."""

    build: Callable[[], Any]
    inputs: tuple[Any, ...]
    call: Any = None
    training: bool = False


def _sizes(shape: tuple[int, ...], batch: int) -> list[int]:
    return [batch if n == BATCH else n for n in shape]


def floats(*shape: int) -> Any:
    return lambda batch, draw: paddle.to_tensor(draw.standard_normal(_sizes(shape, batch)).astype("float32"))


def ids(count: int, *shape: int, least: int = 0) -> Any:
    return lambda batch, draw: paddle.to_tensor(draw.integers(least, count, _sizes(shape, batch)))


def bools(*shape: int) -> Any:
    def make(batch: int, draw: Any) -> Any:
        drawn = draw.random(_sizes(shape, batch)) < 0.7
        drawn[..., 0] = True  # a row without any would be NaN
        return paddle.to_tensor(drawn)

    return make


def added(*shape: int) -> Any:
    return lambda batch, draw: bools(*shape)(batch, draw).astype("float32") * 1e9 - 1e9


def lengths(most: int) -> Any:
    return lambda batch, draw: paddle.to_tensor([most, *draw.integers(1, most, batch - 1).tolist()])


def always(value: Any) -> Any:
    return lambda batch, draw: value


def function(call: Callable[..., Any], *inputs: Any) -> Case:
    return Case(nn.Identity, inputs, lambda layer, *given: call(*given), True)


CASES: dict[str, Case] = {}


def network(
    name: str, build: Callable[[], Any], *inputs: Any, call: Any = None, training: bool = False
) -> None:
    CASES[name] = Case(build, inputs, call, training)


# --- images -------------------------------------------------------------------------------------------------

for name, size in {
    "alexnet": 96, "densenet121": 32, "googlenet": 192, "inception_v3": 80, "mobilenet_v1": 32, "mobilenet_v2": 32,
    "mobilenet_v3_small": 32, "resnet18": 32, "shufflenet_v2_x0_25": 32, "squeezenet1_1": 64, "vgg11": 32,
}.items():  # fmt: skip  # a table
    classes = {"num_classes": 0} if name in ("alexnet", "vgg11") else {"num_classes": 4}
    network(
        name,
        lambda name=name, classes=classes: getattr(vision, name)(**classes),
        floats(BATCH, 3, size, size),
    )
network("lenet", vision.LeNet, floats(BATCH, 1, 28, 28))
network("mlp", lambda: models.MLP(12, (8,)), floats(BATCH, 12))

# --- recurrent layers ---------------------------------------------------------------------------------------

for kind in ("SimpleRNN", "LSTM", "GRU"):
    cell = getattr(nn, f"{kind}Cell")
    x = floats(BATCH, 5, 4)
    for direction, count in (("forward", 2), ("bidirect", 4)):
        layer = lambda kind=kind, direction=direction: getattr(nn, kind)(4, 6, 2, direction)
        state = floats(count, BATCH, 6)
        states = always(None) if kind != "LSTM" else lambda b, d, state=state: (state(b, d), state(b, d))
        network(f"{kind} {direction}", layer, x)
        network(f"{kind} {direction} states", layer, x, states if kind == "LSTM" else state)
        network(f"{kind} {direction} lengths", layer, x, always(None), lengths(5))
    network(f"{kind} cell", lambda cell=cell: cell(4, 6), floats(BATCH, 4))
    network(f"{kind} by steps", lambda cell=cell: nn.RNN(cell(4, 6)), x, always(None), lengths(5))
    network(f"{kind} both ways", lambda cell=cell: nn.BiRNN(cell(4, 6), cell(4, 6)), x)
network("LSTM projected", lambda: nn.LSTM(4, 6, proj_size=3), floats(BATCH, 5, 4))

# --- transformers -------------------------------------------------------------------------------------------

x = floats(BATCH, 5, 16)
memory = floats(BATCH, 3, 16)
heads = lambda **settings: lambda: nn.MultiHeadAttention(16, 2, **settings)
network("attention", heads(), x)
for name, mask in {
    "bool": bools(BATCH, 1, 5, 5), "float": added(BATCH, 1, 5, 5), "3 axes": added(BATCH, 5, 5),
    "int": ids(2, BATCH, 1, 1, 5),
}.items():  # fmt: skip  # a table
    network(f"attention, {name} mask", heads(), x, always(None), always(None), mask)
network("attention, weights", heads(need_weights=True), x, always(None), always(None), bools(BATCH, 1, 5, 5))
network("attention, cache", heads(), x, call=lambda m, x: m(x, None, None, None, m.gen_cache(x)))
network(
    "attention, static cache", heads(), x, memory,
    call=lambda m, x, y: m(x, None, None, None, m.gen_cache(y, y, nn.MultiHeadAttention.StaticCache)),
)  # fmt: skip  # a table
encoder = lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32), 2)
decoder = lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 32), 2)
network("encoder", encoder, x, bools(BATCH, 1, 1, 5))
network("encoder, cache", encoder, x, call=lambda m, x: m(x, None, m.gen_cache(x)))
network("decoder", decoder, x, memory, added(BATCH, 1, 5, 5), bools(BATCH, 1, 1, 3))
network("decoder, cache", decoder, x, memory, call=lambda m, x, y: m(x, y, None, None, m.gen_cache(y)))
network(
    "transformer", lambda: nn.Transformer(16, 2, 1, 1, 32), x, memory,
    call=lambda m, x, y: m(x, y, None, m.generate_square_subsequent_mask(y.shape[1])),
)  # fmt: skip  # a table
for name, mask in {"bool": bools(BATCH, 1, 5, 5), "float": added(BATCH, 1, 5, 5)}.items():
    CASES[f"products, {name} mask"] = function(
        lambda q, m: F.scaled_dot_product_attention(q, q, q, m), floats(BATCH, 5, 2, 8), mask
    )
CASES["products, causal"] = function(
    lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), floats(BATCH, 5, 2, 8)
)
bert = lambda: models.BERT(50, 16, 2, 2, 12)
network("bert", bert, ids(50, BATCH, 7))
network("bert, bool mask", bert, ids(50, BATCH, 7), ids(2, BATCH, 7), bools(BATCH, 7))
network("bert, int mask", bert, ids(50, BATCH, 7), always(None), ids(2, BATCH, 7))
words = {"vocab_size": 50, "width": 16, "num_layers": 1, "num_heads": 2, "context": 12}
network("masked words", lambda: MaskedLM(**words), ids(50, BATCH, 7), always(None), ids(2, BATCH, 7))
network("gpt", lambda: models.GPT(50, 12, 2, 2, 16), ids(50, BATCH, 7))

# --- texts, recommendations ---------------------------------------------------------------------------------

for channels, pooling in [
    ("word", "mean"),
    ("char", "max"),
    ("concat", "mean"),
    ("gate", "conv"),
    ("sum", "mean"),
]:
    build = lambda c=channels, p=pooling: WordCharClassifier(30, 20, 3, 8, c, p)
    network(f"words, {channels} {pooling}", build, ids(30, BATCH, 5), ids(20, BATCH, 5, 4))
network(
    "DIN", lambda: DIN(30, 5, [4, 3]), ids(30, BATCH), ids(31, BATCH, 6), ids(5, BATCH, 6), ids(3, BATCH, 2)
)
network("DeepFM", lambda: DeepFM([4, 3, 7]), ids(3, BATCH, 3))
network("two towers", lambda: TwoTower(20, 30, 8, 6), ids(20, BATCH), ids(31, BATCH, 6), ids(30, BATCH))

# --- speech -------------------------------------------------------------------------------------------------

sound, frames = floats(BATCH, 64, 16), lengths(64)
conformer = lambda **more: lambda: speech.ConformerEncoder(16, 16, 1, 2, 32, 7, **more)
network("conformer", conformer(), sound)
network("conformer, lengths", conformer(norm="layer"), sound, frames)
network("conformer, chunks", conformer(causal=True), sound, frames, always(4), always(1))
network("recogniser", lambda: speech.SpeechModel(conformer()(), 9), sound, frames)
network("recurrent encoder", lambda: speech.RecurrentEncoder(16, 16, 1), sound, frames)
network(
    "second pass", lambda: speech.AttentionDecoder(9, 16, 1, 2, 32), floats(BATCH, 8, 16), lengths(8),
    ids(9, BATCH, 4, least=1), lengths(4),
)  # fmt: skip  # a table
network("keywords", lambda: speech.KeywordEncoder(16, 16, 1), floats(BATCH, 20, 16), lengths(20))
network("speakers", lambda: speech.SpeakerEncoder(16, 16, 8), floats(BATCH, 20, 16), lengths(20))
network("margin", lambda: AngularMargin(8, 5), floats(BATCH, 8), ids(5, BATCH))
network("activity", lambda: speech.ActivityNet(16, 8), floats(BATCH, 20, 16))
network(
    "sound and mouth", lambda: speech.AudioVisualNet(5, input_size=16, size=8, width=16), floats(BATCH, 20, 16),
    floats(BATCH, 5, 8, 8), lengths(5),
)  # fmt: skip  # a table
small = {
    "vocab_size": 9, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16,
    "conv_dim": (8, 8), "conv_stride": (5, 2), "conv_kernel": (10, 3), "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
}  # fmt: skip  # a table
network("wav2vec2", lambda: Wav2Vec2ForCTC(Wav2Vec2Config(**small)), floats(BATCH, 400), lengths(400))

# --- training: what is drawn, and losses --------------------------------------------------------------------

rows, classes, image = floats(BATCH, 5), ids(5, BATCH), floats(BATCH, 4, 8, 8)
CASES |= {
    "dropout": function(lambda x: F.dropout(x, 0.3), rows),
    "dropout of channels": function(lambda x: F.dropout2d(x, 0.3), image),
    "alpha dropout": function(lambda x: F.alpha_dropout(x, 0.3), rows),
    "random slopes": function(F.rrelu, rows),
    "gumbel": function(F.gumbel_softmax, rows),
    "gumbel, hard": function(lambda x: F.gumbel_softmax(x, hard=True), rows),
    "random numbers": function(lambda x: x + paddle.randn(x.shape) * paddle.rand([x.shape[0], 1]), rows),
    "zeros": function(lambda x: x + paddle.zeros([x.shape[0], 1]), rows),
    "filled like": function(lambda x: paddle.where(x > 0, x, paddle.full_like(x, 2.0)), rows),
    "cross-entropy": function(F.cross_entropy, rows, classes),
    "cross-entropy, weights": function(
        F.cross_entropy, rows, classes, always(paddle.to_tensor([1.0, 2, 3, 4, 5]))
    ),
    "cross-entropy, smoothed": function(
        lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), rows, classes
    ),
    "softmax with cross-entropy": function(F.softmax_with_cross_entropy, rows, ids(5, BATCH, 1)),
    "nll": function(F.nll_loss, rows, classes),
    "divergence": function(lambda x, y: F.kl_div(x, F.softmax(y)), rows, rows),
    "largest and their places": function(lambda x: F.max_pool2d(x, 2, return_mask=True), image),
    "put back": function(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_mask=True), 2), image),
    "adaptive largest": function(lambda x: F.adaptive_max_pool2d(x, 3), image),
    "a mask of lengths": function(lambda n: F.sequence_mask(n, 9), lengths(9)),
}
network("batch norm in training", lambda: nn.BatchNorm2D(4), image, training=True)
network(
    "words in training",
    lambda: WordCharClassifier(30, 20, 3, 8),
    ids(30, BATCH, 5),
    ids(20, BATCH, 5, 4),
    training=True,
)


def calls(case: Case, layer: Any, batch: int, seed: int) -> Recorder:
    draw = np.random.default_rng(seed)
    given = [make(batch, draw) for make in case.inputs]
    paddle.seed(seed)
    with paddle.no_grad():
        recorder, results = recorded(layer, given, case.call and (lambda *inputs: case.call(layer, *inputs)))
    assert results and {kind for kind, _ in results} == {"call"}, "a result comes from no operator"
    assert not recorder.left, "a value is read outside an operator"
    return recorder


@pytest.mark.parametrize("name", CASES)
def test_calls_and_constants_do_not_depend_on_the_inputs(name: str) -> None:
    case = CASES[name]
    paddle.seed(0)
    layer = case.build()
    layer.train() if case.training else layer.eval()
    first = calls(case, layer, 2, 1)
    assert first.calls
    for other, batch in ((calls(case, layer, 2, 2), 2), (calls(case, layer, 3, 3), 3)):
        assert [(c.operator, c.inputs) for c in first.calls] == [(c.operator, c.inputs) for c in other.calls]
        for here, there in zip(first.constants, other.constants, strict=True):
            torch.testing.assert_close(here, there, rtol=0, atol=0)
        for here, there in zip(first.calls, other.calls, strict=True):
            assert len(here.settings) == len(there.settings), here.operator
            for a, b in zip(here.settings, there.settings, strict=True):
                assert a == b or (isinstance(a, int) and isinstance(b, int) and a * batch == b * 2), (
                    here.operator,
                    a,
                    b,
                )


def test_a_leak_is_found() -> None:
    class Leaking(nn.Layer):
        def forward(self, x):
            return x * paddle.to_tensor((x.data > 0).float())

    CASES["leaking"] = Case(Leaking, (floats(BATCH, 5),))
    try:
        with pytest.raises(AssertionError, match="Tensor-likes are not equal"):
            test_calls_and_constants_do_not_depend_on_the_inputs("leaking")
    finally:
        del CASES["leaking"]
