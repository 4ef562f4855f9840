"""ProcessMesh: processes as the entries of an array, whose axes are the ways to share work.

Paddle's class over torch's DeviceMesh, which holds the process groups. They are made when a tensor is first
put on the mesh, so that a mesh can be described in a program of one process.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed
from torch.distributed.device_mesh import DeviceMesh

from ...engine.errors import InvalidArgument

_current: list[ProcessMesh] = []
_device_meshes: dict[Any, DeviceMesh] = {}
_numbers: dict[Any, int] = {}


class ProcessMesh:
    """Processes in an array of any number of axes.

    mesh: the numbers of the processes, as nested lists or an array; or `shape` and `process_ids`, the flat
    list. dim_names: a name for each axis, by default d0, d1, ...
    Raises ValueError for anything but lists or an array, AssertionError for a process that occurs twice and
    for names that do not fit the axes.
    """

    def __init__(
        self,
        mesh: Any = None,
        dim_names: list[str] | None = None,
        shape: Sequence[int] | None = None,
        process_ids: Iterable[int] | None = None,
    ) -> None:
        if mesh is None:
            if shape is None or process_ids is None:
                raise ValueError("ProcessMesh: expected mesh, or both shape and process_ids")
            mesh = np.array(list(process_ids)).reshape(list(shape))
        if not isinstance(mesh, list | np.ndarray):
            raise ValueError("The mesh must be an instance of list or np.ndarray.")
        self._mesh = np.array(mesh)
        self._shape, self._process_ids = list(self._mesh.shape), self._mesh.flatten().tolist()
        if not all(isinstance(process, int) for process in self._process_ids):
            raise AssertionError("All elements of the mesh must be integer.")
        if min(self._process_ids, default=0) < 0:
            raise AssertionError("All elements of the mesh must be greater than or equal to 0.")
        if len(set(self._process_ids)) != len(self._process_ids):
            raise AssertionError("All elements of the mesh must be unique.")
        if dim_names is None:
            dim_names = [f"d{axis}" for axis in range(self.ndim)]
        if not isinstance(dim_names, list):
            raise ValueError("The dim_names must be an instance of list.")
        if len(dim_names) != self.ndim:
            raise AssertionError("The length of dims_names must be same as the shape of the mesh.")
        if len(set(dim_names)) != len(dim_names):
            raise AssertionError(f"All dim_names {dim_names} must be unique.")
        self._dim_names = list(dim_names)

    @property
    def shape(self) -> list[int]:
        """The lengths of the axes."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._mesh.ndim

    @property
    def dim_names(self) -> list[str]:
        """The names of the axes."""
        return self._dim_names

    @property
    def process_ids(self) -> list[int]:
        """The processes, in the order of the flattened array."""
        return self._process_ids

    @property
    def mesh(self) -> np.ndarray:
        """The array of the processes."""
        return self._mesh

    @property
    def size(self) -> int:
        """How many processes there are."""
        return len(self._process_ids)

    @property
    def unique_id(self) -> int:
        """A number that equal meshes share."""
        return _numbers.setdefault(self._key(), len(_numbers) + 1)

    def _key(self) -> tuple[Any, ...]:
        return tuple(self._shape), tuple(self._process_ids), tuple(self._dim_names)

    def _axis(self, name: str | int) -> int:
        if isinstance(name, int):
            return name
        if name not in self._dim_names:
            raise InvalidArgument(f"dim_name: expected one of {self._dim_names}, got {name!r}")
        return self._dim_names.index(name)

    def get_dim_size(self, dim_name: str | int) -> int:
        """The length of an axis."""
        return self._shape[self._axis(dim_name)]

    dim_size = get_dim_size

    def get_rank_by_dim_and_process_id(self, dim: str | int, process_id: int) -> int:
        """The place of a process along an axis, -1 for a process that is not in the mesh."""
        found = np.argwhere(self._mesh == process_id)
        return int(found[0][self._axis(dim)]) if len(found) else -1

    def get_mesh_with_dim(self, dim_name: str, index: int | None = None) -> ProcessMesh:
        """The mesh with this axis first; with `index` the mesh of the other axes at this place along it."""
        axis = self._axis(dim_name)
        turned = np.moveaxis(self._mesh, axis, 0)
        others = [name for name in self._dim_names if name != dim_name]
        if index is not None:
            return ProcessMesh(turned[index], others)
        return ProcessMesh(turned, [dim_name, *others])

    def get_submesh_with_dim(self, dim_name: str) -> ProcessMesh:
        """The mesh along one axis that this process is in. ValueError where it is in none."""
        axis, rank = self._axis(dim_name), _rank()
        for line in np.moveaxis(self._mesh, axis, -1).reshape(-1, self._shape[axis]):
            if rank in line:
                return ProcessMesh(line, [dim_name])
        raise InvalidArgument(f"get_submesh_with_dim: process {rank} is not in {self}")

    def contains(self, process_id: int) -> bool:
        """Whether a process is in the mesh."""
        return process_id in self._process_ids

    def get_group(self, dim_name: str | None = None) -> Any:
        """The group of this process along an axis; without a name along the only axis."""
        if dim_name is None and self.ndim != 1:
            raise InvalidArgument(f"get_group: dim_name: expected one of {self._dim_names}, got None")
        from ..collective import new_group

        lines = np.moveaxis(self._mesh, self._axis(dim_name or self._dim_names[0]), -1)
        groups = [new_group(line.tolist()) for line in lines.reshape(-1, lines.shape[-1])]
        return next((group for group in groups if _rank() in group.ranks), None)

    def device_mesh(self) -> DeviceMesh:
        """torch's mesh with its process groups. All processes of the program make it together, once."""
        key = self._key()
        if key not in _device_meshes:
            world = ready()
            if max(self._process_ids) >= world:
                raise InvalidArgument(
                    f"mesh: {self} names process {max(self._process_ids)}, and there are {world}; start the "
                    f"program with `python -m paddle.distributed.launch --nproc_per_node {self.size}`"
                )
            kind = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
            _device_meshes[key] = DeviceMesh(kind, self._mesh.tolist(), mesh_dim_names=tuple(self._dim_names))
        return _device_meshes[key]

    def __getitem__(self, index: Any) -> ProcessMesh:
        chosen = self._mesh[index]
        given = index if isinstance(index, tuple) else (index,)
        if any(not isinstance(part, int | slice) for part in given):
            return ProcessMesh(np.atleast_1d(chosen))
        given += (slice(None),) * (self.ndim - len(given))
        names = [name for name, part in zip(self._dim_names, given, strict=True) if isinstance(part, slice)]
        return ProcessMesh(chosen, names) if names else ProcessMesh([int(chosen)])

    def __enter__(self) -> None:
        _current.append(self)

    def __exit__(self, *raised: object) -> None:
        _current.pop()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProcessMesh):
            return False
        return self._shape == other._shape and self._process_ids == other._process_ids

    def __hash__(self) -> int:
        return hash((tuple(self._shape), tuple(self._process_ids)))

    def __copy__(self) -> ProcessMesh:
        return ProcessMesh(self._mesh, self._dim_names)

    def __deepcopy__(self, memo: dict[int, Any]) -> ProcessMesh:
        return self.__copy__()

    def __str__(self) -> str:
        return f"shape {self._shape}, process_ids {self._process_ids}, dim_names {self._dim_names}"

    def described(self) -> str:
        """The text of a tensor on this mesh."""
        ids, names = ",".join(map(str, self._process_ids)), ",".join(self._dim_names)
        lengths = ",".join(map(str, self._shape))
        return f"{{shape: [{lengths}], process_ids: [{ids}], dim_names: [{names}]}}"


class TensorMesh(ProcessMesh):
    """The mesh of a tensor, which Paddle prints in another form."""

    def __str__(self) -> str:
        return self.described()


def mesh_of(device_mesh: DeviceMesh) -> ProcessMesh:
    """The ProcessMesh of one of torch's meshes."""
    names = list(device_mesh.mesh_dim_names or ()) or None
    return TensorMesh(device_mesh.mesh.numpy(), names)


def ready() -> int:
    """Connect the processes if they are not, and return how many there are."""
    if not torch.distributed.is_initialized():
        from ..environment import get_world_size, init_parallel_env

        if get_world_size() > 1:
            init_parallel_env()
        if not torch.distributed.is_initialized():
            store = torch.distributed.HashStore()
            torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    return torch.distributed.get_world_size()


def _rank() -> int:
    ready()
    return torch.distributed.get_rank()


_global: list[ProcessMesh | None] = [None]


def set_mesh(mesh: ProcessMesh) -> None:
    """Set the mesh of the program, which `parallelize` and others use where none is given."""
    if not isinstance(mesh, ProcessMesh):
        raise InvalidArgument(f"set_mesh: mesh: expected a ProcessMesh, got {type(mesh).__name__}")
    _global[0] = mesh


def current_mesh() -> ProcessMesh | None:
    """The mesh of the innermost `with mesh:`, or else of the program."""
    return _current[-1] if _current else get_mesh()


def get_current_process_mesh() -> ProcessMesh | None:
    """The mesh of the innermost `with mesh:` or `set_current_process_mesh`."""
    return _current[-1] if _current else None


def set_current_process_mesh(process_mesh: ProcessMesh) -> None:
    """Begin what `with process_mesh:` does."""
    _current.append(process_mesh)


def reset_current_process_mesh() -> None:
    """End it: the mesh before is the current one again."""
    if _current:
        _current.pop()


def compute_compatible_process_mesh(
    process_mesh_list: Sequence[ProcessMesh | None],
) -> ProcessMesh | None:
    """The mesh that has the processes of all these, of equal ones that with more axes; None without one."""
    found: ProcessMesh | None = None
    for mesh in process_mesh_list or ():
        if found is None or mesh is None:
            found = found or mesh
            continue
        mine, others = {*found.process_ids}, {*mesh.process_ids}
        if not (mine <= others or others <= mine):
            return None
        if found.process_ids == mesh.process_ids:
            found = found if found.ndim >= mesh.ndim else mesh
        elif mine <= others:
            found = mesh
    return copy.deepcopy(found)


def merge_process_meshes(process_meshes: Sequence[ProcessMesh | None]) -> ProcessMesh | None:
    """A mesh with one axis over the processes of all these; None without any."""
    merged = {process for mesh in process_meshes if mesh is not None for process in mesh.process_ids}
    return ProcessMesh(sorted(merged)) if merged else None


def get_mesh() -> ProcessMesh | None:
    """The mesh of the program, None before `set_mesh`."""
    return _global[0]
