"""BERT: an encoder of transformer blocks that reads a text in both directions (Devlin et al. 2018).

Parameters have the names of PaddleNLP's BertModel: `embeddings.word_embeddings.weight`,
`encoder.layers.0.self_attn.q_proj.weight` and so on.
"""

from typing import Any

import torch

from .. import nn
from ..engine.tensor import InvalidArgument, Tensor
from ..nn import functional as F
from ..nn.functional.attention import attention_bias


class Embeddings(nn.Layer):
    """norm(word + position + segment)."""

    def __init__(self, vocab_size: int, width: int, context: int, segments: int, dropout: float) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, width)
        self.position_embeddings = nn.Embedding(context, width)
        self.token_type_embeddings = nn.Embedding(segments, width)
        self.layer_norm = nn.LayerNorm(width, 1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Any, segments: Any) -> Any:
        x = self.word_embeddings(ids) + self.position_embeddings.weight[: ids.shape[1]]
        kinds = self.token_type_embeddings
        x = x + (kinds.weight[0] if segments is None else kinds(segments))
        return self.dropout(self.layer_norm(x))


class Pooler(nn.Layer):
    """tanh of a linear layer, applied to the hidden state of the first token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        return F.tanh(self.dense(x[:, 0]))


class BERT(nn.Layer):
    """BERT. The defaults are BERT base, uncased (109,482,240 parameters).

    forward: ids [batch, time], segments [batch, time] (0 or 1; by default 0) and mask [batch, time] (0 for
    padding; by default 1), to (hidden states [batch, time, width], pooled output [batch, width]).
    """

    def __init__(
        self,
        vocab_size: int = 30522,
        width: int = 768,
        num_layers: int = 12,
        num_heads: int = 12,
        context: int = 512,
        segments: int = 2,
        dropout: float = 0.1,
        pooler: bool = True,
    ) -> None:
        super().__init__()
        self.context = context
        self.embeddings = Embeddings(vocab_size, width, context, segments, dropout)
        more = {"act_dropout": 0.0, "layer_norm_eps": 1e-12}
        block = nn.TransformerEncoderLayer(width, num_heads, 4 * width, dropout, "gelu", **more)
        self.encoder = nn.TransformerEncoder(block, num_layers)
        self.pooler = Pooler(width) if pooler else None
        start = nn.initializer.Normal(0.0, 0.02)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2 and "norm" not in name:
                start(parameter)

    def forward(self, ids: Any, segments: Any = None, mask: Any = None) -> Any:
        if ids.shape[1] > self.context:
            raise InvalidArgument(
                f"ids: expected at most context={self.context} tokens in each row, got {ids.shape[1]}"
            )
        hidden = self.encoder(self.embeddings(ids, segments), None if mask is None else _bias(mask))
        return hidden, None if self.pooler is None else self.pooler(hidden)


def _bias(mask: Any) -> Tensor:
    """[batch, 1, 1, time]: the attention bias, 0 for tokens and the dtype's least value for padding."""
    return attention_bias(mask, torch.float32, torch.finfo(torch.float32).min).unsqueeze([1, 2])


class MaskedLM(nn.Layer):
    """BERT with a masked language model's head: arguments as of BERT, to logits [batch, time, vocab_size].

    The word embedding is tied to the output layer's weight (109,514,298 parameters by default).
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.bert = BERT(**settings, pooler=False)
        words, width = self.bert.embeddings.word_embeddings.weight.shape
        self.transform = nn.Linear(width, width)
        self.layer_norm = nn.LayerNorm(width, 1e-12)
        self.decoder_bias = self.create_parameter([words], is_bias=True)

    def forward(self, ids: Any, segments: Any = None, mask: Any = None) -> Any:
        hidden = self.layer_norm(F.gelu(self.transform(self.bert(ids, segments, mask)[0])))
        return hidden @ self.bert.embeddings.word_embeddings.weight.T + self.decoder_bias
