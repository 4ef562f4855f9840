"""Blocks of transformers with dropout, a residual and layer normalisation (Vaswani et al. 2017)."""

from typing import Any

from .....engine.tensor import InvalidArgument, InvalidType, Tensor
from .....nn.functional.attention import attention
from .....nn.functional.regularization import dropout
from .....nn.transformer import _added
from .....ops.activation import gelu, relu
from .....ops.attention import attend
from .....ops.joining import concat, stack
from .....ops.linalg import linear
from .norms import layer_norm

_MODES = ("upscale_in_train", "downscale_in_infer")
_ACTIVATIONS = {"gelu": gelu, "relu": relu}


def _check(mode: str, **rates: Any) -> None:
    if mode not in _MODES:
        raise InvalidArgument(f"mode: expected 'upscale_in_train' or 'downscale_in_infer', got {mode!r}")
    for name, rate in rates.items():
        if not isinstance(rate, int | float):
            raise InvalidType(f"{name}: expected a number, got {type(rate).__name__}")
        if not 0 <= rate <= 1:
            raise InvalidArgument(f"{name}: expected a number from 0 to 1, got {rate}")


def _alone(ring_id: int) -> None:
    if ring_id != -1:
        raise InvalidArgument(
            f"ring_id: expected -1, got {ring_id}; for tensor parallelism use fleet.meta_parallel's layers"
        )


def _joined(x: Any, residual: Any, bias: Any, p: float, training: bool, mode: str, norm: Any = None) -> Any:
    """norm(residual + dropout(x + bias)); what is None is left out."""
    value = dropout(x if bias is None else x + bias, p, training=training, mode=mode)
    value = value if residual is None else residual + value
    return value if norm is None else layer_norm(value, *norm)


def fused_dropout_add(x, y, p=0.5, training=True, mode="upscale_in_train", name=None) -> Tensor:
    """dropout(x) + y; p and mode as in `nn.functional.dropout`."""
    return dropout(x, p, training=training, mode=mode) + y


def fused_bias_dropout_residual_layer_norm(
    x,
    residual,
    bias=None,
    ln_scale=None,
    ln_bias=None,
    dropout_rate=0.5,
    ln_epsilon=1e-5,
    training=True,
    mode="upscale_in_train",
    name=None,
) -> Tensor:
    """layer_norm(residual + dropout(x + bias)): x and residual [..., d]; bias, ln_scale and ln_bias [d] or
    None."""
    _check(mode, dropout_rate=dropout_rate)
    if list(residual.shape) != list(x.shape):
        raise InvalidArgument(
            f"residual: expected the shape of x, {list(x.shape)}, got {list(residual.shape)}"
        )
    for label, given in (("bias", bias), ("ln_scale", ln_scale), ("ln_bias", ln_bias)):
        if given is not None and list(given.shape) != [x.shape[-1]]:
            raise InvalidArgument(f"{label}: expected shape [{x.shape[-1]}], got {list(given.shape)}")
    return _joined(x, residual, bias, dropout_rate, training, mode, (ln_scale, ln_bias, ln_epsilon))


def fused_feedforward(
    x,
    linear1_weight,
    linear2_weight,
    linear1_bias=None,
    linear2_bias=None,
    ln1_scale=None,
    ln1_bias=None,
    ln2_scale=None,
    ln2_bias=None,
    dropout1_rate=0.5,
    dropout2_rate=0.5,
    activation="relu",
    ln1_epsilon=1e-5,
    ln2_epsilon=1e-5,
    pre_layer_norm=False,
    training=True,
    mode="upscale_in_train",
    ring_id=-1,
    add_residual=True,
    name=None,
) -> Tensor:
    """x + dropout2(linear2(dropout1(activation(linear1(norm1(x)))))) with pre_layer_norm, else norm2 of x +
    ...(linear1(x)).

    x: [batch, time, d]; linear1_weight [d, m], linear2_weight [m, d]; activation "relu" or "gelu".
    add_residual: whether x is added; needed without pre_layer_norm.
    """
    _check(mode, dropout1_rate=dropout1_rate, dropout2_rate=dropout2_rate)
    _alone(ring_id)
    _check_residual(add_residual, pre_layer_norm)
    if activation not in _ACTIVATIONS:
        raise InvalidArgument(f"activation: expected 'relu' or 'gelu', got {activation!r}")
    value = layer_norm(x, ln1_scale, ln1_bias, ln1_epsilon) if pre_layer_norm else x
    value = _ACTIVATIONS[activation](linear(value, linear1_weight, linear1_bias))
    value = linear(dropout(value, dropout1_rate, training=training, mode=mode), linear2_weight)
    norm = None if pre_layer_norm else (ln2_scale, ln2_bias, ln2_epsilon)
    return _joined(value, x if add_residual else None, linear2_bias, dropout2_rate, training, mode, norm)


def _check_residual(add_residual: bool, pre_layer_norm: bool) -> None:
    if not add_residual and not pre_layer_norm:
        raise InvalidArgument("add_residual: expected True without pre_layer_norm")


def fused_multi_head_attention(
    x,
    qkv_weight,
    linear_weight,
    pre_layer_norm=False,
    pre_ln_scale=None,
    pre_ln_bias=None,
    ln_scale=None,
    ln_bias=None,
    pre_ln_epsilon=1e-05,
    qkv_bias=None,
    linear_bias=None,
    cache_kv=None,
    attn_mask=None,
    dropout_rate=0.5,
    attn_dropout_rate=0.5,
    ln_epsilon=1e-05,
    training=True,
    mode="upscale_in_train",
    ring_id=-1,
    add_residual=True,
    num_heads=-1,
    transpose_qkv_wb=False,
    name=None,
) -> Any:
    """Self-attention: x + dropout(linear(attention(norm(x)))) with pre_layer_norm, else the norm of x +
    ...(attention(x)).

    x: [batch, time, d]. qkv_weight: [3, heads, d / heads, d] and qkv_bias [3, heads, d / heads], or with
    transpose_qkv_wb [d, 3 d] and [3 d] in the same order, and num_heads. linear_weight: [d, d].
    attn_mask: added to the scores, broadcast to [batch, heads, time, keys], or bool or integers, where False
    or 0 hides a key. cache_kv: keys and values of earlier times, [2, batch, heads, times, d / heads]; the
    result is then a pair with the longer cache.
    """
    _check(mode, dropout_rate=dropout_rate, attn_dropout_rate=attn_dropout_rate)
    _alone(ring_id)
    _check_residual(add_residual, pre_layer_norm)
    if x.ndim != 3:
        raise InvalidArgument(f"x: expected 3 axes, got shape {list(x.shape)}")
    batch, time, width = x.shape
    if transpose_qkv_wb:
        _check_joined(width, qkv_weight, qkv_bias, num_heads)
        heads = num_heads
    else:
        shape = list(qkv_weight.shape)
        if len(shape) != 4 or shape[0] != 3 or shape[3] != width or shape[1] * shape[2] != width:
            raise InvalidArgument(
                f"qkv_weight: expected [3, heads, {width} / heads, {width}] for x {[*x.shape]}, got {shape}"
            )
        heads, qkv_weight = shape[1], qkv_weight.reshape([3 * width, width]).t()
        qkv_bias = None if qkv_bias is None else qkv_bias.reshape([3 * width])
    value = layer_norm(x, pre_ln_scale, pre_ln_bias, pre_ln_epsilon) if pre_layer_norm else x
    parts = linear(value, qkv_weight, qkv_bias).reshape([batch, time, 3, heads, width // heads])
    query, key, value = parts.unbind(2)
    cache = None
    if cache_kv is not None:
        old_keys, old_values = (old.transpose([0, 2, 1, 3]) for old in cache_kv.unbind(0))
        key, value = concat([old_keys, key], 1), concat([old_values, value], 1)
        cache = stack([key.transpose([0, 2, 1, 3]), value.transpose([0, 2, 1, 3])], 0)
    mask = _added(attn_mask, query.dtype)
    if attn_dropout_rate and (training or mode != _MODES[0]):
        drop = lambda w: dropout(w, attn_dropout_rate, training=training, mode=mode)
        mixed, _ = attend(query, key, value, mask, False, query.shape[-1] ** -0.5, drop)
    else:
        mixed, _ = attention(query, key, value, mask)
    out = linear(mixed.reshape([batch, time, width]), linear_weight)
    norm = None if pre_layer_norm else (ln_scale, ln_bias, ln_epsilon)
    out = _joined(out, x if add_residual else None, linear_bias, dropout_rate, training, mode, norm)
    return out if cache is None else (out, cache)


def _check_joined(width: int, weight: Any, bias: Any, heads: int) -> None:
    if heads < 1 or width % heads:
        raise InvalidArgument(f"num_heads: expected a divisor of {width} with transpose_qkv_wb, got {heads}")
    if list(weight.shape) != [width, 3 * width]:
        raise InvalidArgument(f"qkv_weight: expected shape {[width, 3 * width]}, got {list(weight.shape)}")
    if bias is not None and list(bias.shape) != [3 * width]:
        raise InvalidArgument(f"qkv_bias: expected shape {[3 * width]}, got {list(bias.shape)}")
