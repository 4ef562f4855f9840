"""The module's names: `launch` is a function, as in Paddle; what takes long is imported at its first use."""

import importlib
import subprocess
import sys

import pytest

import sampan.distributed as dist


def test_names_of_distributed_tensors_are_found_at_first_use():
    from sampan.distributed import auto_parallel

    assert dist.auto_parallel is auto_parallel and dist.Shard is auto_parallel.Shard
    missing = [name for name in dist._AUTO_PARALLEL if not hasattr(dist, name)]
    assert missing == []
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = dist.no_such_name


@pytest.mark.servers
def test_torchruns_agent_is_imported_when_the_launcher_runs():
    program = (
        "import sys, sampan.distributed as dist\n"
        "assert not [name for name in sys.modules if name.startswith('torch.distributed.elastic')]\n"
        "assert callable(dist.launch) and callable(dist.spawn)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert dist.launch is importlib.import_module("sampan.distributed.launch.main").launch
