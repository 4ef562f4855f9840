"""Marks by the names of a mesh's axes, as programs of `paddle.distributed.fleet.auto` write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import random
from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from ..arguments import check_kind
from ..pipeline.recompute import recomputed
from . import api
from .placements import Placement, Replicate, Shard
from .process_mesh import ProcessMesh, current_mesh, set_mesh


def shard_tensor(x: Tensor, process_mesh: ProcessMesh | None = None, shard_spec: Any = None) -> Tensor:
    """`x` as a distributed tensor; one that is distributed already moves to where this says.

    x: the same in every process. process_mesh: by default that of `set_mesh` or of `with mesh:`.
    shard_spec: for each axis of x the name of the axis of the mesh along which it is cut, or None;
    by default x is whole in every process. Gradients reach x.
    """
    mesh = _mesh(process_mesh, "shard_tensor")
    if shard_spec and all(isinstance(one, Placement) for one in shard_spec):
        placements = list(shard_spec)  # as of paddle.distributed.shard_tensor
    else:
        placements = _placements(shard_spec, x.ndim, mesh, "shard_tensor")
    if not x.is_dist():  # on the tape, so that a parameter which is marked in `forward` is trained
        x = api.dtensor_from_local(x, mesh, [Replicate()] * mesh.ndim)
    return api.reshard(x, mesh, placements)


def shard_op(
    op: Callable[..., Any],
    process_mesh: ProcessMesh | None = None,
    in_shard_specs: Sequence[Any] | None = None,
    out_shard_specs: Sequence[Any] | None = None,
    **settings: Any,
) -> Callable[..., Any]:
    """`op` as a function whose tensors lie as these say: for each a `shard_spec` of `shard_tensor`.

    settings: given to `op` at each call. The function raises InvalidArgument for another number of tensors.
    """
    mesh = _mesh(process_mesh, "shard_op")

    def laid(values: list[Any], specs: Sequence[Any] | None, name: str) -> list[Any]:
        if specs is not None and len(specs) != len(values):
            raise InvalidArgument(f"shard_op: {name}: expected {len(values)} of them, got {len(specs)}")
        return [
            shard_tensor(value, mesh, spec)
            for value, spec in zip(values, specs or [None] * len(values), strict=True)
        ]

    def _sharded(*args: Any, **more: Any) -> Any:
        tensors = iter(laid([a for a in args if isinstance(a, Tensor)], in_shard_specs, "in_shard_specs"))
        found = op(*(next(tensors) if isinstance(a, Tensor) else a for a in args), **settings, **more)
        if not isinstance(found, list | tuple):
            return laid([found], out_shard_specs, "out_shard_specs")[0]
        return type(found)(laid(list(found), out_shard_specs, "out_shard_specs"))

    return _sharded


def create_mesh(mesh_dims: Sequence[tuple[str, int]]) -> ProcessMesh:
    """A mesh over all processes as the one of `get_mesh`. mesh_dims: the name and the size of each axis."""
    names, sizes = [name for name, _ in mesh_dims], [size for _, size in mesh_dims]
    made = ProcessMesh(np.arange(int(np.prod(sizes))).reshape(sizes), names)
    set_mesh(made)
    return made


def recompute(op: Callable[..., Any]) -> Callable[..., Any]:
    """`op` as a function whose activations are not kept: backward computes them again."""
    return lambda *args, **settings: recomputed(op, *args, preserve_rng_state=True, **settings)


def exclude_ops_in_recompute(run_function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: what `recompute` keeps is not chosen one operator at a time."""
    return run_function


def parallel_manual_seed(seed: int, name: str = "") -> None:
    """`paddle.seed`: parts of a distributed tensor draw different numbers, equal copies the same ones."""
    random.seed(seed)


def _mesh(given: ProcessMesh | None, called: str) -> ProcessMesh:
    mesh = current_mesh() if given is None else given
    assert mesh is not None, "Specify the process mesh argument or use ProcessMesh context manager first."
    if not isinstance(mesh, ProcessMesh):
        raise InvalidType(f"{called}: process_mesh: expected a ProcessMesh, got {type(mesh).__name__}")
    return mesh


def _placements(spec: Any, ndim: int, mesh: ProcessMesh, called: str) -> list[Placement]:
    names = mesh.dim_names
    spec = [None] * ndim if spec is None else spec
    check_kind(spec, list, "shard_spec")
    if len(spec) != ndim:
        raise InvalidArgument(f"{called}: shard_spec: expected {ndim} entries for {ndim} axes, got {spec}")
    for i, name in enumerate(spec):
        if name is not None and name not in names:
            raise ValueError(
                f"Invalid shard_spec at index {i}: '{name}' is not a valid dimension name in process_mesh "
                f"{names}."
            )
        if name is not None and spec.count(name) > 1:
            raise InvalidArgument(f"{called}: shard_spec: expected each name once, got {spec}")
    return [Shard(spec.index(name)) if name in spec else Replicate() for name in names]
