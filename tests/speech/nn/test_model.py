"""Losses against torch's CTC, rescoring against both scores, and learning a small task end to end."""

import itertools

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.errors import InvalidArgument
from sampan.speech.nn import AttentionDecoder, ConformerEncoder, CTCHead, RecurrentEncoder, SpeechModel

pytestmark = pytest.mark.usefixtures("one_thread")  # small networks


def test_the_head_s_loss_equals_torch():
    paddle.seed(0)
    head = CTCHead(5, 6)
    encoded = paddle.randn([3, 9, 5])
    lengths, labels, counts = paddle.to_tensor([9, 6, 4]), [[1, 2, 2], [5, 0, 0], [0, 0, 0]], [3, 1, 0]
    logs = head.log_probs(encoded).data.double().transpose(0, 1)
    each = torch.nn.functional.ctc_loss(
        logs, torch.tensor(labels), lengths.data, torch.tensor(counts), 0, "none"
    )
    found = head.loss(encoded, lengths, labels, counts)
    np.testing.assert_allclose(float(found), float(each.mean()), rtol=1e-4)


def test_a_text_that_needs_more_frames_is_refused():
    head, lengths = CTCHead(5, 6), paddle.to_tensor([9, 3])
    encoded = paddle.zeros([2, 9, 5])
    with pytest.raises(InvalidArgument, match=r"labels: row 1 needs at least 4 frames, the encoder gave 3"):
        head.loss(encoded, lengths, [[1, 2, 3], [2, 2, 1]], [3, 3])
    assert np.isfinite(float(head.loss(encoded, lengths, [[1, 2, 3], [2, 3, 2]], [3, 3])))


def hybrid(**settings):
    paddle.seed(0)
    encoder = ConformerEncoder(9, 8, 1, 2, kernel_size=3, norm="layer", dropout=0.0)
    return SpeechModel(encoder, 5, AttentionDecoder(5, 8, 1, 2, dropout=0.0), **settings)


def test_the_loss_is_the_weighted_sum():
    model, x = hybrid(ctc_weight=0.3), paddle.randn([2, 40, 9])
    labels, counts = [[1, 2], [3, 0]], [2, 1]
    encoded, lengths = model.encoder(x, [40, 31])
    by_ctc = float(model.head.loss(encoded, lengths, labels, counts))
    by_attention = float(model.decoder.loss(encoded, lengths, labels, counts))
    found = float(model.loss(x, [40, 31], labels, counts))
    np.testing.assert_allclose(found, 0.3 * by_ctc + 0.7 * by_attention, rtol=1e-6)


def test_rescoring_adds_both_scores():
    model = hybrid().eval()
    encoded = model.encoder(paddle.randn([1, 40, 9]))[0][0]
    texts = [list(t) for n in range(3) for t in itertools.product(range(1, 5), repeat=n)]
    ctc = np.linspace(-5, -1, len(texts))
    scores = np.array(model.decoder.score(encoded, texts)) + 0.5 * ctc
    found = model.rescore(encoded, list(zip(texts, ctc, strict=True)))
    order = np.argsort(-scores)
    assert [ids for ids, _ in found] == [texts[k] for k in order]
    np.testing.assert_allclose([score for _, score in found], scores[order], rtol=1e-5)
    assert model.rescore(encoded, []) == []


def test_bad_arguments():
    model = hybrid()
    with pytest.raises(InvalidArgument, match=r"ctc_weight: expected 0 to 1, got 2"):
        SpeechModel(model.encoder, 5, None, 2)
    with pytest.raises(InvalidArgument, match=r"decoder: expected vocabulary 6 and width 8, got 5 and 8"):
        SpeechModel(model.encoder, 6, model.decoder)
    with pytest.raises(InvalidArgument, match=r"this model has no attention decoder"):
        SpeechModel(model.encoder, 5).rescore(paddle.zeros([4, 8]), [([1], 0.0)])


def tones(rng, count):
    """Sequences of two to four "tones": each a band of the features that lasts 20 frames. Labels 1 to 4."""
    labels = [rng.integers(1, 5, rng.integers(2, 5)) for _ in range(count)]
    x = rng.normal(0, 0.3, (count, 88, 9)).astype("float32")
    for row, label in enumerate(labels):
        for place, token in enumerate(label):
            x[row, 20 * place + 4 : 20 * place + 18, 2 * token - 2 : 2 * token] += 2
    lengths = [20 * len(label) + 8 for label in labels]
    padded = np.zeros((count, 4), "int64")
    for row, label in enumerate(labels):
        padded[row, : len(label)] = label
    return x, lengths, padded, [len(label) for label in labels]


@pytest.mark.parametrize("kind", ["conformer", "gru"])
def test_a_network_learns_to_read_tones(kind, one_thread):
    paddle.seed(1)
    if kind == "conformer":
        encoder = ConformerEncoder(
            9, 32, 1, 2, kernel_size=5, causal=True, norm="layer", dropout=0.0, dynamic_chunk=True
        )
        model = SpeechModel(encoder, 5, AttentionDecoder(5, 32, 1, 2, dropout=0.0), 0.5)
    else:
        model = SpeechModel(RecurrentEncoder(9, 32, 1, "gru", True, 0.0), 5)
    adam = paddle.optimizer.Adam(3e-3, parameters=model.parameters())
    rng = np.random.default_rng(0)
    for _ in range(100):
        x, lengths, labels, counts = tones(rng, 12)
        model.loss(paddle.to_tensor(x), lengths, labels, counts).backward()
        adam.step()
        adam.clear_grad()
    model.eval()
    x, lengths, labels, counts = tones(rng, 50)
    with paddle.no_grad():
        output = model(paddle.to_tensor(x), lengths)
    right = 0
    for row in range(50):
        best = output.logits[row, : int(output.lengths[row])].data.argmax(-1)
        text = [t for t in torch.unique_consecutive(best).tolist() if t]
        right += text == labels[row, : counts[row]].tolist()
    assert right >= 45
