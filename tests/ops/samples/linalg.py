"""Samples of ops/linalg.py, and functions that compute the same by other means."""

import torch

from .declare import sampled

sampled("mm", reference=torch.mm, samples=[((3, 4), (4, 5)), ((0, 2), (2, 3))])
sampled(
    "batched_matmul",
    reference=lambda x, y, a=False, b=False: (x.mT if a else x) @ (y.mT if b else y),
    samples=[
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((4, 3), (4, 5), True),
        ((2, 3, 4), (2, 5, 4), False, True),
    ],
)
sampled(
    "matmul",
    reference=torch.matmul,
    samples=[
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 3)),
    ],
)
sampled("bmm", reference=torch.bmm, samples=[((2, 3, 4), (2, 4, 5))])
sampled("mv", reference=torch.mv, samples=[((3, 4), (4,))])
sampled("dot", reference=lambda x, y: (x * y).sum(-1), samples=[((4,), (4,)), ((2, 3), (2, 3))])
sampled("outer", reference=torch.outer, samples=[((3,), (4,))])
sampled(
    "addmm",
    reference=lambda c, x, y, beta=1.0, alpha=1.0: torch.addmm(c, x, y, beta=beta, alpha=alpha),
    samples=[((3, 5), (3, 4), (4, 5)), ((5,), (3, 4), (4, 5), 0.5, 2.0)],
)
sampled(
    "baddbmm",
    reference=lambda c, x, y, beta=1.0, alpha=1.0: torch.baddbmm(c, x, y, beta=beta, alpha=alpha),
    samples=[((2, 3, 5), (2, 3, 4), (2, 4, 5)), ((2, 3, 5), (2, 3, 4), (2, 4, 5), 0.5, 2.0)],
)
sampled("inner", reference=torch.inner, samples=[((2, 3), (4, 3)), ((3,), (3,)), ((2, 3), ())])
sampled(
    "tensordot",
    reference=lambda x, y, axes=2: torch.tensordot(x, y, axes),
    samples=[((2, 3, 4), (3, 4, 5)), ((2, 3), (4, 2), [[0], [1]]), ((2, 3), (4, 5), 0)],
)
sampled("kron", reference=torch.kron, samples=[((2, 3), (3, 2)), ((2,), (2, 1, 3)), ((), (2, 2))])
sampled(
    "cross_product",
    reference=lambda x, y, a: torch.cross(x, y, a),
    samples=[((2, 3), (2, 3), 1), ((3, 1), (3, 2), 0)],
)
sampled(
    "cross",
    reference=lambda x, y, a=0: torch.cross(x, y, a),
    samples=[((3, 2), (3, 2)), ((2, 3), (2, 3), -1)],
)
sampled(
    "vecdot",
    reference=lambda x, y, a=-1: torch.linalg.vecdot(x, y, dim=a),
    samples=[((2, 3), (2, 3)), ((2, 3), (2, 3), 0)],
)
sampled(
    "trace",
    reference=lambda x, o=0, a=0, b=1: x.diagonal(o, a, b).sum(-1),
    samples=[((3, 4),), ((2, 3, 4), 1, 1, 2)],
)
sampled("matrix_transpose", reference=lambda x: x.mT, samples=[((2, 3, 4),)])
sampled("affine", reference=lambda x, w, b: x @ w + b, samples=[((3, 4), (4, 5), (5,))])
sampled(
    "contract", reference=lambda *xs, letters, output: torch.einsum(f"{','.join(letters)}->{output}", *xs)
)
