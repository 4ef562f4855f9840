"""Masks of `memory_efficient_attention`, described by the lengths of the sequences in them.

`materialize(shape, dtype)` gives what is added to the scores, [..., queries, keys]: 0 where a key is seen,
else minus infinity.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from ....dtype import as_dtype, float32
from ....engine.tensor import InvalidArgument, Tensor
from ....ops.joining import concat, split


def _triangle(rows: int, columns: int, offset: int = 0) -> torch.Tensor:
    """bool: whether column <= row + offset."""
    return torch.ones(rows, columns, dtype=torch.bool).tril(offset)


def _added(seen: torch.Tensor, shape: Sequence[int], dtype: Any) -> Tensor:
    mask = torch.zeros(seen.shape, dtype=as_dtype(dtype)).masked_fill_(~seen, -math.inf)
    return Tensor(mask.expand(list(shape)))


class AttentionBias(ABC):
    """What is added to the scores of attention."""

    @abstractmethod
    def materialize(self, shape: Sequence[int], dtype: Any = float32) -> Any:
        """The mask as a Tensor of this shape."""


class LowerTriangularMask(AttentionBias):
    """A query sees the keys up to its own place."""

    def materialize(self, shape: Sequence[int], dtype: Any = float32) -> Any:
        return _added(_triangle(*shape[-2:]), shape, dtype)

    def add_bias(self, bias: Any) -> "LowerTriangularMaskWithTensorBias":
        return LowerTriangularMaskWithTensorBias(bias)


class LowerTriangularMaskWithTensorBias(LowerTriangularMask):
    """LowerTriangularMask, and a Tensor that is added to the scores."""

    def __init__(self, bias: Any) -> None:
        self._bias = bias

    def materialize(self, shape: Sequence[int], dtype: Any = float32) -> Any:
        return super().materialize(shape, dtype) + self._bias


@dataclass
class SeqLenInfo:
    """Sequences one after the other: sequence i is places seqstart[i] to seqstart[i + 1] (int32)."""

    seqstart: Any
    max_seqlen: int
    seqstart_py: list[int]

    def intervals(self) -> Iterator[tuple[int, int]]:
        yield from pairwise(self.seqstart_py)

    @classmethod
    def from_seqlens(cls, seqlens: Sequence[int]) -> "SeqLenInfo":
        starts = [0]
        for length in seqlens:
            starts.append(starts[-1] + length)
        return cls(Tensor(torch.tensor(starts, dtype=torch.int32)), max(seqlens, default=-1), starts)

    def split(self, x: Any, batch_sizes: Sequence[int] | None = None) -> list[Any]:
        """x [1, all places, ...] cut into [n, time, ...], n of `batch_sizes` sequences together (1 each)."""
        if x.shape[0] != 1 or x.shape[1] != self.seqstart_py[-1]:
            raise InvalidArgument(f"x: expected [1, {self.seqstart_py[-1]}, ...], got {list(x.shape)}")
        sizes = [1] * (len(self.seqstart_py) - 1) if batch_sizes is None else list(batch_sizes)
        ends, at = [], 0
        for size in sizes:
            ends.append(self.seqstart_py[at + size] - self.seqstart_py[at])
            at += size
        parts = split(x, ends, axis=1)
        return [part.reshape([n, -1, *x.shape[2:]]) for n, part in zip(sizes, parts, strict=True)]


@dataclass
class PaddedSeqLenInfo(SeqLenInfo):
    """Sequences with padding after each: sequence i has seqlen[i] places from seqstart[i] on."""

    seqlen: Any
    seqlen_py: Sequence[int]

    def intervals(self) -> Iterator[tuple[int, int]]:
        for (start, _), length in zip(super().intervals(), self.seqlen_py, strict=True):
            yield start, start + length

    @classmethod
    def from_seqlens(cls, seqlens: Sequence[int]) -> "SeqLenInfo":
        raise NotImplementedError("use SeqLenInfo.from_seqlens or PaddedSeqLenInfo.from_seqlens_padded")

    @classmethod
    def from_seqlens_padded(cls, seqlens: Sequence[int], padding: int) -> "PaddedSeqLenInfo":
        if any(length > padding for length in seqlens):
            raise InvalidArgument(
                f"padding: expected at least {max(seqlens)}, the longest sequence, got {padding}"
            )
        starts = list(range(0, len(seqlens) * padding + 1, padding))
        own, at = (Tensor(torch.tensor(list(v), dtype=torch.int32)) for v in (seqlens, starts))
        return cls(at, max(seqlens), starts, own, seqlens)

    def split(self, x: Any, batch_sizes: Sequence[int] | None = None) -> list[Any]:
        raise NotImplementedError("sequences with padding are not split")


def _blocks(mask: Any, shape: Sequence[int], dtype: Any, block: Any) -> Any:
    """The blocks of the sequences of a mask: `block(i, queries, keys)` is the bool block of sequence i."""
    queries, keys = mask.q_seqinfo, mask.k_seqinfo
    wanted = [queries.seqstart_py[-1], keys.seqstart_py[-1]]
    if list(shape[-2:]) != wanted:
        raise InvalidArgument(f"shape: expected {wanted} at the end, got {list(shape)}")
    seen = torch.zeros(wanted, dtype=torch.bool)
    for i, ((q, q_end), (k, k_end)) in enumerate(zip(queries.intervals(), keys.intervals(), strict=True)):
        seen[q:q_end, k:k_end] = block(i, q_end - q, k_end - k)
    return _added(seen, shape, dtype)


def _one_row(tensors: Sequence[Any]) -> Any:
    """Batches [n, time, ...] as one row [1, all places, ...]."""
    return concat([x.reshape([1, -1, *x.shape[2:]]) for x in tensors], 1)


@dataclass
class BlockDiagonalMask(AttentionBias):
    """A query sees the keys of its own sequence."""

    q_seqinfo: SeqLenInfo
    k_seqinfo: SeqLenInfo
    _batch_sizes: Sequence[int] | None = None

    def materialize(self, shape: Sequence[int], dtype: Any = float32) -> Any:
        return _blocks(self, shape, dtype, lambda _, queries, keys: True)

    @classmethod
    def from_seqlens(cls, q_seqlen: Sequence[int], kv_seqlen: Sequence[int] | None = None) -> Any:
        queries = SeqLenInfo.from_seqlens(q_seqlen)
        if kv_seqlen is None or list(kv_seqlen) == list(q_seqlen):
            return cls(queries, queries)
        if len(kv_seqlen) != len(q_seqlen):
            raise InvalidArgument(f"kv_seqlen: expected {len(q_seqlen)} lengths, got {len(kv_seqlen)}")
        return cls(queries, SeqLenInfo.from_seqlens(kv_seqlen))

    @classmethod
    def from_tensor_list(cls, tensors: Sequence[Any]) -> tuple[Any, Any]:
        """The mask of batches [n, time, ...], and these as one row [1, all places, ...]."""
        mask = cls.from_seqlens([x.shape[1] for x in tensors for _ in range(x.shape[0])])
        mask._batch_sizes = [x.shape[0] for x in tensors]
        return mask, _one_row(tensors)

    @classmethod
    def from_tensor_lists_qkv(
        cls, tensors_q: Sequence[Any], tensors_k: Sequence[Any], tensors_v: Sequence[Any] | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """The mask of queries and keys in batches, and queries, keys and values as one row each."""
        if len(tensors_k) != len(tensors_q) or any(
            q.shape[0] != k.shape[0] for q, k in zip(tensors_q, tensors_k, strict=True)
        ):
            raise InvalidArgument("tensors_k: expected as many batches as tensors_q, of the same sizes")
        lengths = ([x.shape[1] for x in given for _ in range(x.shape[0])] for given in (tensors_q, tensors_k))
        mask = cls.from_seqlens(*lengths)
        mask._batch_sizes = [x.shape[0] for x in tensors_q]
        values = None if tensors_v is None else _one_row(tensors_v)
        return mask, _one_row(tensors_q), _one_row(tensors_k), values

    def split_queries(self, tensor: Any) -> list[Any]:
        return self.q_seqinfo.split(tensor, self._batch_sizes)

    def split_kv(self, tensor: Any) -> list[Any]:
        return self.k_seqinfo.split(tensor, self._batch_sizes)

    def split(self, tensor: Any) -> list[Any]:
        """The rows as the batches that they were; queries and keys must have the same lengths."""
        if self.q_seqinfo is not self.k_seqinfo:
            raise InvalidArgument("split: expected queries and keys of the same lengths")
        return self.split_queries(tensor)

    def make_causal(self) -> "BlockDiagonalCausalMask":
        return BlockDiagonalCausalMask(self.q_seqinfo, self.k_seqinfo, self._batch_sizes)


@dataclass
class BlockDiagonalCausalMask(BlockDiagonalMask):
    """A query sees the keys of its own sequence up to its own place."""

    def materialize(self, shape: Sequence[int], dtype: Any = float32) -> Any:
        return _blocks(self, shape, dtype, lambda _, queries, keys: _triangle(queries, keys))


@dataclass
class BlockDiagonalCausalWithOffsetPaddedKeysMask(AttentionBias):
    """A query at place t of sequence i sees the keys of that sequence up to t + causal_diagonal[i]; keys are
    padded."""

    q_seqinfo: SeqLenInfo
    k_seqinfo: PaddedSeqLenInfo
    causal_diagonal: Any = None

    def materialize(self, shape: Sequence[int], dtype: Any = float32) -> Any:
        given = self.causal_diagonal
        offsets = [0] * len(self.k_seqinfo.seqlen_py) if given is None else given.tolist()
        return _blocks(self, shape, dtype, lambda i, queries, keys: _triangle(queries, keys, int(offsets[i])))

    @classmethod
    def from_seqlens(
        cls, q_seqlen: Sequence[int], kv_padding: int, kv_seqlen: Sequence[int], causal_diagonal: Any = None
    ) -> Any:
        if len(kv_seqlen) != len(q_seqlen):
            raise InvalidArgument(f"kv_seqlen: expected {len(q_seqlen)} lengths, got {len(kv_seqlen)}")
        keys = PaddedSeqLenInfo.from_seqlens_padded(kv_seqlen, kv_padding)
        return cls(SeqLenInfo.from_seqlens(q_seqlen), keys, causal_diagonal)
