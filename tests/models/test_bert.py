"""BERT against a reference written with torch alone, and its size."""

import numpy as np
import pytest
import torch
import torch.nn.functional as TF

import sampan as paddle
from sampan.models.bert import BERT, MaskedLM

SMALL = {"vocab_size": 19, "width": 12, "num_layers": 2, "num_heads": 3, "context": 8, "dropout": 0.0}


def filled(net):
    paddle.seed(3)
    for p in net.parameters():  # biases too, so that a forgotten one is seen
        p.set_value(paddle.randn(p.shape) * 0.3)
    return {name: p.data.clone().requires_grad_() for name, p in net.state_dict().items()}


def encoded(w, ids, segments, mask, heads=3):
    """The hidden states of post-norm blocks, as Devlin et al. describe them."""

    def norm(x, name):
        return TF.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], 1e-12)

    def linear(x, name):
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    x = (
        w["embeddings.word_embeddings.weight"][ids]
        + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
    )
    x = norm(x + w["embeddings.token_type_embeddings.weight"][segments], "embeddings.layer_norm")
    for i in range(2):
        at = f"encoder.layers.{i}"
        q, k, v = (
            linear(x, f"{at}.self_attn.{n}_proj").unflatten(-1, (heads, -1)).transpose(1, 2) for n in "qkv"
        )
        y = TF.scaled_dot_product_attention(q, k, v, mask[:, None, None] > 0)
        x = norm(x + linear(y.transpose(1, 2).flatten(2), f"{at}.self_attn.out_proj"), f"{at}.norm1")
        x = norm(x + linear(TF.gelu(linear(x, f"{at}.linear1")), f"{at}.linear2"), f"{at}.norm2")
    return x


def test_hidden_states_and_gradients_equal_the_reference():
    net = BERT(**SMALL)
    weights = filled(net)
    random = np.random.default_rng(0)
    ids, segments = random.integers(0, 19, (3, 7)), random.integers(0, 2, (3, 7))
    mask = np.array([[1] * 7, [1] * 4 + [0] * 3, [1] * 6 + [0]])
    hidden, summary = net(*(paddle.to_tensor(a) for a in (ids, segments, mask)))
    expected = encoded(weights, *(torch.from_numpy(a) for a in (ids, segments, mask)))
    pooled = torch.tanh(expected[:, 0] @ weights["pooler.dense.weight"] + weights["pooler.dense.bias"])
    np.testing.assert_allclose(hidden.numpy(), expected.detach().numpy(), atol=2e-4)
    np.testing.assert_allclose(summary.numpy(), pooled.detach().numpy(), atol=2e-4)
    (hidden.square().mean() + summary.sum()).backward()
    (expected.square().mean() + pooled.sum()).backward()
    for name, p in net.state_dict().items():
        np.testing.assert_allclose(p.grad.numpy(), weights[name].grad.numpy(), atol=1e-3, err_msg=name)


def test_without_segments_and_mask_all_is_the_first_segment():
    net = BERT(**SMALL)
    net.eval()
    ids = paddle.to_tensor([[1, 2, 3]])
    full = net(ids, paddle.zeros([1, 3], "int64"), paddle.ones([1, 3], "int64"))
    np.testing.assert_allclose(net(ids)[0].numpy(), full[0].numpy(), atol=1e-6)
    with pytest.raises(ValueError, match=r"^BERT: ids: expected at most context=8 tokens in each row, got 9"):
        net(paddle.zeros([1, 9], "int64"))


def test_masked_words():
    net = MaskedLM(**SMALL)
    weights = filled(net)
    ids = np.array([[1, 5, 18, 0]])
    bert = {name.removeprefix("bert."): w for name, w in weights.items() if name.startswith("bert.")}
    hidden = encoded(bert, torch.from_numpy(ids), torch.zeros_like(torch.from_numpy(ids)), torch.ones(1, 4))
    hidden = TF.gelu(hidden @ weights["transform.weight"] + weights["transform.bias"])
    hidden = TF.layer_norm(hidden, (12,), weights["layer_norm.weight"], weights["layer_norm.bias"], 1e-12)
    logits = hidden @ bert["embeddings.word_embeddings.weight"].T + weights["decoder_bias"]
    np.testing.assert_allclose(net(paddle.to_tensor(ids)).numpy(), logits.detach().numpy(), atol=5e-4)


def test_the_defaults_are_bert_base():
    net = BERT()
    assert sum(p.size for p in net.parameters()) == 109_482_240  # published: bert-base-uncased
    shapes = {name: p.shape for name, p in net.state_dict().items()}
    assert shapes["encoder.layers.11.linear1.weight"] == [768, 3072]
    head = (
        768 * 768 + 768 + 2 * 768 + 30522
    )  # published: 109,514,298 with the masked-word head, without the pooler
    assert 109_482_240 - 768 * 769 + head == 109_514_298
    small = MaskedLM(**SMALL)
    with_pooler = sum(p.size for p in BERT(**SMALL).parameters())
    assert sum(p.size for p in small.parameters()) == with_pooler - 12 * 13 + 12 * 13 + 2 * 12 + 19
