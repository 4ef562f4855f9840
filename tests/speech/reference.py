"""The networks of `sampan.speech.nn` once more, in torch and by their formulas: what the tests compare with."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

State = dict[str, torch.Tensor]


def state_of(layer) -> State:
    """The layer's parameters as torch tensors by name; those of linear layers as torch has them."""
    return {name: value.data.clone() for name, value in layer.state_dict().items()}


def part(state: State, name: str) -> State:
    """The entries under `name.`, without it."""
    return {key[len(name) + 1 :]: value for key, value in state.items() if key.startswith(name + ".")}


def linear(state: State, x):
    return x @ state["weight"] + state.get("bias", 0)


def layer_norm(state: State, x):
    return F.layer_norm(x, x.shape[-1:], state["weight"], state["bias"])


def subsampled(state: State, x):
    """[batch, time, size] to [batch, time / 4, width]."""
    y = F.relu(F.conv2d(x[:, None], state["conv1.weight"], state["conv1.bias"], stride=2))
    y = F.relu(F.conv2d(y, state["conv2.weight"], state["conv2.bias"], stride=2))
    return linear(part(state, "linear"), y.permute(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1))


def relative_attention(state: State, x, heads: int, seen):
    """Query by query from Dai et al. 2019, section 3.3, with the vector of each distance looked up."""
    batch, time, width = x.shape
    size = width // heads
    q, k, v = (linear(part(state, f"{n}_proj"), x).reshape(batch, time, heads, size) for n in ("q", "k", "v"))
    result = torch.zeros(batch, time, heads, size, dtype=x.dtype)
    codes = {}
    for d in range(1 - time, time):
        angles = [d / 10000 ** (2 * n / width) for n in range(width // 2)]
        code = torch.tensor([f(a) for a in angles for f in (math.sin, math.cos)], dtype=x.dtype)
        codes[d] = (code @ state["pos_proj.weight"]).reshape(heads, size)
    for i in range(time):
        by_content = ((q[:, i, None] + state["content_bias"]) * k).sum(-1)  # [batch, keys, heads]
        distances = torch.stack([codes[i - j] for j in range(time)])
        by_distance = ((q[:, i, None] + state["position_bias"]) * distances).sum(-1)
        scores = (by_content + by_distance) / size**0.5
        shares = torch.where(seen[:, i, :, None], scores, -math.inf).softmax(1)
        result[:, i] = (shares[..., None] * v).sum(1)
    return linear(part(state, "out_proj"), result.reshape(batch, time, width))


def feed_forward(state: State, x):
    return linear(
        part(state, "linear2"), F.silu(linear(part(state, "linear1"), layer_norm(part(state, "norm"), x)))
    )


def convolution(state: State, x, causal: bool, norm: str, valid):
    """The convolution module in evaluation."""
    y = F.glu(linear(part(state, "pointwise1"), layer_norm(part(state, "layer_norm"), x)), -1)
    y = (y * valid[..., None]).transpose(1, 2)
    weight = state["depthwise.weight"]
    around = weight.shape[-1] - 1
    y = F.pad(y, (around, 0) if causal else (around // 2, around // 2))
    y = F.conv1d(y, weight, state["depthwise.bias"], groups=y.shape[1]).transpose(1, 2)
    if norm == "layer":
        y = layer_norm(part(state, "norm"), y)
    else:
        scale = state["norm.weight"] / (state["norm._variance"] + 1e-5).sqrt()
        y = (y - state["norm._mean"]) * scale + state["norm.bias"]
    return linear(part(state, "pointwise2"), F.silu(y))


def conformer_block(state: State, x, heads: int, causal: bool, norm: str, valid, seen):
    x = x + feed_forward(part(state, "feed1"), x) / 2
    x = x + relative_attention(
        part(state, "attention"), layer_norm(part(state, "attention_norm"), x), heads, seen
    )
    x = x + convolution(part(state, "convolution"), x, causal, norm, valid)
    x = x + feed_forward(part(state, "feed2"), x) / 2
    return layer_norm(part(state, "norm"), x)


def conformer(state: State, x, lengths, heads: int, causal: bool, norm: str, chunk: int | None, left: int):
    """The encoder in evaluation; the lengths are those of the features."""
    x = subsampled(part(state, "subsampling"), x)
    time = x.shape[1]
    ends = [max(((n - 1) // 2 - 1) // 2, 0) for n in lengths]
    valid = torch.tensor([[float(t < end) for t in range(time)] for end in ends], dtype=x.dtype)

    def sees(i: int, j: int, end: int) -> bool:
        if i == j:
            return True
        near = chunk is None or (j // chunk <= i // chunk and (left < 0 or i // chunk - j // chunk <= left))
        return j < end and near

    seen = torch.tensor([[[sees(i, j, end) for j in range(time)] for i in range(time)] for end in ends])
    for k in range(1 + max(int(name.split(".")[1]) for name in state if name.startswith("blocks."))):
        x = conformer_block(part(state, f"blocks.{k}"), x, heads, causal, norm, valid, seen)
    return x, ends
