"""Distributions of vectors and matrices with dependent entries."""

import math
from numbers import Number
from typing import Any

import numpy as np
import torch

from ...creation import arange, eye
from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...ops import expand, flip
from ...ops.decomposition import cholesky, triangular_solve
from .continuous import Beta, one_shape
from .distribution import Distribution, Family, fact, formula, register_kl, sampler

__all__ = ["LKJCholesky", "MultivariateNormal"]


def _distance(tril: Any, x: Any) -> Any:
    """x^T (L L^T)^-1 x of vectors x [..., n]."""
    return triangular_solve(tril, x.unsqueeze(-1), upper=False).square().sum([-2, -1])


class MultivariateNormal(Family):
    """The normal distribution of vectors [..., n] about `loc`.

    Its spread is one of covariance_matrix C, precision_matrix C^-1 and scale_tril L with C = L L^T, each
    [..., n, n].
    """

    _accepts = (list, Tensor)

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None):
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        named = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(named) != 1:
            raise InvalidArgument(f"expected exactly one of {', '.join(given)}, got {len(named)}")
        name, matrix = named[0]
        if matrix.ndim < 2:
            raise InvalidArgument(f"{name}: expected at least two axes, got shape {[*matrix.shape]}")
        self._settle(loc=[loc] if isinstance(loc, Number) else loc if loc.ndim else loc.unsqueeze(0))
        matrix, n = matrix.astype(self._kind), matrix.shape[-1]
        batch = np.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(self.loc.shape[:-1]))
        Distribution.__init__(self, batch, [n])
        self.loc = expand(self.loc, [*batch, n])
        self.covariance_matrix = self.precision_matrix = self.scale_tril = None
        setattr(self, name, expand(matrix, [*batch, n, n]))
        if name == "scale_tril":
            self._tril = matrix
        elif name == "covariance_matrix":
            self._tril = cholesky(matrix)
        else:  # U U^T = C^-1 with an upper triangle U, so L = U^-T
            upper = flip(cholesky(flip(matrix, [-2, -1])), [-2, -1])
            self._tril = triangular_solve(upper.mT, eye(n, dtype=self._kind), upper=False)

    mean, variance = fact(lambda loc: loc), fact(lambda _tril, loc: expand(_tril.square().sum(-1), loc.shape))
    _half_log_det = fact(lambda _tril: _tril.diagonal(axis1=-2, axis2=-1).log().sum(-1))
    entropy = formula(
        lambda loc, _half_log_det: expand(
            _half_log_det + 0.5 * loc.shape[-1] * (1 + math.log(2 * math.pi)), loc.shape[:-1]
        )
    )
    log_prob = formula(
        lambda value, loc, _tril, _half_log_det: (
            -0.5 * (loc.shape[-1] * math.log(2 * math.pi) + _distance(_tril, value - loc)) - _half_log_det
        )
    )
    rsample = sampler(lambda loc, _tril, normal: loc + (_tril @ normal().unsqueeze(-1)).squeeze(-1))


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Any:
    one_shape(p, q)
    trace = triangular_solve(q._tril, p._tril, upper=False).square().sum([-2, -1])
    distance = _distance(q._tril, p.loc - q.loc)
    return q._half_log_det - p._half_log_det + 0.5 * (trace + distance - p.event_shape[0])


class LKJCholesky(Family):
    """Cholesky factors L of correlation matrices [dim, dim], with density det(L L^T)^(concentration - 1).

    sample_method: "onion" or "cvine" (Lewandowski, Kurowicka and Joe, 2009).
    """

    def __init__(self, dim=2, concentration=1.0, sample_method="onion"):
        if not isinstance(dim, int):
            raise InvalidType(f"dim: expected an int, got {dim!r}")
        if dim < 2:
            raise InvalidArgument(f"dim: expected at least 2, got {dim}")
        if sample_method not in ("onion", "cvine"):
            raise InvalidArgument(f"sample_method: expected 'onion' or 'cvine', got {sample_method!r}")
        self._settle(concentration=concentration)
        if not bool((self.concentration > 0).all()):
            raise InvalidArgument(f"concentration: expected positive values, got {self.concentration}")
        self.dim, self.sample_method, self._event_shape = dim, sample_method, (dim, dim)

    def sample(self, sample_shape=[]):
        whole = self._extend_shape(sample_shape)
        size = self.concentration.data.unsqueeze(-1) + 0.5 * (self.dim - 2)
        step = torch.arange(self.dim - 1, dtype=self._kind, device=size.device) / 2
        if self.sample_method == "onion":  # row by row: a length, and a direction on the sphere
            step = torch.cat([step[:1], step])
            lengths = Beta(Tensor(step + 0.5), Tensor(size - step)).sample(sample_shape).data.sqrt()
            low = torch.randn(whole, dtype=self._kind, device=size.device).tril(-1)
            low[..., 1:, :] *= (lengths[..., 1:] / low[..., 1:, :].norm(dim=-1)).unsqueeze(-1)
            height = (1 - low.square().sum(-1)).clamp(min=torch.finfo(low.dtype).tiny).sqrt()
            return Tensor(low + torch.diag_embed(height))
        rows, columns = torch.tril_indices(self.dim, self.dim, -1)  # partial correlations, one by one
        side = Tensor(size - step[columns])
        partial = size.new_zeros(whole)
        partial[..., rows, columns] = 2 * Beta(side, side).sample(sample_shape).data - 1
        left = (1 - partial.square()).sqrt().cumprod(-1).roll(1, -1)
        left[..., 0] = 1
        return Tensor((partial + torch.eye(self.dim, dtype=self._kind, device=size.device)) * left)

    def log_prob(self, value):
        rest = self.dim - 1
        order = 2 * (self.concentration - 1).unsqueeze(-1) + arange(rest - 1, -1, -1, dtype=self._kind)
        alpha = self.concentration + 0.5 * rest
        steps = arange(rest, dtype=self._kind) / 2 + 0.5
        constant = rest * (rest + 1) / 4 * math.log(math.pi) + (alpha.unsqueeze(-1) - steps).lgamma().sum(-1)
        return (
            (order * value.diagonal(axis1=-2, axis2=-1)[..., 1:].log()).sum(-1)
            - constant
            + rest * alpha.lgamma()
        )
