"""The layers of the fused functions, with Paddle's parameters and their names."""

from typing import Any

from ....dtype import name_of
from ....engine.tensor import InvalidArgument
from ....nn import functional as nn_functional
from ....nn.function_layer import FunctionLayer
from ....nn.initializer import Constant
from ....nn.layer import Layer
from ....nn.linear import WithBias
from ....nn.transformer import _added, _attrs, _positive
from . import functional as F


class FusedLinear(WithBias):
    """y = x W + b: weight [in_features, out_features], or [out_features, in_features] with transpose_weight;
    bias [out_features]."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        transpose_weight: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        shape = [out_features, in_features] if transpose_weight else [in_features, out_features]
        self._create(shape, [out_features], weight_attr, bias_attr)
        self.transpose_weight, self.name = transpose_weight, name

    def forward(self, input: Any) -> Any:
        return F.fused_linear(input, self.weight, self.bias, self.transpose_weight, self.name)


class FusedDropoutAdd(
    FunctionLayer, of=F.fused_dropout_add, inputs=2, takes="p mode name", shows="p mode name?"
):
    """dropout(x) + y of forward(x, y), as `fused_dropout_add`."""


class FusedDropout(
    FunctionLayer, of=nn_functional.dropout, takes="p axis mode name", shows="p axis mode name?"
):
    """Dropout, as `paddle.nn.Dropout`."""


class _Norms(Layer):
    """What creates the parameters of layer normalisation."""

    def _norm(self, scale_attr: Any, bias_attr: Any, width: int, wanted: bool = True) -> tuple[Any, Any]:
        """Scale and bias [width]; None without `wanted`."""
        if not wanted:
            return None, None
        scale = self.create_parameter([width], scale_attr, default_initializer=Constant(1.0))
        return scale, self.create_parameter([width], bias_attr, is_bias=True)


class _Block(_Norms):
    """What the blocks share: `amp.decorate` leaves the parameters of their norms in float32, as in Paddle."""

    def _amp_decorate(self, dtype: Any) -> None:
        for name, parameter in self.named_parameters(include_sublayers=False):
            if "ln" not in name:
                parameter._move(None, dtype)
        self._dtype = name_of(dtype)


def _one_process(nranks: int, ring_id: int) -> None:
    if nranks != 1 or ring_id != -1:
        raise InvalidArgument(
            f"nranks, ring_id: expected 1 and -1, got {nranks} and {ring_id}; for tensor parallelism use the "
            "layers of fleet.meta_parallel"
        )


class FusedBiasDropoutResidualLayerNorm(_Norms):
    """layer_norm(residual + dropout(x + bias)) of forward(x, residual), both [..., embed_dim]."""

    _shows = "embed_dim dropout_rate epsilon:_epsilon dtype:_dtype_name name?"

    def __init__(
        self,
        embed_dim: int,
        dropout_rate: float = 0.5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        epsilon: float = 1e-5,
        name: str | None = None,
    ) -> None:
        super().__init__()
        _positive(embed_dim=embed_dim)
        self.embed_dim, self.dropout_rate, self._epsilon, self.name = embed_dim, dropout_rate, epsilon, name
        self.linear_bias = self.create_parameter([embed_dim], bias_attr, is_bias=True)
        self.ln_scale, self.ln_bias = self._norm(weight_attr, bias_attr, embed_dim)

    def forward(self, x: Any, residual: Any) -> Any:
        given = (self.linear_bias, self.ln_scale, self.ln_bias, self.dropout_rate, self._epsilon)
        return F.fused_bias_dropout_residual_layer_norm(x, residual, *given, self.training)


class FusedMultiHeadAttention(_Block):
    """Self-attention with its norm, dropout and residual, as `fused_multi_head_attention`.

    qkv_weight: [3, num_heads, embed_dim / num_heads, embed_dim], or [embed_dim, 3 embed_dim] with
    transpose_qkv_wb. forward takes the query [batch, time, embed_dim]; key and value are ignored, as in
    Paddle. normalize_before: the norm comes first.
    """

    _shows = (
        "embed_dim num_heads dropout_rate attn_dropout_rate epsilon:_epsilon kdim vdim normalize_before "
        "need_weights dtype:_dtype_name name?"
    )

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout_rate: float = 0.5,
        attn_dropout_rate: float = 0.5,
        kdim: int | None = None,
        vdim: int | None = None,
        normalize_before: bool = False,
        need_weights: bool = False,
        qkv_weight_attr: Any = None,
        qkv_bias_attr: Any = None,
        linear_weight_attr: Any = None,
        linear_bias_attr: Any = None,
        pre_ln_scale_attr: Any = None,
        pre_ln_bias_attr: Any = None,
        ln_scale_attr: Any = None,
        ln_bias_attr: Any = None,
        epsilon: float = 1e-5,
        nranks: int = 1,
        ring_id: int = -1,
        transpose_qkv_wb: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        _positive(embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise InvalidArgument(
                f"embed_dim: expected a multiple of num_heads ({num_heads}), got {embed_dim}"
            )
        if need_weights:
            raise InvalidArgument("need_weights: expected False, as in Paddle")
        _one_process(nranks, ring_id)
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim, self.need_weights, self.name = kdim, vdim, need_weights, name
        self.normalize_before, self.transpose_qkv_wb = normalize_before, transpose_qkv_wb
        self.dropout_rate, self.attn_dropout_rate, self._epsilon = dropout_rate, attn_dropout_rate, epsilon
        bias = [3, num_heads, self.head_dim]
        weight = [*bias, embed_dim]
        if transpose_qkv_wb:
            weight, bias = [embed_dim, 3 * embed_dim], [3 * embed_dim]
        self.qkv_weight = self.create_parameter(weight, qkv_weight_attr)
        self.qkv_bias = self.create_parameter(bias, qkv_bias_attr, is_bias=True)
        self.linear_weight = self.create_parameter([embed_dim, embed_dim], linear_weight_attr)
        self.linear_bias = self.create_parameter([embed_dim], linear_bias_attr, is_bias=True)
        before, after = bool(normalize_before), not normalize_before
        self.pre_ln_scale, self.pre_ln_bias = self._norm(
            pre_ln_scale_attr, pre_ln_bias_attr, embed_dim, before
        )
        self.ln_scale, self.ln_bias = self._norm(ln_scale_attr, ln_bias_attr, embed_dim, after)

    def forward(
        self, query: Any, key: Any = None, value: Any = None, attn_mask: Any = None, cache: Any = None
    ) -> Any:
        return F.fused_multi_head_attention(
            query,
            self.qkv_weight,
            self.linear_weight,
            self.normalize_before,
            self.pre_ln_scale,
            self.pre_ln_bias,
            self.ln_scale,
            self.ln_bias,
            self._epsilon,
            self.qkv_bias,
            self.linear_bias,
            cache,
            _added(attn_mask, query.dtype),
            self.dropout_rate,
            self.attn_dropout_rate,
            self._epsilon,
            self.training,
            num_heads=self.num_heads,
            transpose_qkv_wb=self.transpose_qkv_wb,
        )


class FusedFeedForward(_Block):
    """Two linear layers with activation ("relu" or "gelu"), norm, dropout and residual, as
    `fused_feedforward`. act_dropout_rate: after the activation, dropout_rate unless given."""

    _shows = (
        "d_model:_d_model dim_feedforward:_dim_feedforward dropout_rate:_dropout_rate epsilon:_epsilon "
        "activation:_act_method act_dropout_rate:_act_dropout_rate normalize_before:_normalize_before "
        "dtype:_dtype_name name?"
    )

    def __init__(
        self,
        d_model: int,
        dim_feedforward: int,
        dropout_rate: float = 0.1,
        epsilon: float = 1e-05,
        activation: str = "relu",
        act_dropout_rate: float | None = None,
        normalize_before: bool = False,
        linear1_weight_attr: Any = None,
        linear1_bias_attr: Any = None,
        linear2_weight_attr: Any = None,
        linear2_bias_attr: Any = None,
        ln1_scale_attr: Any = None,
        ln1_bias_attr: Any = None,
        ln2_scale_attr: Any = None,
        ln2_bias_attr: Any = None,
        nranks: int = 1,
        ring_id: int = -1,
        name: str | None = None,
    ) -> None:
        super().__init__()
        _positive(d_model=d_model, dim_feedforward=dim_feedforward)
        _one_process(nranks, ring_id)
        self._d_model, self._dim_feedforward, self.name = d_model, dim_feedforward, name
        self._dropout_rate, self._epsilon, self._act_method = dropout_rate, epsilon, activation
        self._act_dropout_rate = dropout_rate if act_dropout_rate is None else act_dropout_rate
        self._normalize_before = normalize_before
        self._linear1_weight = self.create_parameter([d_model, dim_feedforward], linear1_weight_attr)
        self._linear1_bias = self.create_parameter([dim_feedforward], linear1_bias_attr, is_bias=True)
        self._linear2_weight = self.create_parameter([dim_feedforward, d_model], linear2_weight_attr)
        self._linear2_bias = self.create_parameter([d_model], linear2_bias_attr, is_bias=True)
        before, after = bool(normalize_before), not normalize_before
        self._ln1_scale, self._ln1_bias = self._norm(ln1_scale_attr, ln1_bias_attr, d_model, before)
        self._ln2_scale, self._ln2_bias = self._norm(ln2_scale_attr, ln2_bias_attr, d_model, after)

    def forward(self, src: Any, cache: Any = None) -> Any:
        return F.fused_feedforward(
            src,
            self._linear1_weight,
            self._linear2_weight,
            self._linear1_bias,
            self._linear2_bias,
            self._ln1_scale,
            self._ln1_bias,
            self._ln2_scale,
            self._ln2_bias,
            self._act_dropout_rate,
            self._dropout_rate,
            self._act_method,
            self._epsilon,
            self._epsilon,
            self._normalize_before,
            self.training,
        )


class FusedTransformerEncoderLayer(Layer):
    """FusedMultiHeadAttention `fused_attn` and FusedFeedForward `ffn`.

    weight_attr, bias_attr: one, or one for each of these two. The norm of fused_attn takes them too, that of
    ffn does not, as in Paddle. src_mask: as attn_mask of `fused_multi_head_attention`.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout_rate: float = 0.1,
        activation: str = "relu",
        attn_dropout_rate: float | None = None,
        act_dropout_rate: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        self._config = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        super().__init__()
        _positive(d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        self.normalize_before = normalize_before
        weights, biases = _attrs(weight_attr, 2, "weight_attr"), _attrs(bias_attr, 2, "bias_attr")
        attn_dropout_rate = dropout_rate if attn_dropout_rate is None else attn_dropout_rate
        of_attention = dict.fromkeys(
            ("qkv_weight_attr", "linear_weight_attr", "pre_ln_scale_attr", "ln_scale_attr"), weights[0]
        ) | dict.fromkeys(
            ("qkv_bias_attr", "linear_bias_attr", "pre_ln_bias_attr", "ln_bias_attr"), biases[0]
        )
        self.fused_attn = FusedMultiHeadAttention(
            d_model, nhead, dropout_rate, attn_dropout_rate, normalize_before=normalize_before, **of_attention
        )
        self.ffn = FusedFeedForward(
            d_model,
            dim_feedforward,
            dropout_rate,
            activation=activation,
            act_dropout_rate=act_dropout_rate,
            normalize_before=normalize_before,
            linear1_weight_attr=weights[1],
            linear1_bias_attr=biases[1],
            linear2_weight_attr=weights[1],
            linear2_bias_attr=biases[1],
        )

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        found = self.fused_attn(src, attn_mask=src_mask, cache=cache)
        if cache is None:
            return self.ffn(found)
        return self.ffn(found[0]), found[1]
