"""wav2vec 2.0: an encoder that is trained on sound without text, and a CTC head.

Seven convolutions turn samples into frames of 20 ms; a convolution over 128 frames adds positions; then
transformer blocks. Shapes: samples [batch, time] to frames [batch, about time / 320, hidden_size]. In the
base layout the first convolution has a group norm and blocks have their norms after the residual; in the
layer-norm layout (`feat_extract_norm="layer"`, `do_stable_layer_norm=True`) every convolution has a layer
norm, and blocks have theirs before.
Source: Baevski et al., wav2vec 2.0, 2020, section 2. Names of settings and parameters are those of the files
that Hugging Face publishes, which `load_published` reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import torch

from .. import nn
from ..engine.operator import operator
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..nn import functional as F
from ..ops import where
from .nn.masks import counted_frames, length_mask

__all__ = ["Wav2Vec2Config", "Wav2Vec2Encoder", "Wav2Vec2ForCTC", "load_published", "published_state"]


@dataclass(frozen=True)
class Wav2Vec2Config:
    """The settings of `config.json` that this network reads; the defaults are those of the base network."""

    vocab_size: int = 32
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    feat_extract_activation: str = "gelu"
    feat_extract_norm: str = "group"
    do_stable_layer_norm: bool = False
    conv_dim: tuple[int, ...] = (512,) * 7
    conv_stride: tuple[int, ...] = (5, 2, 2, 2, 2, 2, 2)
    conv_kernel: tuple[int, ...] = (10, 3, 3, 3, 3, 2, 2)
    conv_bias: bool = False
    num_conv_pos_embeddings: int = 128
    num_conv_pos_embedding_groups: int = 16
    layer_norm_eps: float = 1e-5
    hidden_dropout: float = 0.1
    attention_dropout: float = 0.1
    activation_dropout: float = 0.1
    feat_proj_dropout: float = 0.0
    final_dropout: float = 0.1
    mask_time_prob: float = 0.05
    mask_feature_prob: float = 0.0

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Wav2Vec2Config":
        """From the entries of a `config.json`; others than this network's are left out.

        Raises InvalidArgument for adapters and for sizes that do not fit.
        """
        if settings.get("add_adapter") or settings.get("adapter_attn_dim"):
            raise InvalidArgument("config: expected a network without adapters, got one with them")
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in settings.items() if name in known}
        for name in ("conv_dim", "conv_stride", "conv_kernel"):
            if name in given:
                given[name] = tuple(given[name])
        made = cls(**given)
        made._check()
        return made

    def _check(self) -> None:
        if self.feat_extract_norm not in ("group", "layer"):
            raise InvalidArgument(
                f"feat_extract_norm: expected 'group' or 'layer', got {self.feat_extract_norm!r}"
            )
        if not len(self.conv_dim) == len(self.conv_stride) == len(self.conv_kernel) > 0:
            raise InvalidArgument(
                "conv_dim, conv_stride, conv_kernel: expected equal lengths, got "
                f"{len(self.conv_dim)}, {len(self.conv_stride)} and {len(self.conv_kernel)}"
            )

    def asdict(self) -> dict[str, Any]:
        """The settings as `config.json` holds them."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}


class _ConvLayer(nn.Layer):
    """Convolution without padding, norm, activation: [batch, channels, time] to [batch, more, less time]."""

    def __init__(self, config: Wav2Vec2Config, place: int) -> None:
        super().__init__()
        before = config.conv_dim[place - 1] if place else 1
        width = config.conv_dim[place]
        self.conv = nn.Conv1D(
            before,
            width,
            config.conv_kernel[place],
            config.conv_stride[place],
            bias_attr=None if config.conv_bias else False,
        )
        self.by_frame = config.feat_extract_norm == "layer"
        if self.by_frame:
            self.layer_norm: Any = nn.LayerNorm(width)
        else:
            self.layer_norm = nn.GroupNorm(width, width) if place == 0 else None
        self.activation = getattr(F, config.feat_extract_activation)

    def forward(self, x: Any) -> Any:
        x = self.conv(x)
        if self.by_frame:
            x = self.layer_norm(x.transpose([0, 2, 1])).transpose([0, 2, 1])
        elif self.layer_norm is not None:
            x = self.layer_norm(x)
        return self.activation(x)


class _FeatureExtractor(nn.Layer):
    """Samples [batch, time] to frames [batch, frames, conv_dim[-1]]."""

    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        self.conv_layers = nn.LayerList([_ConvLayer(config, k) for k in range(len(config.conv_dim))])

    def forward(self, samples: Any) -> Any:
        x = samples.unsqueeze(1)
        for layer in self.conv_layers:
            x = layer(x)
        return x.transpose([0, 2, 1])


class _FeatureProjection(nn.Layer):
    """Norm, linear layer to hidden_size, dropout."""

    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(config.conv_dim[-1], config.layer_norm_eps)
        self.projection = nn.Linear(config.conv_dim[-1], config.hidden_size)
        self.dropout = nn.Dropout(config.feat_proj_dropout)

    def forward(self, x: Any) -> Any:
        return self.dropout(self.projection(self.layer_norm(x)))


class _NormalizedConv(nn.Layer):
    """A grouped convolution over time with the weight g v / |v|, the norm taken for each place of the kernel
    (Salimans and Kingma, Weight Normalization, 2016). [batch, channels, time] to the same shape."""

    weight_g: Any
    weight_v: Any
    bias: Any

    def __init__(self, width: int, kernel: int, groups: int) -> None:
        super().__init__()
        self.kernel, self.groups = kernel, groups
        self.weight_v = self.create_parameter([width, width // groups, kernel])
        self.weight_g = self.create_parameter(
            [1, 1, kernel], default_initializer=nn.initializer.Constant(1.0)
        )
        self.bias = self.create_parameter([width], is_bias=True)

    def forward(self, x: Any) -> Any:
        v = self.weight_v
        weight = self.weight_g * v / v.square().sum([0, 1], keepdim=True).sqrt()
        time = x.shape[2]
        return F.conv1d(x, weight, self.bias, padding=self.kernel // 2, groups=self.groups)[:, :, :time]


class _Positions(nn.Layer):
    """Relative positions from a convolution over the frames themselves; [batch, time, width] to the same."""

    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        sizes = (config.num_conv_pos_embeddings, config.num_conv_pos_embedding_groups)
        self.conv = _NormalizedConv(config.hidden_size, *sizes)
        self.activation = getattr(F, config.feat_extract_activation)

    def forward(self, x: Any) -> Any:
        return self.activation(self.conv(x.transpose([0, 2, 1]))).transpose([0, 2, 1])


class _FeedForward(nn.Layer):
    """Linear layer to intermediate_size, activation, linear layer back."""

    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        self.intermediate_dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.output_dense = nn.Linear(config.intermediate_size, config.hidden_size)
        self.intermediate_dropout = nn.Dropout(config.activation_dropout)
        self.output_dropout = nn.Dropout(config.hidden_dropout)
        self.activation = getattr(F, config.hidden_act)

    def forward(self, x: Any) -> Any:
        hidden = self.intermediate_dropout(self.activation(self.intermediate_dense(x)))
        return self.output_dropout(self.output_dense(hidden))


class _Block(nn.Layer):
    """Self-attention and a feed-forward network; each norm after its residual, or before (`norm_first`)."""

    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        width, eps = config.hidden_size, config.layer_norm_eps
        self.norm_first = config.do_stable_layer_norm
        self.attention = nn.MultiHeadAttention(width, config.num_attention_heads, config.attention_dropout)
        self.dropout = nn.Dropout(config.hidden_dropout)
        self.layer_norm, self.final_layer_norm = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.feed_forward = _FeedForward(config)

    def forward(self, x: Any, mask: Any) -> Any:
        if self.norm_first:
            x = x + self.dropout(self.attention(self.layer_norm(x), attn_mask=mask))
            return x + self.feed_forward(self.final_layer_norm(x))
        x = self.layer_norm(x + self.dropout(self.attention(x, attn_mask=mask)))
        return self.final_layer_norm(x + self.feed_forward(x))


class _Blocks(nn.Layer):
    """Positions, then the blocks."""

    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        self.norm_first = config.do_stable_layer_norm
        self.pos_conv_embed = _Positions(config)
        self.layer_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)
        self.layers = nn.LayerList([_Block(config) for _ in range(config.num_hidden_layers)])

    def forward(self, x: Any, valid: Any) -> Any:
        mask = None
        if valid is not None:
            x = where(valid.unsqueeze(-1), x, x * 0.0)
            mask = valid.unsqueeze([1, 2])  # bool [batch, 1, 1, time]
        x = x + self.pos_conv_embed(x)
        x = self.dropout(x if self.norm_first else self.layer_norm(x))
        for layer in self.layers:
            x = layer(x, mask)
        return self.layer_norm(x) if self.norm_first else x


def _convolved(time: Any, steps: Sequence[tuple[int, int]]) -> Any:
    """The length that convolutions with these kernels and strides leave of `time`."""
    for kernel, stride in steps:
        time = (time - kernel) // stride + 1
    return time


@operator()
def convolved_lengths(lengths, steps):
    """`_convolved` of each length, at least 0."""
    return _convolved(lengths, steps).clamp(min=0)


class Wav2Vec2Encoder(nn.Layer):
    """wav2vec 2.0 without a head.

    forward(samples, lengths, masked): samples float [batch, time], of mean 0 and variance 1, at 16 kHz;
    lengths, ints [batch], None: all `time`, nothing is masked; masked, bool [batch, frames], True where the
    learned vector `masked_spec_embed` replaces the frame, as in training. Returns (frames [batch, frames,
    hidden_size], lengths int64 [batch] of frames).
    """

    masked_spec_embed: Any

    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        self.config = config
        self.feature_extractor = _FeatureExtractor(config)
        self.feature_projection = _FeatureProjection(config)
        if config.mask_time_prob > 0 or config.mask_feature_prob > 0:
            drawn = nn.initializer.Uniform(0.0, 1.0)
            self.masked_spec_embed = self.create_parameter([config.hidden_size], default_initializer=drawn)
        else:
            self.masked_spec_embed = None
        self.encoder = _Blocks(config)

    def frames(self, time: Any) -> Any:
        """The number of frames for a number of samples, of an int, or of a buffer or Tensor of ints."""
        steps = list(zip(self.config.conv_kernel, self.config.conv_stride, strict=True))
        if isinstance(time, Tensor | torch.Tensor):
            return convolved_lengths(time, steps)
        return max(_convolved(time, steps), 0)

    def forward(self, samples: Any, lengths: Any = None, masked: Any = None) -> tuple[Tensor, Tensor]:
        weight: Any = self.feature_projection.projection.weight
        if not isinstance(samples, Tensor) or samples.dtype != weight.dtype:
            given = samples.dtype if isinstance(samples, Tensor) else type(samples).__name__
            raise InvalidType(f"samples: expected a Tensor of {weight.dtype}, got {given}")
        if samples.ndim != 2 or samples.shape[0] == 0 or self.frames(samples.shape[1]) == 0:
            raise InvalidArgument(
                "samples: expected [batch, time] of at least one sequence and "
                f"{self._fewest()} samples, got {[*samples.shape]}"
            )
        ends = self.frames(counted_frames(samples, lengths, name="samples"))
        x = self.feature_projection(self.feature_extractor(samples))
        if masked is not None:
            if self.masked_spec_embed is None:
                raise InvalidArgument("masked: this network has no vector for masked frames")
            x = where(masked.unsqueeze(-1), self.masked_spec_embed.expand(x.shape), x)
        valid = None if lengths is None else length_mask(ends, x.shape[1]).to(x.place)
        return self.encoder(x, valid), ends

    def _fewest(self) -> int:
        """The least number of samples that give a frame."""
        count = 1
        for kernel, stride in zip(
            reversed(self.config.conv_kernel), reversed(self.config.conv_stride), strict=True
        ):
            count = (count - 1) * stride + kernel
        return count


class Wav2Vec2Output(NamedTuple):
    """logits: float [batch, frames, vocab_size]; lengths: int64 [batch], the frames of each recording."""

    logits: Tensor
    lengths: Tensor


class Wav2Vec2ForCTC(nn.Layer):
    """The encoder and a linear layer to the logits of CTC. forward takes what the encoder takes."""

    def __init__(self, config: Wav2Vec2Config) -> None:
        super().__init__()
        self.config = config
        self.wav2vec2 = Wav2Vec2Encoder(config)
        self.dropout = nn.Dropout(config.final_dropout)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)

    def forward(self, samples: Any, lengths: Any = None, masked: Any = None) -> Wav2Vec2Output:
        x, ends = self.wav2vec2(samples, lengths, masked)
        return Wav2Vec2Output(self.lm_head(self.dropout(x)), ends)


# The two names under which torch's weight normalisation saves g and v, older and newer.
_RENAMED = {"parametrizations.weight.original0": "weight_g", "parametrizations.weight.original1": "weight_v"}
_PRETRAINING = ("quantizer.", "project_q.", "project_hid.")  # parts that only training without text needs


def _transposed(layer: nn.Layer) -> set[str]:
    """Names of the weights that torch stores as [output, input] and Paddle as [input, output]."""
    return {f"{name}.weight" for name, inner in layer.named_sublayers() if isinstance(inner, nn.Linear)}


def load_published(layer: nn.Layer, state: Mapping[str, Any]) -> None:
    """Fill a Wav2Vec2Encoder or Wav2Vec2ForCTC with parameters under the published names.

    state: torch tensors or arrays by name, of the encoder with or without `wav2vec2.` before each. What only
    pre-training needs is left out. Raises InvalidArgument that lists missing, unknown and misshapen names;
    the layer is then unchanged.
    """
    own, turned = dict(layer.state_dict()), _transposed(layer)
    inside = isinstance(layer, Wav2Vec2Encoder)
    found = {}
    for name, value in state.items():
        for old, new in _RENAMED.items():
            name = name.replace(old, new)
        if inside:
            if name.startswith("lm_head."):
                continue
            name = name.removeprefix("wav2vec2.")
        elif f"wav2vec2.{name}" in own:
            name = f"wav2vec2.{name}"
        if name.startswith(_PRETRAINING):
            continue
        value = torch.as_tensor(value)
        found[name] = value.T if name in turned and value.ndim == 2 else value
    problems = [f"missing {name}" for name in own if name not in found]
    problems += [f"unknown {name}" for name in found if name not in own]
    problems += [
        f"{name} has shape {list(found[name].shape)} instead of {list(value.shape)}"
        for name, value in own.items()
        if name in found and list(found[name].shape) != list(value.shape)
    ]
    if problems:
        more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise InvalidArgument(f"state: {'; '.join(problems[:5])}{more}")
    for name, parameter in own.items():
        parameter.set_value(Tensor(found[name].to(parameter.data.dtype)))


def published_state(layer: nn.Layer) -> dict[str, torch.Tensor]:
    """The parameters as torch tensors under the published names and in torch's shapes, copied."""
    turned = _transposed(layer)
    return {
        name: (value.data.T if name in turned else value.data).clone(memory_format=torch.contiguous_format)
        for name, value in layer.state_dict().items()
    }
