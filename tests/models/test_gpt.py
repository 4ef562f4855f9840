"""GPT against a reference written with torch alone, its size, and sampling."""

import numpy as np
import pytest
import torch
import torch.nn.functional as TF

import sampan as paddle
from sampan.models.gpt import GPT


def small(**settings) -> GPT:
    paddle.seed(3)
    return GPT(**{"vocab_size": 17, "context": 8, "num_layers": 2, "num_heads": 2, "width": 12, **settings})


def reference(w: dict[str, torch.Tensor], ids: torch.Tensor, heads: int) -> torch.Tensor:
    def norm(x, name):
        return TF.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])

    def linear(x, name):
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    batch, time = ids.shape
    x = w["wte.weight"][ids] + w["wpe.weight"][:time]
    for i in range(sum(name.endswith("ln_1.weight") for name in w)):
        q, k, v = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").chunk(3, -1)
        q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v))
        y = TF.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(y.transpose(1, 2).reshape(batch, time, -1), f"h.{i}.attn.c_proj")
        y = TF.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
        x = x + linear(y, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def test_logits_and_gradients_equal_the_reference():
    net = small(dropout=0.0)
    for p in net.parameters():  # biases too, so that a forgotten one is seen
        p.set_value(paddle.randn(p.shape) * 0.3)
    weights = {name: p.data.clone().requires_grad_() for name, p in net.state_dict().items()}
    ids = np.random.default_rng(0).integers(0, 17, (3, 8))
    targets = np.roll(ids, -1, 1)
    expected = reference(weights, torch.from_numpy(ids), 2)
    np.testing.assert_allclose(net(paddle.to_tensor(ids)).numpy(), expected.detach().numpy(), atol=1e-4)
    net.loss(paddle.to_tensor(ids), paddle.to_tensor(targets)).backward()
    TF.cross_entropy(expected.flatten(0, 1), torch.from_numpy(targets).flatten()).backward()
    for name, p in net.state_dict().items():
        np.testing.assert_allclose(p.grad.numpy(), weights[name].grad.numpy(), atol=1e-4, err_msg=name)


def test_the_defaults_are_gpt2():
    net = GPT()
    assert sum(p.size for p in net.parameters()) == 124_439_808  # published: openai-community/gpt2
    assert net.h[0].attn.c_attn.weight.shape == [768, 2304] and len(net.h) == 12


def test_a_token_sees_nothing_of_those_after_it():
    net = small()
    net.eval()
    ids = paddle.to_tensor([[1, 2, 3, 4, 5]])
    changed = paddle.to_tensor([[1, 2, 3, 9, 9]])
    a, b = net(ids).numpy(), net(changed).numpy()
    np.testing.assert_array_equal(a[:, :3], b[:, :3])
    assert np.abs(a[:, 3:] - b[:, 3:]).max() > 1e-3


def test_sampling():
    net = small()
    ids = paddle.to_tensor([[1, 2, 3], [4, 5, 6]])
    paddle.seed(5)
    first = net.generate(ids, 12)  # longer than the context
    paddle.seed(5)
    again = net.generate(ids, 12)
    assert first.shape == [2, 15] and first.tolist() == again.tolist() and net.training
    assert first[:, :3].tolist() == ids.tolist()
    greedy = net.generate(ids, 4, temperature=0)
    assert greedy.tolist() == net.generate(ids, 4, top_k=1).tolist()
    net.eval()
    assert greedy[:, 3].tolist() == net(ids)[:, -1].argmax(-1).tolist()
    assert net.generate(ids.numpy(), 0).tolist() == ids.tolist() and not net.training


def test_it_learns_a_pattern_and_continues_it():
    net = small(dropout=0.0, width=16)
    optimizer = paddle.optimizer.AdamW(1e-2, parameters=net.parameters())
    ids = paddle.to_tensor([[(i + j) % 5 for j in range(9)] for i in range(5)])
    for _ in range(60):
        loss = net.loss(ids[:, :-1], ids[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    assert net.generate([[2, 3, 4]], 5, temperature=0).tolist() == [[2, 3, 4, 0, 1, 2, 3, 4]]


def test_bad_input():
    with pytest.raises(ValueError, match="width: expected a multiple of num_heads=5, got 12"):
        small(num_heads=5)
    with pytest.raises(ValueError, match=r"^GPT: ids: expected at most context=8 tokens in each row, got 9"):
        small()(paddle.zeros([1, 9], "int64"))
    with pytest.raises(ValueError, match="temperature: expected 0 or more"):
        small().generate([[1]], 1, temperature=-1.0)
