"""GPT: a decoder of transformer blocks that predicts the next token (Radford et al. 2019, "GPT-2").

Parameters have GPT-2's names and shapes, so a GPT-2 checkpoint (safetensors) loads by `set_state_dict`.
"""

import math
from typing import Any

import numpy as np
import torch

from .. import nn
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, Tensor
from ..nn import functional as F
from ..ops import concat
from ..random import multinomial


def _drawn(std: float) -> nn.ParamAttr:
    return nn.ParamAttr(initializer=nn.initializer.Normal(0.0, std))


class Attention(nn.Layer):
    """Causal self-attention (Vaswani et al. 2017): softmax(q k^T / sqrt(d)) v in every head."""

    def __init__(self, width: int, heads: int, dropout: float, std: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.c_attn = nn.Linear(width, 3 * width, _drawn(0.02))
        self.c_proj = nn.Linear(width, width, _drawn(std))

    def forward(self, x: Any) -> Any:
        batch, time, width = x.shape
        qkv = self.c_attn(x).reshape([batch, time, 3, self.heads, width // self.heads])
        q, k, v = qkv.unbind(2)  # each [batch, time, heads, width / heads]
        drop = {"dropout_p": self.dropout, "training": self.training}
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, **drop)
        return self.c_proj(mixed.reshape([batch, time, width]))


class MLP(nn.Layer):
    """Two linear layers with GELU; the hidden layer is four times as wide."""

    def __init__(self, width: int, std: float) -> None:
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width, _drawn(0.02))
        self.c_proj = nn.Linear(4 * width, width, _drawn(std))

    def forward(self, x: Any) -> Any:
        return self.c_proj(F.gelu(self.c_fc(x), True))


class Block(nn.Layer):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, width: int, heads: int, dropout: float, std: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, dropout, std)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = MLP(width, std)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Any) -> Any:
        x = x + self.drop(self.attn(self.ln_1(x)))
        return x + self.drop(self.mlp(self.ln_2(x)))


class GPT(nn.Layer):
    """Token and position embeddings, `num_layers` blocks, a final norm, and an output layer tied to the token
    embedding.

    The defaults are GPT-2's smallest model (124,439,808 parameters). forward: ids [batch, time], time at most
    `context`, to logits [batch, time, vocab_size].
    """

    def __init__(
        self,
        vocab_size: int = 50257,
        context: int = 1024,
        num_layers: int = 12,
        num_heads: int = 12,
        width: int = 768,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        if width % num_heads:
            raise InvalidArgument(f"width: expected a multiple of num_heads={num_heads}, got {width}")
        self.context = context
        self.wte = nn.Embedding(vocab_size, width, weight_attr=_drawn(0.02))
        self.wpe = nn.Embedding(context, width, weight_attr=_drawn(0.01))
        self.drop = nn.Dropout(dropout)
        # The residual projections start with a standard deviation scaled by 1 / sqrt(2 num_layers) (GPT-2,
        # 2.3).
        std = 0.02 / math.sqrt(2 * num_layers)
        self.h = nn.LayerList([Block(width, num_heads, dropout, std) for _ in range(num_layers)])
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids: Any) -> Any:
        time = ids.shape[1]
        if time > self.context:
            raise InvalidArgument(
                f"ids: expected at most context={self.context} tokens in each row, got {time}"
            )
        x = self.drop(self.wte(ids) + self.wpe.weight[:time])
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T

    def loss(self, ids: Any, targets: Any) -> Any:
        """Mean cross-entropy in nats per token; targets [batch, time]: the ids shifted by one token."""
        logits = self(ids)
        return F.cross_entropy(logits.reshape([-1, logits.shape[-1]]), targets.reshape([-1]))

    @no_grad()
    def generate(
        self, ids: Any, max_new_tokens: int, temperature: float = 1.0, top_k: int | None = None
    ) -> Any:
        """`ids` [batch, time] followed by tokens sampled from softmax(logits / temperature).

        temperature 0: greedy decoding. top_k: sample from the k most probable tokens. `paddle.seed` makes the
        result reproducible. The layer's training mode is restored.
        """
        if temperature < 0:
            raise InvalidArgument(f"temperature: expected 0 or more, got {temperature}")
        training = self.training
        self.eval()
        ids = ids if isinstance(ids, Tensor) else Tensor(torch.as_tensor(np.asarray(ids)))
        for _ in range(max_new_tokens):
            logits = self(ids[:, -self.context :])[:, -1]  # [batch, vocab_size]
            if temperature == 0:
                chosen = logits.argmax(-1, keepdim=True)
            else:
                if top_k is not None:
                    least = logits.topk(min(top_k, logits.shape[-1]))[0][:, -1:]
                    logits = logits.masked_fill(logits < least, -math.inf)
                chosen = multinomial(F.softmax(logits / temperature), 1)
            ids = concat([ids, chosen.astype(ids.dtype)], 1)
        if training:
            self.train()
        return ids
