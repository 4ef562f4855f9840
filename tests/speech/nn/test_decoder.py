"""The attention decoder: loss and scores against a computation token by token, and what it refuses."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.errors import InvalidArgument
from sampan.speech.nn import AttentionDecoder
from sampan.speech.nn.decoder import _check_labels

pytestmark = pytest.mark.usefixtures("one_thread")  # small networks


@pytest.fixture
def decoder():
    paddle.seed(0)
    paddle.set_default_dtype("float64")
    yield AttentionDecoder(6, 8, 2, 2, 16, dropout=0.0).eval()
    paddle.set_default_dtype("float32")


def torch_decoder(decoder):
    """The same network of torch's own layers: logits for the tokens read so far, without batch and padding."""
    state = {name: value.data for name, value in decoder.state_dict().items()}
    layer = torch.nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=True)
    made = torch.nn.TransformerDecoder(layer, 2, torch.nn.LayerNorm(8)).double().eval()
    with torch.no_grad():
        for n, block in enumerate(made.layers):
            own = {k.split(".", 3)[3]: v for k, v in state.items() if k.startswith(f"decoder.layers.{n}.")}
            for ours, theirs in (("self_attn", block.self_attn), ("cross_attn", block.multihead_attn)):
                joined = [own[f"{ours}.{x}_proj.weight"].T for x in "qkv"]
                theirs.in_proj_weight.copy_(torch.cat(joined))
                theirs.in_proj_bias.copy_(torch.cat([own[f"{ours}.{x}_proj.bias"] for x in "qkv"]))
                theirs.out_proj.weight.copy_(own[f"{ours}.out_proj.weight"].T)
                theirs.out_proj.bias.copy_(own[f"{ours}.out_proj.bias"])
            for name in ("linear1", "linear2"):
                getattr(block, name).weight.copy_(own[f"{name}.weight"].T)
                getattr(block, name).bias.copy_(own[f"{name}.bias"])

    def logits(encoded, read):
        positions = [
            [f(p / 10000 ** (2 * n / 8)) for n in range(4) for f in (np.sin, np.cos)]
            for p in range(len(read))
        ]
        x = state["embedding.weight"][read] * 8**0.5 + torch.tensor(positions)
        mask = torch.ones(len(read), len(read), dtype=torch.bool).triu(1)
        with torch.no_grad():
            y = made(x[None], encoded[None], tgt_mask=mask)[0]
        return y @ state["output.weight"] + state["output.bias"]

    return logits


def test_loss_and_scores_equal_torch_s_decoder(decoder):
    encoded = paddle.randn([3, 7, 8])
    lengths, labels = [7, 5, 2], [[1, 2, 5], [3, 3, 0], [0, 0, 0]]
    counts, texts = [3, 2, 0], [[1, 2, 5], [3, 3], []]
    theirs = torch_decoder(decoder)
    expected, smoothed = [], 0.0
    for row, text in enumerate(texts):
        logs = theirs(encoded.data[row, : lengths[row]], [6, *text]).log_softmax(-1)
        picked = torch.stack([logs[k, token] for k, token in enumerate([*text, 6])])
        expected.append(float(picked.sum()))
        smoothed -= float((0.9 * picked + 0.1 * logs.mean(-1)).sum())
    found = decoder.loss(encoded, lengths, labels, counts, smoothing=0.0)
    np.testing.assert_allclose(float(found), -sum(expected) / 3, rtol=1e-10)
    np.testing.assert_allclose(
        float(decoder.loss(encoded, lengths, labels, counts)), smoothed / 3, rtol=1e-10
    )
    for row, text in enumerate(texts):
        score = decoder.score(encoded[row, : lengths[row]], [[4], text])
        np.testing.assert_allclose(score[1], expected[row], rtol=1e-10)


def test_what_is_behind_an_end_is_not_read(decoder):
    encoded = paddle.randn([1, 4, 8])
    one = decoder.loss(encoded, [3], [[1, 2, 0, 0]], [2])
    spoiled = paddle.to_tensor(np.where(np.arange(4)[None, :, None] < 3, encoded.numpy(), 1e3))
    other = decoder.loss(spoiled, [3], [[1, 2, 99, -7]], [2])
    np.testing.assert_allclose(float(one), float(other), rtol=1e-12)


def test_no_hypothesis_has_no_score(decoder):
    assert decoder.score(paddle.randn([4, 8]), []) == []


def test_bad_labels():
    with pytest.raises(InvalidArgument, match=r"labels: expected 1 to 5, got 1 to 6"):
        _check_labels([[1, 6]], [2], 1, 6)
    with pytest.raises(InvalidArgument, match=r"labels: expected 1 to 5, got 0 to 2"):
        _check_labels([[0, 2]], [2], 1, 6)
    with pytest.raises(InvalidArgument, match=r"label_lengths: expected 0 to 2, got \[3\]"):
        _check_labels([[1, 2]], [3], 1, 6)
    with pytest.raises(InvalidArgument, match=r"labels: expected integers of shape \[2, n\]"):
        _check_labels([[1, 2]], [2], 2, 6)
    with pytest.raises(InvalidArgument, match=r"labels: expected integers"):
        _check_labels([[1.0, 2.0]], [2], 1, 6)
    with pytest.raises(InvalidArgument, match=r"vocabulary: expected 2 or more tokens"):
        AttentionDecoder(1, 8)
