"""Hidden checks of notebook 04. Oracles: the definitions in NumPy, float64, written as loops over places, steps and tokens."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sampan.learn.cases import Case, Text
from studio.grading.exercise import Exercise

CLOSE = {"rtol": 1e-3, "atol": 1e-4}
FORBIDDEN = ("torch.nn", "sampan.ops", "sampan.kernels", "scipy")
CONVOLUTIONS = (
    *(
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "Conv1D",
        "Conv2D",
        "Conv3D",
        "Conv2d",
        "convolution",
        "_convolution",
    ),
    *(
        "conv1d_transpose",
        "conv2d_transpose",
        "conv3d_transpose",
        "conv_transpose2d",
        "Conv2DTranspose",
        "convolve",
    ),
    *(
        "mkldnn_convolution",
        "slow_conv2d",
        "thnn_conv2d",
        "_slow_conv2d_forward",
        "deform_conv2d",
        "DeformConv2D",
    ),
    *("unfold", "Unfold", "im2col", "correlate", "correlate2d", "convolve2d", "fftconvolve"),
)
CELLS = (
    *(
        "LSTMCell",
        "LSTM",
        "lstm",
        "lstm_cell",
        "_thnn_fused_lstm_cell",
        "_lstm_mps",
        "mkldnn_rnn_layer",
        "GRUCell",
    ),
    *("SimpleRNNCell", "RNN", "CELLS", "forward", "rnn_cell"),
)
ATTENTIONS = (
    *("scaled_dot_product_attention", "flash_attention", "flash_attn_unpadded", "flash_attn_qkvpacked"),
    *(
        "_scaled_dot_product_attention",
        "_scaled_dot_product_attention_math",
        "sparse_attention",
        "flashmask_attention",
    ),
    *("_scaled_dot_product_flash_attention_for_cpu", "_native_multi_head_attention", "MultiHeadAttention"),
    *(
        "multi_head_attention_forward",
        "fused_multi_head_attention",
        "TransformerEncoderLayer",
        "flex_attention",
    ),
)


def correlated(x: np.ndarray, w: np.ndarray, stride: int, padding: int) -> np.ndarray:
    """The sum of filter times image, position by position."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    kh, kw = w.shape[2:]
    high, wide = (x.shape[2] - kh) // stride + 1, (x.shape[3] - kw) // stride + 1
    out = np.zeros((x.shape[0], w.shape[0], high, wide))
    for i in range(high):
        for j in range(wide):
            seen = x[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw]
            out[:, :, i, j] = np.einsum("nchw,ochw->no", seen, w)
    return out


def gradients(x: np.ndarray, w: np.ndarray, g: np.ndarray, stride: int, padding: int) -> list[np.ndarray]:
    """Of sum(g * correlated(x, w)) by x and w: each position sends gradients back to the pixels that it has read."""
    wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    of_x, of_w = np.zeros_like(wide), np.zeros(w.shape)
    kh, kw = w.shape[2:]
    for i in range(g.shape[2]):
        for j in range(g.shape[3]):
            place = (
                slice(None),
                slice(None),
                slice(i * stride, i * stride + kh),
                slice(j * stride, j * stride + kw),
            )
            of_x[place] += np.einsum("no,ochw->nchw", g[:, :, i, j], w)
            of_w += np.einsum("no,nchw->ochw", g[:, :, i, j], wide[place])
    inner = slice(padding, -padding or None)
    return [of_x[:, :, inner, inner], of_w]


def conv2d(rng: np.random.Generator) -> Iterator[Case]:
    hint: Text = (
        "The number under w[i, j] at position (r, c) is x[r * stride + i, c * stride + j], in the padded image.",
        "在填充后的图像中，位置 (r, c) 处与 w[i, j] 相乘的是 x[r * stride + i, c * stride + j]。",
    )
    for name, name_zh, shape, filters, stride, padding in (
        ("three channels, four filters", "三个通道，四个滤波器", (2, 3, 7, 6), (4, 3, 3, 3), 1, 0),
        ("a filter that is not square", "非方形的滤波器", (1, 2, 6, 9), (3, 2, 2, 4), 1, 0),
        ("a border of two", "填充两圈零", (2, 1, 5, 5), (2, 1, 3, 3), 1, 2),
        ("steps of two", "步幅为二", (2, 2, 9, 8), (3, 2, 3, 3), 2, 1),
    ):
        x, w = rng.normal(size=shape), rng.normal(size=filters)
        value = correlated(x, w, stride, padding)
        g = rng.normal(size=value.shape)
        settings = {"stride": stride, "padding": padding}
        slopes = gradients(x, w, g, stride, padding)
        yield Case((name, name_zh), "function", ([x, w], g, settings), (value, slopes), hint)
    x, w, b = (rng.normal(size=s).astype(np.float32) for s in ((2, 3, 8, 8), (5, 3, 3, 3), (5,)))
    value = correlated(x, w, 2, 1) + b[:, None, None]
    g = rng.normal(size=value.shape).astype(np.float32)
    yield Case(
        name=("the library's Conv2D", "库的 Conv2D 层"),
        driver="convolution_layer",
        args=(x, w, b, g, {"stride": 2, "padding": 1}),
        expected=(value, [*gradients(x, w, g, 2, 1), g.sum((0, 2, 3))]),
        hint=hint,
        **CLOSE,
    )


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def lstm(
    x: np.ndarray, w: dict[str, np.ndarray], h: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One step (Hochreiter and Schmidhuber 1997, with the forget gate of Gers 2000)."""
    wide = {name: value.astype(np.float64) for name, value in w.items()}
    gates = x @ wide["weight_ih"].T + wide["bias_ih"] + h @ wide["weight_hh"].T + wide["bias_hh"]
    i, f, g, o = np.split(gates, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def lstm_cell(rng: np.random.Generator) -> Iterator[Case]:
    hint: Text = (
        "In the long row the order is input gate, forget gate, candidate, output gate.",
        "长向量的次序是：输入门、遗忘门、候选值、输出门。",
    )

    def weights(inputs: int, size: int) -> dict[str, np.ndarray]:
        shapes = {
            "weight_ih": (4 * size, inputs),
            "weight_hh": (4 * size, size),
            "bias_ih": (4 * size,),
            "bias_hh": (4 * size,),
        }
        return {name: rng.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}

    for name, name_zh, batch, inputs, size in (
        ("one step", "一步", 5, 4, 30),
        ("a state of one number", "只有一个数的状态", 3, 2, 1),
    ):
        w = weights(inputs, size)
        x, h, c = (rng.normal(size=(batch, n)).astype(np.float32) for n in (inputs, size, size))
        new, kept = lstm(x, w, h, c)
        yield Case((name, name_zh), "cell", (x, w, [h, c]), (new, [new, kept]), hint, **CLOSE)
    w = weights(3, 6)
    x = rng.normal(size=(4, 3)).astype(np.float32)
    zeros = np.zeros((4, 6))
    new, kept = lstm(x, w, zeros, zeros)
    yield Case(
        name=("without states: from zero", "没有状态：从零开始"),
        driver="cell",
        args=(x, w, None),
        expected=(new, [new, kept]),
        hint=("self.get_initial_states(inputs) gives zeros.", "self.get_initial_states(inputs) 给出零。"),
        **CLOSE,
    )
    x, g = rng.normal(size=(3, 9, 3)).astype(np.float32), rng.normal(size=(3, 9, 6)).astype(np.float32)
    outputs, h, c = run(x, w)
    slopes = [slope(x, w, g, name, rng) for name in w]
    yield Case(
        name=("nine steps by the library's RNN", "库的 RNN 走九步"),
        driver="sequence",
        args=(x, w, g),
        expected=(outputs, h, c, slopes),
        hint=hint,
        rtol=5e-3,
        atol=2e-3,
    )


def run(x: np.ndarray, w: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    h = c = np.zeros((x.shape[0], w["weight_hh"].shape[1]))
    outputs = []
    for t in range(x.shape[1]):
        h, c = lstm(x[:, t].astype(np.float64), w, h, c)
        outputs.append(h)
    return np.stack(outputs, 1), h, c


def slope(
    x: np.ndarray, w: dict[str, np.ndarray], g: np.ndarray, name: str, rng: np.random.Generator
) -> np.ndarray:
    """The gradient of sum(g * outputs) by one weight, by central differences in float64."""
    step, made = 1e-5, np.zeros(w[name].shape)
    wide = {key: value.astype(np.float64) for key, value in w.items()}
    for place in np.ndindex(made.shape):
        sides = []
        for sign in (1, -1):
            moved = {**wide, name: wide[name].copy()}
            moved[name][place] += sign * step
            sides.append((g * run(x, moved)[0]).sum())
        made[place] = (sides[0] - sides[1]) / (2 * step)
    return made


def attended(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, causal: bool
) -> np.ndarray:
    """Token by token and head by head (Vaswani et al. 2017, formula 1)."""
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    out = np.zeros((*q.shape[:3], v.shape[3]))
    for n, t, head in np.ndindex(q.shape[:3]):
        scores = k[n, :, head] @ q[n, t, head] / np.sqrt(q.shape[3])
        if mask is not None:
            scores = scores + mask[n, head, t]
        if causal:
            scores = np.where(np.arange(k.shape[1]) <= t, scores, -np.inf)
        shares = np.exp(scores - scores.max())
        out[n, t, head] = shares / shares.sum() @ v[n, :, head]
    return out


def attention(rng: np.random.Generator) -> Iterator[Case]:
    hint: Text = (
        "softmax(q k^T / sqrt(features) + mask) v, separately for each head.",
        "每个头各自计算 softmax(q k^T / sqrt(特征数) + mask) v。",
    )

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    for name, name_zh, keys, causal in (
        ("two texts, three heads, eight features", "两段文本，三个头，八个特征", 5, False),
        ("more keys than queries", "键比查询多", 9, False),
        ("causal: earlier tokens only", "因果：只看过去的词元", 5, True),
    ):
        q, k, v = draw(2, 5, 3, 8), draw(2, keys, 3, 8), draw(2, keys, 3, 8)
        value = attended(q, k, v, None, causal)
        args = (q, k, v, None, 0.0, causal)
        yield Case((name, name_zh), "on_tensors", args, value, hint, **CLOSE)
    q, k, v, mask = draw(1, 6, 2, 4), draw(1, 6, 2, 4), draw(1, 6, 2, 4), draw(1, 2, 6, 6)
    yield Case(
        name=("a mask that is added", "相加的掩码"),
        driver="on_tensors",
        args=(q, k, v, mask),
        expected=attended(q, k, v, mask, False),
        hint=(
            "attn_mask is added to the scores before the softmax.",
            "attn_mask 在 softmax 之前加到分数上。",
        ),
        **CLOSE,
    )
    width, heads = 12, 3
    x = draw(2, 7, width)
    weights: dict[str, Any] = {
        "c_attn__weight": 0.5 * draw(width, 3 * width),
        "c_attn__bias": draw(3 * width),
        "c_proj__weight": draw(width, width),
        "c_proj__bias": draw(width),
    }
    mixed = (x.astype(np.float64) @ weights["c_attn__weight"] + weights["c_attn__bias"]).reshape(
        2, 7, 3, heads, -1
    )
    looked = attended(mixed[:, :, 0], mixed[:, :, 1], mixed[:, :, 2], None, True).reshape(2, 7, width)
    yield Case(
        name=("inside the library's GPT", "在库的 GPT 里"),
        driver="attention_layer",
        args=(x, heads, weights),
        expected=looked @ weights["c_proj__weight"] + weights["c_proj__bias"],
        hint=hint,
        rtol=2e-3,
        atol=1e-3,
    )


EXERCISES = [
    Exercise("nn.functional.conv2d", 3, "Convolution", "卷积", conv2d, (*FORBIDDEN, *CONVOLUTIONS)),
    Exercise(
        "nn.LSTMCell.forward", 2, "A cell with a memory", "有记忆的单元", lstm_cell, (*FORBIDDEN, *CELLS)
    ),
    Exercise(
        "nn.functional.scaled_dot_product_attention",
        3,
        "Attention",
        "注意力",
        attention,
        (*FORBIDDEN, *ATTENTIONS),
    ),
]
