"""wav2vec 2.0 against transformers: recorded answers (`record_wav2vec2.py`), and live where it is installed."""

import importlib.util
import json
import warnings

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.speech.wav2vec2 import (
    Wav2Vec2Config,
    Wav2Vec2Encoder,
    Wav2Vec2ForCTC,
    load_published,
    published_state,
)
from tests.speech.record_wav2vec2 import LAYOUTS, LENGTHS, RECORD, answers, samples, weights

pytestmark = pytest.mark.usefixtures("one_thread")  # small networks

RECORDED = json.loads(RECORD.read_text())


def network(layout, shapes):
    made = Wav2Vec2ForCTC(Wav2Vec2Config.of(LAYOUTS[layout])).eval()
    load_published(made, weights(shapes))
    return made


def compare(layout, expected):
    made, x = network(layout, expected["shapes"]), paddle.to_tensor(samples())
    plain = made(x)
    np.testing.assert_allclose(plain.logits.numpy(), expected["logits"], atol=1e-4)
    assert plain.lengths.tolist() == [plain.logits.shape[1]] * 2
    masked = made(x, LENGTHS)
    for row, end in enumerate(masked.lengths.tolist()):
        np.testing.assert_allclose(
            masked.logits.numpy()[row, :end], np.array(expected["masked"])[row, :end], atol=1e-4
        )
    hidden = made.wav2vec2(x)[0].mean(1)
    np.testing.assert_allclose(hidden.numpy(), expected["hidden"], atol=1e-4)
    assert np.ptp(np.array(expected["logits"])) > 1  # the weights are large enough to show every part


@pytest.mark.parametrize("layout", LAYOUTS)
def test_outputs_equal_the_recorded_ones(layout):
    compare(layout, RECORDED[layout])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_outputs_equal_transformers(layout):
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed; its recorded answers are compared above")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers' own
        expected = answers(LAYOUTS[layout])
    assert expected["shapes"] == RECORDED[layout]["shapes"]
    compare(layout, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_names_and_shapes_are_the_published_ones(layout):
    made = network(layout, RECORDED[layout]["shapes"])
    found = {
        name.replace("weight_g", "parametrizations.weight.original0").replace(
            "weight_v", "parametrizations.weight.original1"
        ): list(value.shape)
        for name, value in published_state(made).items()
    }
    assert found == RECORDED[layout]["shapes"]
    given = weights(RECORDED[layout]["shapes"])
    for name, value in published_state(made).items():
        key = name.replace("weight_g", "parametrizations.weight.original0")
        assert torch.equal(value, given[key.replace("weight_v", "parametrizations.weight.original1")])


def test_the_base_network_has_its_published_size():
    """94.4 M parameters in the encoder: facebook/wav2vec2-base without quantizer and projections."""
    config = Wav2Vec2Config()
    convolutions = 512 * 10 + 4 * 512 * 512 * 3 + 2 * 512 * 512 * 2 + 2 * 512
    projection = 2 * 512 + 512 * 768 + 768
    positions = 768 * 48 * 128 + 128 + 768
    block = 4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768
    total = convolutions + projection + positions + 12 * block + 2 * 768 + 768
    assert total == 94_371_712
    small = Wav2Vec2Config.of(config.asdict() | {"num_hidden_layers": 1})
    assert sum(p.size for p in Wav2Vec2Encoder(small).parameters()) == total - 11 * block


def test_older_and_bare_names_load_too():
    shapes = RECORDED["base"]["shapes"]
    given = weights(shapes)
    older = {
        name.replace("parametrizations.weight.original0", "weight_g").replace(
            "parametrizations.weight.original1", "weight_v"
        ): value
        for name, value in given.items()
    } | {"quantizer.codevectors": torch.zeros(1), "project_q.weight": torch.zeros(2, 2)}
    bare = {name.removeprefix("wav2vec2."): value for name, value in given.items()}
    x = paddle.to_tensor(samples())
    expected = network("base", shapes)(x).logits.numpy()
    for state in (older, bare):
        made = Wav2Vec2ForCTC(Wav2Vec2Config.of(LAYOUTS["base"])).eval()
        load_published(made, state)
        assert np.array_equal(made(x).logits.numpy(), expected)
    encoder = Wav2Vec2Encoder(Wav2Vec2Config.of(LAYOUTS["base"])).eval()
    load_published(encoder, given)
    assert np.array_equal(encoder(x)[0].numpy(), network("base", shapes).wav2vec2(x)[0].numpy())


def test_state_that_does_not_fit_is_refused_and_changes_nothing():
    made = network("base", RECORDED["base"]["shapes"])
    before = published_state(made)
    given = weights(RECORDED["base"]["shapes"])
    spoiled = dict(given)
    spoiled["lm_head.weight"] = torch.zeros(9, 16)
    with pytest.raises(
        InvalidArgument,
        match=r"load_published: state: lm_head.weight has shape \[16, 9\] instead of \[16, 7\]",
    ):
        load_published(made, spoiled)
    del spoiled["lm_head.weight"]
    with pytest.raises(InvalidArgument, match=r"state: missing lm_head.weight"):
        load_published(made, spoiled)
    with pytest.raises(InvalidArgument, match=r"unknown adapter.layers.0.conv.weight"):
        load_published(made, given | {"adapter.layers.0.conv.weight": torch.zeros(3)})
    assert all(torch.equal(value, before[name]) for name, value in published_state(made).items())


def test_masked_frames_are_replaced_and_everything_gets_a_gradient():
    paddle.seed(0)
    config = Wav2Vec2Config.of(
        LAYOUTS["base"] | {"hidden_dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
    )
    made, x = Wav2Vec2ForCTC(config), paddle.to_tensor(samples())
    masked = np.zeros((2, 6), bool)
    masked[0, 2:4] = True
    made(x, None, paddle.to_tensor(masked)).logits.square().sum().backward()
    assert [name for name, p in made.named_parameters() if p.grad is None] == []
    made.eval()
    everything = paddle.ones([2, 6], "bool")
    found = made(x, None, everything).logits
    other = made(x * 2 + 1, None, everything).logits  # the sound is hidden behind the mask
    np.testing.assert_allclose(found.numpy(), other.numpy(), atol=1e-6)


def test_bad_input():
    made, x = network("base", RECORDED["base"]["shapes"]), paddle.to_tensor(samples())
    with pytest.raises(InvalidType, match=r"Wav2Vec2Encoder: samples: expected a Tensor of .*float32"):
        made(x.astype("float64"))
    with pytest.raises(InvalidType, match=r"got ndarray"):
        made(samples())
    with pytest.raises(InvalidArgument, match=r"at least one sequence and 400 samples, got \[2, 399\]"):
        made(x[:, :399])
    assert made(x[:, :400]).logits.shape[1] == 1
    with pytest.raises(InvalidArgument, match=r"samples: expected \[batch, time\]"):
        made(x[:0])
    with pytest.raises(InvalidArgument, match=r"samples: expected \[batch, time\]"):
        made(x[0])
    with pytest.raises(InvalidArgument, match=r"expected finite numbers"):
        made(x / 0.0)
    with pytest.raises(InvalidArgument, match=r"lengths: expected 0 to 2000, got \[2001, 5\]"):
        made(x, [2001, 5])
    with pytest.raises(InvalidArgument, match=r"feat_extract_norm: expected 'group' or 'layer', got 'batch'"):
        Wav2Vec2Config.of({"feat_extract_norm": "batch"})
    with pytest.raises(InvalidArgument, match=r"expected equal lengths, got 2, 7 and 7"):
        Wav2Vec2Config.of({"conv_dim": [8, 8]})
    with pytest.raises(InvalidArgument, match=r"without adapters"):
        Wav2Vec2Config.of({"add_adapter": True})
