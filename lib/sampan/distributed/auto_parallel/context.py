"""Context parallelism: each process has a part of every sequence, and in attention a part of the heads.

The mesh's axis is "sep". It is the scheme of DeepSpeed-Ulysses (Jacobs et al. 2023, arXiv 2309.14509): an
exchange before attention brings [batch, time / n, heads, width] to [batch, time, heads / n, width], one after
it back.
"""

from __future__ import annotations

from typing import Any

from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...nn import Layer
from .api import reshard
from .placements import Replicate, Shard
from .plans import PlanBase
from .process_mesh import ProcessMesh


def _axis(plan: PlanBase, mesh: ProcessMesh) -> int:
    if "sep" not in mesh.dim_names:
        raise InvalidArgument(f"{type(plan).__name__}: expected a mesh with an axis 'sep', got {mesh}")
    return mesh.dim_names.index("sep")


class _Context(PlanBase):
    def __init__(self, backend: str = "p2p") -> None:
        if backend not in ("p2p", "all2all"):
            raise AssertionError(f"backend must be 'p2p' or 'all2all', but got {backend}")
        self.backend = backend

    def _refuse_ring(self) -> None:
        """InvalidArgument for "p2p": Ring FlashAttention passes keys and values between GPU kernels."""
        if self.backend == "p2p":
            raise InvalidArgument(
                f"{type(self).__name__}: backend: 'p2p' (Ring FlashAttention) needs kernels for GPUs; "
                "use 'all2all', whose values are the same"
            )

    def _cut(self, value: Tensor, mesh: ProcessMesh, ndims: tuple[int, ...]) -> list[Any]:
        """The placements of an input, which must be distributed and have one of these numbers of axes."""
        name = type(self).__name__
        if not (isinstance(value, Tensor) and value.is_dist()):
            raise AssertionError(f"{name}: Input tensor must be a distributed tensor.")
        if value.ndim not in ndims:
            raise AssertionError(f"{name}: expected a tensor with {ndims} axes, got {value.shape}")
        return list(value.placements or [Replicate()] * mesh.ndim)


class PrepareContextParallel(_Context):
    """Before this layer the time axis of its inputs [batch, time] is cut: for the first layer of a network.

    backend: "all2all"; "p2p" is refused by `parallelize`.
    """

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        self._refuse_ring()
        axis = _axis(self, process_mesh)
        parts = process_mesh.shape[axis]

        def part(value: Tensor) -> Tensor:
            lies = self._cut(value, process_mesh, (2,))
            if value.shape[1] % parts:
                raise AssertionError(
                    f"sequence length {value.shape[1]} must be divisible by cp degree {parts}"
                )
            lies[axis] = Shard(1)
            return reshard(value, process_mesh, lies)

        layer.register_forward_pre_hook(lambda _, inputs: tuple(map(part, inputs)))


class ContextParallel(_Context):
    """This layer, which calls `scaled_dot_product_attention` with query, key and value [batch, time, heads,
    width], gets whole sequences of some heads; outside, the time axis is cut.

    backend: "all2all"; "p2p" is refused by `parallelize`.
    """

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        self._refuse_ring()
        axis = _axis(self, process_mesh)

        def turned(value: Tensor, before: int, after: int) -> Tensor:
            lies = self._cut(value, process_mesh, (3, 4))
            if lies[axis] not in (Shard(before), Replicate()):  # a Linear of [batch, time, ...] gathers
                raise AssertionError(
                    f"ContextParallel: expected a tensor that is cut along axis {before}, got {lies}"
                )
            if value.shape[after] % process_mesh.shape[axis]:
                raise InvalidArgument(
                    f"ContextParallel: expected a multiple of {process_mesh.shape[axis]} heads, got "
                    f"{value.shape[after]}"
                )
            lies[axis] = Shard(after)
            return reshard(value, process_mesh, lies)

        layer.register_forward_pre_hook(lambda _, inputs: tuple(turned(v, 1, 2) for v in inputs))
        layer.register_forward_post_hook(lambda _, inputs, output: turned(output, 2, 1))
