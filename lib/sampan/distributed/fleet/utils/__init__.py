"""paddle.distributed.fleet.utils of one process."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...parallel import several
from . import hybrid_parallel_util as hybrid_parallel_util
from . import log_util as log_util
from . import mix_precision_utils as mix_precision_utils
from . import timer_helper as timer_helper
from .hybrid_parallel_util import fused_allreduce_gradients as fused_allreduce_gradients

fs = ps_util = sys.modules[__name__]
for _name in ("fs", "ps_util"):
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


class ExecuteError(Exception):
    """A command of a file system failed."""


class FSFileExistsError(Exception):
    """A file is there already."""


class FSFileNotExistsError(Exception):
    """A file is missing."""


class FSTimeOut(Exception):
    """A file system did not answer in time."""


class FSShellCmdAborted(ExecuteError):
    """A command of a file system was ended."""


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
