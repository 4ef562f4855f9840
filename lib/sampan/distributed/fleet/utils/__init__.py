"""paddle.distributed.fleet.utils of one process."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...collective import _get_default_group
from ...environment import get_world_size
from ...parallel import several
from ...row_exchange import mean_of_dense

hybrid_parallel_util = fs = log_util = sys.modules[__name__]
for _name in ("hybrid_parallel_util", "fs"):
    sys.modules[f"{__name__}.{_name}"] = fs


def recompute(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, which runs a second time in the backward pass, to save memory; values and
    gradients are the same. See `pipeline.recompute`."""
    from ...pipeline.recompute import recomputed

    return recomputed(function, *args, preserve_rng_state=preserve_rng_state, **kwargs)


def fused_allreduce_gradients(parameter_list: Sequence[Any], hcg: Any = None, *args: Any) -> None:
    """Let the parameters' gradients be the means over the group of data parallelism, of all processes without
    `hcg`: for networks that are no DataParallel, or after its `no_sync`. With one process nothing changes.

    Each process must have gradients of the same parameters.
    """
    if get_world_size() == 1:
        return
    members = _get_default_group() if hcg is None else hcg.get_data_parallel_group()
    if members.nranks > 1:
        for parameter in parameter_list:
            if parameter._grad is not None:
                mean_of_dense(parameter, members.process_group)


class LocalFS:
    """Files of this machine, by the names that Paddle's file systems have."""

    def ls_dir(self, fs_path: str) -> tuple[list[str], list[str]]:
        """The folders and the files in a folder."""
        if not self.is_exist(fs_path):
            return [], []
        entries = sorted(Path(fs_path).iterdir())
        return [e.name for e in entries if e.is_dir()], [e.name for e in entries if not e.is_dir()]

    def list_dirs(self, fs_path: str) -> list[str]:
        return self.ls_dir(fs_path)[0]

    def is_exist(self, fs_path: str) -> bool:
        return os.path.exists(fs_path)

    def is_dir(self, fs_path: str) -> bool:
        return os.path.isdir(fs_path)

    def is_file(self, fs_path: str) -> bool:
        return os.path.isfile(fs_path)

    def mkdirs(self, fs_path: str) -> None:
        os.makedirs(fs_path, exist_ok=True)

    def touch(self, fs_path: str, exist_ok: bool = True) -> None:
        Path(fs_path).touch(exist_ok=exist_ok)

    def delete(self, fs_path: str) -> None:
        if self.is_dir(fs_path):
            shutil.rmtree(fs_path)
        elif self.is_exist(fs_path):
            os.remove(fs_path)

    def mv(self, src_path: str, dst_path: str, overwrite: bool = False, test_exists: bool = False) -> None:
        """Rename. Raises FileNotFoundError and FileExistsError."""
        if not self.is_exist(src_path):
            raise FileNotFoundError(f"mv: there is no {src_path!r}")
        if self.is_exist(dst_path) and not overwrite:
            raise FileExistsError(f"mv: {dst_path!r} exists")
        shutil.move(src_path, dst_path)

    rename = mv

    def need_upload_download(self) -> bool:
        return False


class HDFSClient:
    """InvalidArgument: Hadoop's file system needs programs of its own."""

    def __init__(
        self, hadoop_home: str, configs: Any, time_out: int = 300000, sleep_inter: int = 1000
    ) -> None:
        raise NotImplementedError(
            "HDFSClient: Sampan does not read Hadoop's file system; copy the files to this machine"
        )


class DistributedInfer:
    """InvalidArgument: inference with parameter servers."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        several("DistributedInfer")
